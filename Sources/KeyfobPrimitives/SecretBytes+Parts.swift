import CLinux
package import Foundation

/// Joining and splitting secrets without leaving bytes outside wiped memory.
extension SecretBytes {
    /// Creates the concatenation of all parts.
    package init(joining parts: [SecretBytes]) {
        unsafe self.init(count: parts.reduce(0) { $0 + $1.count }) { target in
            var position = 0
            for part in parts {
                let room = unsafe UnsafeMutableBufferPointer(rebasing: target[position...])
                unsafe part.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(room).copyMemory(from: $0) }
                position += part.count
            }
        }
    }

    /// Creates a secret of `count` zero bytes.
    package init(zeros count: Int) {
        unsafe self.init(count: count) { _ in }
    }

    /// A range of the bytes, as a secret of its own.
    ///
    /// - Precondition: The range is within the bytes.
    package subscript(range: Range<Int>) -> SecretBytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a part lies within what it is taken from")
        return unsafe withUnsafeBytes { unsafe SecretBytes($0[range]) }
    }

    /// Returns the bytes from `start` on, as a secret of its own.
    ///
    /// - Precondition: `start` is not larger than `count`.
    package func suffix(from start: Int) -> SecretBytes { self[start..<count] }
}

/// Conversion for APIs that accept or return only `Data`.
extension SecretBytes {
    /// Copies the bytes of `data` and overwrites them there. Copies of `data` that share no storage with it are not
    /// wiped.
    package init(wiping data: inout Data) {
        self = unsafe data.withUnsafeBytes { unsafe SecretBytes($0) }
        data.wipe()
    }

    /// Calls `body` with a copy of the bytes that is overwritten afterwards.
    ///
    /// - Throws: The errors of `body`.
    package func withData<Result>(_ body: (Data) throws -> Result) rethrows -> Result {
        var data = copyData()
        defer { data.wipe() }
        return try body(data)
    }
}

extension Data {
    /// Overwrites the bytes in place, unless other copies share the storage.
    fileprivate mutating func wipe() {
        unsafe withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe keyfob_wipe(base, buffer.count) }
        }
    }
}

extension [UInt8] {
    /// Overwrites the bytes in place, unless other copies share the storage.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe keyfob_wipe(base, buffer.count) }
        }
    }
}
