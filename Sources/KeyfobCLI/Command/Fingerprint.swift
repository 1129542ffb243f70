extension ItemName {
    /// A digest by which something is known, or the beginning of one.
    struct Fingerprint: Equatable {
        let algorithm: String
        let hexadecimal: String

        /// Whether this one begins as another one does.
        func begins(as other: Fingerprint) -> Bool {
            algorithm == other.algorithm && hexadecimal.hasPrefix(other.hexadecimal)
        }
    }
}

extension ItemName.Fingerprint {
    /// The fingerprint that a text is; `nil` for other texts.
    ///
    /// As documents and hints have it, `sha256:9a11…`, or its beginning; as `openssl x509 -fingerprint` prints it,
    /// `sha256 Fingerprint=9A:11:…`; and no more than all of its digits, as texts have it, which say by their number
    /// what they are. Colons between the digits are passed over.
    ///
    /// - Parameter shortest: How many digits a beginning has at least.
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

    /// Hexadecimal digits without the colons between them; `nil` where there is anything else.
    private static func digits(_ text: String) -> String? {
        let digits = text.filter { $0 != ":" }
        return digits.allSatisfy { $0.isASCII && $0.isHexDigit } ? digits : nil
    }
}
