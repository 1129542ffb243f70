/// A text that is not a usable PKCS #11 URI.
///
/// Names attributes, never their values: one of them may be a PIN.
public struct PKCS11URIError: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text.
        public let rawValue: String

        /// Wraps a code.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The same as `rawValue`.
        public var description: String { rawValue }

        /// The text does not start with `pkcs11:`.
        public static let badScheme = Code(rawValue: "bad scheme")
        /// The text does not follow the grammar of RFC 7512, section 2.3, or names a slot by no number that one can
        /// have.
        public static let badSyntax = Code(rawValue: "bad syntax")
        /// A percent sign without two hexadecimal digits, a text that is not UTF-8, or a NUL in a text.
        public static let badEncoding = Code(rawValue: "bad encoding")
        /// The library version is not one or two numbers up to 255.
        public static let badVersion = Code(rawValue: "bad version")
        /// An attribute stands there twice. RFC 7512, section 2.3, allows that for query attributes of others; here
        /// each has one value.
        public static let duplicateAttribute = Code(rawValue: "duplicate attribute")
        /// Both `pin-source` and `pin-value` are given, which RFC 7512, section 2.4, forbids.
        public static let conflictingPIN = Code(rawValue: "conflicting PIN")
        /// p11-kit ran out of memory or refused for another reason.
        public static let unexpected = Code(rawValue: "unexpected")
    }

    /// What is wrong.
    public let code: Code

    /// The same for a person, with the attribute's name where it is known.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
