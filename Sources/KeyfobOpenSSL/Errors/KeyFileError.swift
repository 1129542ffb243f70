/// A file or blob with keys or certificates could not be read.
public struct KeyFileError: Error, Sendable, CustomStringConvertible {
    /// The reason; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The key is encrypted and no passphrase was given.
        public static let passphraseRequired = Code(rawValue: "passphraseRequired")
        /// The passphrase is wrong, or the ciphertext was modified. These formats cannot distinguish the two.
        public static let wrongPassphrase = Code(rawValue: "wrongPassphrase")
        /// The encoding is malformed or truncated.
        public static let damaged = Code(rawValue: "damaged")
        /// The encoding is valid, but its content is not supported.
        public static let unsupported = Code(rawValue: "unsupported")
        /// The file is PEM without a block of the expected kind, or it is empty.
        public static let notFound = Code(rawValue: "notFound")
        /// The file exceeds the size limit.
        public static let tooLarge = Code(rawValue: "tooLarge")

        /// The name.
        public var description: String { rawValue }
    }

    /// The reason.
    public let code: Code
    /// A description of the problem; never contains file content.
    public let detail: String
    /// The error of libcrypto, if there is one.
    public let cause: OpenSSLError?

    /// Creates an error from a code and a sentence.
    init(_ code: Code, _ detail: String, cause: OpenSSLError? = nil) {
        self.code = code
        self.detail = detail
        self.cause = cause
    }

    /// Code, detail and cause.
    public var description: String {
        cause.map { "\(code): \(detail) (\($0))" } ?? "\(code): \(detail)"
    }

    /// The file is neither PEM nor DER: probably another file than intended, not a damaged one.
    static let foreign = KeyFileError(.unsupported, "it is neither PEM nor DER")

    /// An EC key with parameters in place of the name of a curve (RFC 3279 2.3.5), which equal those of no known one.
    static let explicitCurve = KeyFileError(
        .unsupported,
        "its curve is written out (explicit parameters) and is not recognised; where it is a named curve: "
            + "openssl ec -in FILE -param_enc named_curve -out COPY")

    /// Explains a PEM file that has a certificate request instead of the expected content; `nil` if it has none.
    static func explanation(ofRequestAmong labels: [String]) -> String? {
        guard labels.contains(where: { $0.hasSuffix("CERTIFICATE REQUEST") }) else { return nil }
        return "it is a certificate request, from which an authority has yet to make a certificate"
    }
}
