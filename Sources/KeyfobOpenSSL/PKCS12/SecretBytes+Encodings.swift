import KeyfobPrimitives

/// A passphrase in UTF-8, in other encodings that programs derive keys from. All of them stay in wiped memory.
extension SecretBytes {
    /// The passphrase in UTF-16, big-endian, as a BMPString has it; `nil` where it is not UTF-8.
    ///
    /// - Parameter isTerminated: Whether two zero bytes follow, as in the derivation of PKCS#12 itself.
    func utf16BigEndian(isTerminated: Bool) -> SecretBytes? {
        var count = isTerminated ? 2 : 0
        guard utf16({ _ in count += 2 }) else { return nil }
        return unsafe SecretBytes(count: count) { target in
            var position = 0
            _ = utf16 { unit in
                unsafe target[position] = UInt8(unit >> 8)
                unsafe target[position + 1] = UInt8(truncatingIfNeeded: unit)
                position += 2
            }
        }
    }

    /// The passphrase in Latin-1; `nil` where that is the same, or cannot express it.
    var latin1: SecretBytes? {
        var (count, largest) = (0, UInt16(0))
        let isText = utf16 { unit in
            count += 1
            largest = max(largest, unit)
        }
        guard isText, (0x80...0xFF).contains(largest) else { return nil }
        return unsafe SecretBytes(count: count) { target in
            var position = 0
            _ = utf16 { unit in
                unsafe target[position] = UInt8(truncatingIfNeeded: unit)
                position += 1
            }
        }
    }

    /// The passphrase with each of its bytes taken for a letter of Latin-1, as OpenSSL did before 1.1.0; `nil` where
    /// that is the same.
    var lettersOfBytes: SecretBytes? {
        unsafe withUnsafeBytes { bytes in
            let further = unsafe bytes.count { $0 >= 0x80 }
            guard further > 0 else { return nil }
            return unsafe SecretBytes(count: bytes.count + further) { target in
                var position = 0
                for index in bytes.indices {
                    let byte = unsafe bytes[index]
                    if byte >= 0x80 {
                        unsafe target[position] = 0xC0 | byte >> 6
                        position += 1
                    }
                    unsafe target[position] = byte < 0x80 ? byte : 0x80 | byte & 0x3F
                    position += 1
                }
            }
        }
    }

    /// Calls `body` with each code unit of UTF-16.
    ///
    /// - Returns: `false` where the bytes are not UTF-8.
    private func utf16(_ body: (UInt16) -> Void) -> Bool {
        unsafe withUnsafeBytes { bytes in
            unsafe !transcode(bytes.makeIterator(), from: UTF8.self, to: UTF16.self, stoppingOnError: true, into: body)
        }
    }
}
