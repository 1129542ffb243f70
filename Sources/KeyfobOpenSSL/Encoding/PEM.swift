package import Foundation
package import KeyfobPrimitives

/// One block between BEGIN and END lines (RFC 7468), with any headers of RFC 1421.
package struct PEMBlock {
    package let label: String
    package let headers: [String]
    /// The decoded content; `nil` if the base64 is malformed or the BEGIN or END line is missing.
    package let content: SecretBytes?
    /// The offsets of the block in the input, including the BEGIN and END lines.
    package let range: Range<Int>
}

/// Reads and writes PEM.
///
/// The content may be a private key. It is decoded in place into memory that is wiped, without another copy of the text
/// or the bytes.
package enum PEM {
    /// The label for PKCS#12 that GnuTLS uses; RFC 7468 defines none.
    package static let pkcs12Label = "PKCS12"

    /// Returns all blocks in the order of the file. Text around them and CR at line ends are ignored.
    package static func blocks(in data: Data) -> [PEMBlock] {
        unsafe data.withUnsafeBytes { unsafe blocks(in: $0) }
    }

    private static func blocks(in bytes: UnsafeRawBufferPointer) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var label: String?
        var first = 0
        var headers: [String] = []
        var body: [Range<Int>] = []
        // Some editors write a byte order mark before the first line, which would hide the BEGIN line.
        var position = unsafe bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while position < bytes.count {
            let start = position
            while position < bytes.count, unsafe !isLineEnd(bytes[position]) { position += 1 }
            let range = start..<position
            position += 1
            let line = unsafe bytes[range]
            func close(_ label: String, _ content: SecretBytes?, at end: Int) {
                blocks.append(PEMBlock(label: label, headers: headers, content: content, range: first..<end))
            }
            if let name = unsafe marker("BEGIN", in: line) {
                if let open = label { close(open, nil, at: start) }
                label = name
                first = start
                headers = []
                body = []
            } else if let name = unsafe marker("END", in: line) {
                let content = label == name ? unsafe decode(body, of: bytes) : nil
                if let open = label { close(open, content, at: label == name ? range.upperBound : start) }
                if label != name {
                    // The BEGIN line is damaged; skipping the block would lose it silently.
                    (first, headers) = (start, [])
                    close(name, nil, at: range.upperBound)
                }
                label = nil
            } else if label != nil {
                if unsafe line.contains(0x3A) {
                    // A block may be indented, as YAML and XML have it.
                    let text = unsafe String(decoding: line, as: UTF8.self)
                    headers.append(text.trimmingCharacters(in: .whitespaces))
                } else if !range.isEmpty {
                    body.append(range)
                }
            }
        }
        if let open = label {
            blocks.append(PEMBlock(label: open, headers: headers, content: nil, range: first..<bytes.count))
        }
        return blocks
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    /// Returns a block with lines of 64 columns.
    static func encode(_ content: SecretBytes, label: String) -> SecretBytes {
        let begin = [UInt8]("-----BEGIN \(label)-----\n".utf8)
        let end = [UInt8]("-----END \(label)-----\n".utf8)
        let characters = (content.count + 2) / 3 * 4
        let lines = (characters + 63) / 64
        return unsafe SecretBytes(count: begin.count + characters + lines + end.count) { output in
            var position = 0
            func put(_ byte: UInt8) {
                unsafe output[position] = byte
                position += 1
            }
            begin.forEach(put)
            unsafe content.withUnsafeBytes { source in
                var column = 0
                for index in stride(from: 0, to: source.count, by: 3) {
                    let left = min(3, source.count - index)
                    var group = unsafe UInt32(source[index]) << 16
                    if left > 1 { group |= unsafe UInt32(source[index + 1]) << 8 }
                    if left > 2 { group |= unsafe UInt32(source[index + 2]) }
                    for part in 0..<4 {
                        put(part <= left ? alphabet[Int(group >> (18 - 6 * UInt32(part)) & 0x3F)] : 0x3D)
                    }
                    column += 4
                    if column == 64 || index + 3 >= source.count {
                        put(0x0A)
                        column = 0
                    }
                }
            }
            end.forEach(put)
        }
    }

    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    private static func marker(_ word: String, in line: Slice<UnsafeRawBufferPointer>) -> String? {
        // A base64 line contains no hyphen, so key material is never copied into a string here.
        guard unsafe line.count < 200, unsafe line.contains(0x2D) else { return nil }
        let text = unsafe String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
        let start = "-----\(word) "
        guard text.hasPrefix(start), text.hasSuffix("-----"), text.count > start.count + 5 else { return nil }
        return String(text.dropFirst(start.count).dropLast(5))
    }

    private static func decode(_ lines: [Range<Int>], of bytes: UnsafeRawBufferPointer) -> SecretBytes? {
        var characters = 0
        var padding = 0
        for index in lines.joined() {
            let byte = unsafe bytes[index]
            switch byte {
            case 0x20, 0x09: continue
            case 0x3D: padding += 1
            default:
                guard padding == 0, values[Int(byte)] != 0xFF else { return nil }
                characters += 1
            }
        }
        guard padding <= 2, (characters + padding) % 4 == 0, characters > 0 else { return nil }
        return unsafe SecretBytes(count: characters * 3 / 4) { output in
            var group: UInt32 = 0
            var bits = 0
            var position = 0
            for index in lines.joined() {
                let value = unsafe values[Int(bytes[index])]
                guard value != 0xFF else { continue }
                group = group << 6 | UInt32(value)
                bits += 6
                if bits >= 8 {
                    bits -= 8
                    unsafe output[position] = UInt8(truncatingIfNeeded: group >> UInt32(bits))
                    position += 1
                }
            }
        }
    }
}
