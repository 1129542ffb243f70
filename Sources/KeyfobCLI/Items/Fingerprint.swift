import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives

extension ItemName {
    /// A digest of a certificate or key, or the beginning of one.
    struct Fingerprint: Equatable {
        let algorithm: String
        let hexadecimal: String

        /// Whether this fingerprint starts with another one.
        func begins(as other: Fingerprint) -> Bool {
            algorithm == other.algorithm && hexadecimal.hasPrefix(other.hexadecimal)
        }
    }
}

extension ItemName.Fingerprint {
    /// Parses a fingerprint; `nil` for other text.
    ///
    /// The accepted forms are:
    ///
    /// - `sha256:9a11…` or a prefix of it, as in documents and hints.
    /// - `sha256 Fingerprint=9A:11:…`, as printed by `openssl x509 -fingerprint`.
    /// - All digits alone; their number determines the algorithm.
    ///
    /// Colons between the digits are ignored.
    ///
    /// - Parameter shortest: The minimum number of digits of a prefix.
    init?(_ text: String, shortest: Int) {
        let text = text.lowercased()
        for algorithm in ["sha256", "sha1"] {
            let marks = [algorithm + ":", algorithm + " fingerprint="]
            guard let mark = marks.first(where: { text.hasPrefix($0) }) else { continue }
            guard let digits = Self.digits(String(text.dropFirst(mark.count))), digits.count >= shortest else {
                return nil
            }
            self.init(algorithm: algorithm, hexadecimal: digits)
            return
        }
        guard let digits = Self.digits(text) else { return nil }
        switch digits.count {
        case 64: self.init(algorithm: "sha256", hexadecimal: digits)
        case 40: self.init(algorithm: "sha1", hexadecimal: digits)
        default: return nil
        }
    }

    /// The fingerprints of a certificate.
    static func all(of der: Data) -> [Self] {
        [
            Self(algorithm: "sha256", hexadecimal: Digest.sha256(der).hexadecimal),
            Self(algorithm: "sha1", hexadecimal: Digest.sha1(der).hexadecimal),
        ]
    }

    /// The hexadecimal digits without colons; `nil` if the text contains other characters.
    private static func digits(_ text: String) -> String? {
        let digits = text.filter { $0 != ":" }
        return digits.allSatisfy { $0.isASCII && $0.isHexDigit } ? digits : nil
    }
}
