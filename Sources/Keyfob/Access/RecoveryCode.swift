public import KeyfobPrimitives
import KeyfobOpenSSL

/// A random code, kept on paper, that opens a keychain whose passphrase is lost.
///
/// It encodes 160 bits in Crockford's base 32, in groups of four, followed by Crockford's check symbol. The check
/// detects one mistyped symbol, or two exchanged neighbours, before the slow key derivation.
public struct RecoveryCode: Sendable, Equatable {
    /// The 20 bytes: the passphrase of a `PassphraseSeal` for `.recovery`.
    public let bytes: SecretBytes

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U".utf8)
    private static let count = 20

    /// Creates a random code.
    ///
    /// - Throws: `KeychainError` with code `failed` if there are no random bytes.
    public init() throws(KeychainError) {
        bytes = try KeychainError.wrapping("cannot make random bytes.") { try RandomBytes.secret(count: Self.count) }
    }

    /// Parses a code as people type it: in either case, with blanks and hyphens anywhere, `O` for `0`, and `I` or `L`
    /// for `1`.
    ///
    /// - Parameter text: The text.
    /// - Throws: `KeychainError` with code `invalidArgument` if the length, a symbol or the check symbol is wrong. The
    ///   message does not repeat the code.
    public init(parsing text: SecretBytes) throws(KeychainError) {
        let digits = Self.digits(of: text)
        guard digits.count == 33 else {
            throw KeychainError(
                .invalidArgument, "a recovery code has 33 symbols, and this has \(digits.count).",
                hint: "It is eight groups of four and one symbol more.")
        }
        let isValid = unsafe digits.withUnsafeBytes { values in
            var check = 0
            for index in 0..<32 {
                guard unsafe values[index] < 32 else { return false }
                check = unsafe (check * 32 + Int(values[index])) % 37
            }
            return unsafe Int(values[32]) == check
        }
        guard isValid else {
            throw KeychainError(
                .invalidArgument, "this is not a recovery code: a symbol is wrong, or two are exchanged.",
                hint: "Compare it with the paper, group by group.")
        }
        bytes = unsafe digits.withUnsafeBytes { values in
            unsafe SecretBytes(count: Self.count) { output in
                var (bits, width, index) = (0, 0, 0)
                for position in 0..<32 {
                    bits = unsafe bits << 5 | Int(values[position])
                    width += 5
                    guard width >= 8 else { continue }
                    width -= 8
                    unsafe output[index] = UInt8(truncatingIfNeeded: bits >> width)
                    bits &= 1 << width - 1
                    index += 1
                }
            }
        }
    }

    /// The printed form of the code, such as `ABCD-…-WXYZ-K`, as bytes that can be wiped.
    public var text: SecretBytes {
        unsafe bytes.withUnsafeBytes { source in
            unsafe SecretBytes(count: 41) { output in
                var (bits, width, check, position) = (0, 0, 0, 0)
                func put(_ symbol: Int) {
                    unsafe output[position] = Self.alphabet[symbol]
                    position += 1
                }
                for unsafe byte in unsafe source {
                    bits = bits << 8 | Int(byte)
                    width += 8
                    while width >= 5 {
                        width -= 5
                        let digit = bits >> width & 31
                        bits &= 1 << width - 1
                        check = (check * 32 + digit) % 37
                        put(digit)
                        if position % 5 == 4 {
                            unsafe output[position] = UInt8(ascii: "-")
                            position += 1
                        }
                    }
                }
                put(check)
            }
        }
    }

    /// The values of the symbols in `text`; 255 for an invalid symbol.
    private static func digits(of text: SecretBytes) -> SecretBytes {
        var count = 0
        let digits = unsafe text.withUnsafeBytes { source in
            unsafe SecretBytes(count: source.count) { output in
                for unsafe byte in unsafe source where byte != UInt8(ascii: "-") && byte > 0x20 {
                    unsafe output[count] = value(of: byte)
                    count += 1
                }
            }
        }
        return digits.prefix(count)
    }

    private static func value(of byte: UInt8) -> UInt8 {
        let upper = byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") ? byte - 32 : byte
        switch upper {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return alphabet.firstIndex(of: upper).map(UInt8.init) ?? 255
        }
    }
}
