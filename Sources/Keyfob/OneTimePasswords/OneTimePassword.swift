package import Foundation
import KeyfobOpenSSL
package import KeyfobPrimitives

/// A generator of time-based one-time passwords (RFC 6238): a seed, and how a code is computed from it.
package struct OneTimePassword: Sendable {
    /// The hash function of the codes; the raw value is its name in URIs.
    package enum Algorithm: String, CaseIterable, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"

        fileprivate var digest: Digest {
            switch self {
            case .sha1: .sha1
            case .sha256: .sha256
            case .sha512: .sha512
            }
        }
    }

    /// A code, and how long a server accepts it.
    package struct Code: Sendable {
        /// The digits of the code, with leading zeros.
        package let text: String
        /// The end of the period of the code. Most servers accept it a little longer.
        package let validUntil: Date
    }

    /// The service that accepts the codes, as it calls itself; `nil` if it is unknown.
    package var issuer: String?
    /// The account at the service; `nil` if it is unknown.
    package var account: String?
    /// The hash function.
    package var algorithm = Algorithm.sha1
    /// The number of digits in a code, 6 to 8.
    package var digits = 6
    /// The number of seconds for which a code is valid.
    package var period = 30
    /// The seed in base32, in capitals and without padding.
    package let encodedSeed: SecretBytes
    private let seed: SecretBytes

    /// Creates a generator with the usual settings from a seed in base32.
    ///
    /// Blanks and hyphens between groups, lowercase letters and padding are accepted.
    ///
    /// - Throws: `KeychainError.unsupportedFormat`.
    package init(base32 text: SecretBytes) throws(KeychainError) {
        encodedSeed = Self.normalized(text)
        guard let seed = Base32.decode(encodedSeed), !seed.isEmpty else {
            throw Self.malformed("the seed is not base32, which has the letters A to Z and the digits 2 to 7")
        }
        self.seed = seed
    }

    /// Returns the code at a time.
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    package func code(at date: Date) throws -> Code {
        let seconds = UInt64(max(0, date.timeIntervalSince1970))
        let counter = seconds / UInt64(period)
        return Code(
            text: try code(counter: counter),
            validUntil: Date(timeIntervalSince1970: TimeInterval((counter + 1) * UInt64(period))))
    }

    /// Returns the code of a counter (RFC 4226, 5.3).
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    package func code(counter: UInt64) throws -> String {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
        let code = try algorithm.digest.authenticationCode(of: message, key: seed)
        let offset = Int(code[code.count - 1] & 0x0F)
        let number = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let modulus = (0..<digits).reduce(UInt32(1)) { product, _ in product * 10 }
        let text = String(number % modulus)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    /// The seed without blanks, hyphens and padding, in capitals.
    private static func normalized(_ text: SecretBytes) -> SecretBytes {
        unsafe text.withUnsafeBytes { bytes in
            var count = 0
            let letters = unsafe SecretBytes(count: bytes.count) { target in
                for unsafe byte in unsafe bytes where !" -\t".utf8.contains(byte) {
                    unsafe target[count] = 0x61...0x7A ~= byte ? byte - 0x20 : byte
                    count += 1
                }
                while count > 0, unsafe target[count - 1] == UInt8(ascii: "=") { count -= 1 }
            }
            return letters.prefix(count)
        }
    }

    /// The error for a text that is neither an `otpauth` URI nor a seed. It never repeats a part of the text.
    static func malformed(_ reason: String) -> KeychainError {
        KeychainError(
            .unsupportedFormat, "this is not the setup of a one-time password: \(reason); nothing was changed.",
            hint: "Give the text of the service's QR code, otpauth://totp/…?secret=…, or the seed in base32.")
    }
}
