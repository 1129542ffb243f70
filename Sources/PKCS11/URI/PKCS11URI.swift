import Foundation
public import KeyfobPrimitives

/// A PKCS #11 URI: which module, token and object are meant, and where the PIN is. RFC 7512.
///
/// An attribute left `nil` matches everything. Parsing is p11-kit's, made stricter where it would let a
/// URI match more than was written.
public struct PKCS11URI: Sendable {
    /// The module's maker, `library-manufacturer`.
    public var libraryManufacturer: String?
    /// The module's description, `library-description`.
    public var libraryDescription: String?
    /// The module's version, `library-version`.
    public var libraryVersion: Version?

    /// The slot's number, `slot-id`. SoftHSM renumbers a slot when its token is initialised.
    public var slotID: UInt?
    /// The slot's description, `slot-description`.
    public var slotDescription: String?
    /// The slot's maker, `slot-manufacturer`.
    public var slotManufacturer: String?

    /// The token's label, `token`.
    public var token: String?
    /// The token's maker, `manufacturer`.
    public var manufacturer: String?
    /// The token's model, `model`.
    public var model: String?
    /// The token's serial number, `serial`.
    public var serial: String?

    /// The object's label, `object`: `CKA_LABEL`.
    public var object: String?
    /// The object's class, `type`: `CKA_CLASS`.
    public var type: ObjectClass?
    /// The object's identifier, `id`: `CKA_ID`. Any bytes.
    public var id: [UInt8]?

    /// Where the PIN is to be had, `pin-source`: a file, or `|` and a command. Kept as it is written.
    public var pinSource: String?
    /// The name of a configured module, `module-name`.
    public var moduleName: String?
    /// The module's file, or the folder it lies in, `module-path`.
    public var modulePath: String?

    /// Query attributes of others, by name. Names have letters, digits, `-` and `_`; what else a program puts into one
    /// is printed percent-encoded, and refused by the parser.
    public var vendorQuery: [String: String] = [:]

    /// Path attributes that Keyfob does not know, percent-encoded. A URI with any matches nothing:
    /// ignoring a restriction would match more than was meant.
    public let unrecognizedAttributes: [String]

    /// The PIN itself, `pin-value`. Never printed.
    public var pinValue: SecretBytes?

    /// Whether there is a `pin-value`.
    public var hasPINValue: Bool { pinValue != nil }

    /// How every URI begins.
    static let scheme = "pkcs11:"

    /// Whether a text is meant for a URI, well-formed or not, where it might also be a name.
    ///
    /// Schemes are case-insensitive (RFC 3986, section 3.1).
    package static func hasScheme(_ text: String) -> Bool {
        text.utf8.prefix(scheme.utf8.count).elementsEqual(scheme.utf8) { byte, small in
            byte == small || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == small
        }
    }

    /// Whether a text seems to hold a PIN in a URI, however the URI is spelled.
    ///
    /// Finds `pin-value` in any case, percent-encoded, among blanks, and in a text that is not a URI. In a URI it also
    /// finds other attributes whose name begins with `pin`, except `pin-source` and `pinfile`.
    package static func seemsToHoldPIN(_ text: String) -> Bool {
        func letters(_ text: some StringProtocol) -> String {
            String(text.filter { $0.isLetter || $0.isNumber || $0 == "=" })
        }
        let plain = (text.removingPercentEncoding ?? text).lowercased()
        if letters(plain).contains("pinvalue=") { return true }
        guard letters(plain).contains("pkcs11") else { return false }
        return plain.split { ";?&".contains($0) }.map { letters($0) }.contains { attribute in
            var name = attribute.prefix { $0 != "=" }
            if let scheme = name.firstRange(of: "pkcs11") { name = name[scheme.upperBound...] }
            if name.hasPrefix("pinvalue") { return true }
            return name.count < attribute.count && name.hasPrefix("pin") && name != "pinsource" && name != "pinfile"
        }
    }

    /// Makes a URI without attributes, which matches everything.
    public init() {
        self.init(unrecognizedAttributes: [])
    }

    init(unrecognizedAttributes: [String]) {
        self.unrecognizedAttributes = unrecognizedAttributes
    }
}

extension PKCS11URI: Hashable {
    /// Whether both say the same, in whatever order they were written.
    public static func == (left: PKCS11URI, right: PKCS11URI) -> Bool {
        left.description == right.description && left.pinValue == right.pinValue
    }

    /// Leaves the PIN out: equal URIs hash alike all the same.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(description)
    }
}
