/// A cryptographic operation was refused because of its input, not because libcrypto failed.
public struct CryptoError: Error, Sendable, CustomStringConvertible {
    /// The reason; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The tag or integrity check does not match: the key is wrong or the data was modified.
        public static let authenticationFailed = Code(rawValue: "authenticationFailed")
        /// The algorithm does not take a key of this length.
        public static let invalidKeyLength = Code(rawValue: "invalidKeyLength")
        /// The algorithm does not take a nonce of this length.
        public static let invalidNonceLength = Code(rawValue: "invalidNonceLength")
        /// The algorithm does not take an input of this length or value.
        public static let invalidInput = Code(rawValue: "invalidInput")
        /// The operation does not exist for this type of key.
        public static let unsupportedKey = Code(rawValue: "unsupportedKey")

        /// The name.
        public var description: String { rawValue }
    }

    /// The reason.
    public let code: Code
    /// The expected input, in words; never contains a value.
    public let detail: String

    /// Creates an error from a code and a sentence.
    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Code and detail.
    public var description: String { "\(code): \(detail)" }
}
