/// A cryptographic operation was refused before or by the algorithm, not by a broken library.
public struct CryptoError: Error, Sendable, CustomStringConvertible {
    /// Why; an open set.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// A code by name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The tag or integrity check does not fit the data: wrong key, or the data was changed.
        public static let authenticationFailed = Code(rawValue: "authenticationFailed")
        /// The key has a length the algorithm does not take.
        public static let invalidKeyLength = Code(rawValue: "invalidKeyLength")
        /// The nonce has a length the algorithm does not take.
        public static let invalidNonceLength = Code(rawValue: "invalidNonceLength")
        /// An input has a length or value the algorithm does not take.
        public static let invalidInput = Code(rawValue: "invalidInput")
        /// The operation does not exist for this kind of key.
        public static let unsupportedKey = Code(rawValue: "unsupportedKey")

        /// The name.
        public var description: String { rawValue }
    }

    /// Why it was refused.
    public let code: Code
    /// What was expected, in words; never a value.
    public let detail: String

    /// An error with a code and a sentence.
    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Code and detail.
    public var description: String { "\(code): \(detail)" }
}
