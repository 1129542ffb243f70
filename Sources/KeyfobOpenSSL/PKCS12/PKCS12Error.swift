/// A PKCS#12 file could not be read or made.
public struct PKCS12Error: Error, Sendable, CustomStringConvertible {
    /// Why; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// A code by name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The file is cut off or its encoding is broken. The passphrase was not checked.
        public static let damaged = Code(rawValue: "damaged")
        /// Neither the integrity check nor any content agrees with the passphrase.
        public static let wrongPassphrase = Code(rawValue: "wrongPassphrase")
        /// The passphrase opens the content, but the integrity check fails: the file was changed after it was made.
        public static let integrityCheckFailed = Code(rawValue: "integrityCheckFailed")
        /// The content is encrypted with something older than PBES2 with AES, and that was not allowed.
        public static let legacyEncryption = Code(rawValue: "legacyEncryption")
        /// The file is sound and uses something this library does not read.
        public static let unsupported = Code(rawValue: "unsupported")
        /// It is another kind of file.
        public static let notPKCS12 = Code(rawValue: "notPKCS12")
        /// The file is larger than any PKCS#12 file.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// What should be written does not fit together, or its passphrase cannot be used.
        public static let invalidInput = Code(rawValue: "invalidInput")

        /// The name.
        public var description: String { rawValue }
    }

    /// Why.
    public let code: Code
    /// What was found, in words, such as "it ends after 200 of 1143 bytes"; never content.
    public let detail: String
    /// The name of the encryption, with `legacyEncryption`.
    public let algorithm: String?
    /// What libcrypto said, where it said something.
    public let cause: OpenSSLError?

    /// An error with a code and a sentence.
    init(_ code: Code, _ detail: String, algorithm: String? = nil, cause: OpenSSLError? = nil) {
        self.code = code
        self.detail = detail
        self.algorithm = algorithm
        self.cause = cause
    }

    /// An error of another layer, met inside the file.
    init(wrapping error: any Error) {
        switch error {
        case let error as PKCS12Error: self = error
        case let error as KeyFileError:
            self.init(error.code == .unsupported ? .unsupported : .damaged, error.detail, cause: error.cause)
        case let error as OpenSSLError:
            let code: Code = error.isUnknownAlgorithm ? .unsupported : .damaged
            self.init(code, "libcrypto refused a part of it", cause: error)
        case let error as CryptoError: self.init(.invalidInput, error.detail)
        default: self.init(.damaged, "it cannot be read")
        }
    }

    /// Code, detail and cause.
    public var description: String {
        cause.map { "\(code): \(detail) (\($0))" } ?? "\(code): \(detail)"
    }
}
