/// A file or blob with keys or certificates could not be read.
public struct KeyFileError: Error, Sendable, CustomStringConvertible {
    /// Why; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// A code by name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The key is encrypted and no passphrase was given.
        public static let passphraseRequired = Code(rawValue: "passphraseRequired")
        /// The passphrase does not open the key, or the ciphertext was changed: these formats cannot tell.
        public static let wrongPassphrase = Code(rawValue: "wrongPassphrase")
        /// The encoding is broken or cut off.
        public static let damaged = Code(rawValue: "damaged")
        /// The encoding is sound but holds something this library does not read.
        public static let unsupported = Code(rawValue: "unsupported")
        /// The file is PEM and holds nothing of the expected kind, or it is empty.
        public static let notFound = Code(rawValue: "notFound")
        /// The file is larger than anything of its kind.
        public static let tooLarge = Code(rawValue: "tooLarge")

        /// The name.
        public var description: String { rawValue }
    }

    /// Why it could not be read.
    public let code: Code
    /// What was found, in words; never content.
    public let detail: String
    /// What libcrypto said, where it said something.
    public let cause: OpenSSLError?

    /// An error with a code and a sentence.
    init(_ code: Code, _ detail: String, cause: OpenSSLError? = nil) {
        self.code = code
        self.detail = detail
        self.cause = cause
    }

    /// Code, detail and cause.
    public var description: String {
        cause.map { "\(code): \(detail) (\($0))" } ?? "\(code): \(detail)"
    }

    /// A file that is neither: another one than was meant, and not damaged.
    static let foreign = KeyFileError(.unsupported, "it is neither PEM nor DER")

    /// An EC key with parameters in place of the name of a curve (RFC 3279 2.3.5), which equal those of no known one.
    static let explicitCurve = KeyFileError(
        .unsupported,
        "its curve is written out (explicit parameters) and is not recognised; where it is a named curve: "
            + "openssl ec -in FILE -param_enc named_curve -out COPY")

    /// What a PEM file with blocks of these labels is, where somebody expected something else in it than a certificate
    /// request; `nil` where it has none.
    static func explanation(ofRequestAmong labels: [String]) -> String? {
        guard labels.contains(where: { $0.hasSuffix("CERTIFICATE REQUEST") }) else { return nil }
        return "it is a certificate request, from which an authority has yet to make a certificate"
    }

    /// Throws `damaged` when DER that should fill `data` is cut off or is followed by something.
    static func checkLength(of bytes: some Collection<UInt8>, count: Int) throws(KeyFileError) {
        guard let header = DERHeader(bytes) else { throw KeyFileError(.damaged, "it is not DER") }
        if header.total > count { throw KeyFileError(.damaged, "it ends after \(count) of \(header.total) bytes") }
        if header.total < count { throw KeyFileError(.damaged, "\(count - header.total) bytes follow its end") }
    }
}
