import KeyfobPrimitives
import KeyfobOpenSSL

/// The set of characters for generated secrets.
struct Alphabet: Sendable {
    /// The characters: at least two, all ASCII.
    let symbols: [UInt8]

    /// The alphabets that have a name.
    static let named: [(name: String, alphabet: Alphabet)] = [
        ("alnum", Alphabet(symbols: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))),
        ("ascii", Alphabet(symbols: Array(0x21...0x7E))),
        ("hex", Alphabet(symbols: Array("0123456789abcdef".utf8))),
        ("digits", Alphabet(symbols: Array("0123456789".utf8))),
    ]

    /// Returns random text in which every character is equally likely at every position.
    ///
    /// Random bytes that would favour the first symbols are rejected instead of reduced.
    ///
    /// - Throws: `OpenSSLError` if there are no random bytes.
    func text(length: Int, random: (Int) throws -> SecretBytes = { try RandomBytes.secret(count: $0) }) throws
        -> SecretBytes
    {
        let fair = 256 - 256 % symbols.count
        var (pool, position) = (try random(max(64, length * 2)), 0)
        return try unsafe SecretBytes(count: length) { target in
            var filled = 0
            while filled < length {
                if position == pool.count { (pool, position) = (try random(64), 0) }
                let byte = unsafe pool.withUnsafeBytes { unsafe Int($0[position]) }
                position += 1
                guard byte < fair else { continue }
                unsafe target[filled] = symbols[byte % symbols.count]
                filled += 1
            }
        }
    }
}
