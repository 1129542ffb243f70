package import KeyfobPrimitives
import KeyfobOpenSSL

/// The set of characters for generated secrets.
package enum Alphabet: String, CaseIterable, Sendable {
    case alnum, ascii, hex, digits

    /// The characters: at least two, all ASCII.
    package var symbols: [UInt8] {
        switch self {
        case .alnum: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        case .ascii: Array(0x21...0x7E)
        case .hex: Array("0123456789abcdef".utf8)
        case .digits: Array("0123456789".utf8)
        }
    }

    /// Returns random text in which every character is equally likely at every position.
    ///
    /// Random bytes that would favour the first symbols are rejected instead of reduced.
    ///
    /// - Throws: `OpenSSLError` if there are no random bytes.
    package func text(length: Int) throws -> SecretBytes {
        let symbols = symbols
        let fair = 256 - 256 % symbols.count
        var (pool, position) = (try RandomBytes.secret(count: max(64, length * 2)), 0)
        return try unsafe SecretBytes(count: length) { target in
            var filled = 0
            while filled < length {
                if position == pool.count { (pool, position) = (try RandomBytes.secret(count: 64), 0) }
                let byte = unsafe pool.withUnsafeBytes { unsafe Int($0[position]) }
                position += 1
                guard byte < fair else { continue }
                unsafe target[filled] = symbols[byte % symbols.count]
                filled += 1
            }
        }
    }
}
