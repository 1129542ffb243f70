public import Foundation

/// The subject or issuer of a certificate (RFC 5280 section 4.1.2.4).
public struct DistinguishedName: Hashable, Sendable, CustomStringConvertible {
    /// A type and its value.
    public struct Attribute: Hashable, Sendable {
        /// The type, such as 2.5.4.3 for the common name.
        public let type: OID
        /// The value as text; values that are not strings of a known kind are in hexadecimal after "#".
        public let value: String

        /// Creates an attribute of a new name.
        public init(type: OID, value: String) {
            self.type = type
            self.value = value
        }
    }

    /// The whole Name in DER.
    public let der: Data
    /// The content octets, whose structure `init` has checked.
    private let content: ArraySlice<UInt8>

    /// Decodes a Name.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for other bytes.
    public init(der: Data) throws {
        do {
            try self.init(element: DERReader.single([UInt8](der)[...], tag: DERTag.sequence))
        } catch {
            throw KeyFileError(.damaged, "it is not a distinguished name")
        }
    }

    init(element: DERElement) throws(DERError) {
        der = Data(element.whole)
        content = element.content
        try Self.walk(content, set: {}, attribute: { _, _ throws(DERError) in })
    }

    /// The relative names in the order of the DER, each with its attributes (usually one). Decoded at each call.
    public var relativeNames: [[Attribute]] {
        var names: [[Attribute]] = []
        walkChecked(set: { names.append([]) }) { type, value throws(DERError) in
            names[names.count - 1].append(
                Attribute(type: try type.objectIdentifier(), value: Self.text(of: value)))
        }
        return names
    }

    /// Apple's normalised form, as in the `issr` and `subj` attributes of a certificate item.
    ///
    /// These are the content octets of the Name. Every PrintableString is in upper case (ASCII), trimmed, and has
    /// single spaces. Computed at each call.
    public var normalized: Data {
        var sets: [[UInt8]] = []
        walkChecked(set: { sets.append([]) }) { type, value in
            let text = value.tag == DERTag.printableString
                ? DERWriter.element(value.tag, Self.normalized(value.content)) : Array(value.whole)
            sets[sets.count - 1] += DERWriter.element(DERTag.sequence, type.whole + text)
        }
        var result = Data()
        for set in sets { result += DERWriter.element(DERTag.set, set) }
        return result
    }

    /// `normalized` as a complete Name, with tag and length. Computed at each call.
    public var normalizedSequence: Data { Data(DERWriter.element(DERTag.sequence, normalized)) }

    /// The content octets with every string as UTF8String in lower case (ASCII), trimmed and with single spaces.
    ///
    /// Names with the same canonical form are the same name to RFC 5280 section 7.1 and libcrypto, regardless of their
    /// string types. Computed at each call.
    public var canonical: Data {
        var result = Data()
        var pairs: [UInt8] = []
        var isFirst = true
        func finish() {
            if !isFirst { result += DERWriter.element(DERTag.set, pairs) }
            (pairs, isFirst) = ([], false)
        }
        walkChecked(set: finish) { type, value in
            let text = Self.string(of: value).map { DERWriter.element(DERTag.utf8String, Self.folded(Array($0.utf8))) }
            pairs += DERWriter.element(DERTag.sequence, type.whole + (text ?? Array(value.whole)))
        }
        finish()
        return result
    }

    /// Returns `canonical` for stored `normalized` content; `nil` for other bytes.
    package static func canonical(ofNormalized content: Data) -> Data? {
        // Other bytes match no name.
        try? DistinguishedName(der: Data(DERWriter.element(DERTag.sequence, [UInt8](content)))).canonical
    }

    /// Calls `set` at the start of each relative name and `attribute` for each of its pairs.
    private static func walk(
        _ content: ArraySlice<UInt8>, set: () -> Void,
        attribute: (_ type: DERElement, _ value: DERElement) throws(DERError) -> Void
    ) throws(DERError) {
        var names = DERReader(content)
        while !names.isAtEnd {
            set()
            var pairs = DERReader(try names.next(DERTag.set).content)
            while !pairs.isAtEnd {
                var pair = DERReader(try pairs.next(DERTag.sequence).content)
                let type = try pair.next(DERTag.objectIdentifier)
                let value = try pair.next()
                guard pair.isAtEnd, OID.isValid(content: type.content) else { throw DERError() }
                try attribute(type, value)
            }
        }
    }

    private func walkChecked(
        set: () -> Void, attribute: (_ type: DERElement, _ value: DERElement) throws(DERError) -> Void
    ) {
        do {
            try Self.walk(content, set: set, attribute: attribute)
        } catch {
            assertionFailure("the initialiser has walked the same octets")
        }
    }

    /// All attributes in the order of the DER.
    public var attributes: [Attribute] { relativeNames.flatMap { $0 } }
    /// Whether there is no attribute at all.
    public var isEmpty: Bool { content.isEmpty }

    /// The last common name, which is the most specific.
    public var commonName: String? { value("2.5.4.3") }
    /// The last organisation.
    public var organization: String? { value("2.5.4.10") }
    /// The last organisational unit.
    public var organizationalUnit: String? { value("2.5.4.11") }
    /// The last country.
    public var country: String? { value("2.5.4.6") }
    /// The last e-mail address (PKCS#9, deprecated in names).
    public var emailAddress: String? { value("1.2.840.113549.1.9.1") }

    /// The form of RFC 4514 (RFC 2253), most specific attribute first, such as "CN=web,O=Example".
    public var description: String {
        relativeNames.reversed().map { relative in
            relative.map { "\(Self.shortNames[$0.type.rawValue] ?? $0.type.rawValue)=\(Self.escaped($0.value))" }
                .joined(separator: "+")
        }.joined(separator: ",")
    }

    /// Whether the DER is equal.
    public static func == (left: DistinguishedName, right: DistinguishedName) -> Bool { left.der == right.der }
    /// Hashes the DER.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }

    private func value(_ type: String) -> String? { attributes.last { $0.type.rawValue == type }?.value }

    static let shortNames = [
        "2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST",
        "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title", "2.5.4.42": "GN",
        "0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC", "1.2.840.113549.1.9.1": "emailAddress",
    ]

    private static func normalized(_ content: ArraySlice<UInt8>) -> [UInt8] {
        trimmed(content) { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
    }

    private static func folded(_ content: [UInt8]) -> [UInt8] {
        trimmed(content[...]) { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
    }

    private static func trimmed(_ content: ArraySlice<UInt8>, _ change: (UInt8) -> UInt8) -> [UInt8] {
        var result: [UInt8] = []
        for byte in content {
            if byte == 0x20 {
                if let last = result.last, last != 0x20 { result.append(byte) }
            } else {
                result.append(change(byte))
            }
        }
        if result.last == 0x20 { result.removeLast() }
        return result
    }

    private static func text(of element: DERElement) -> String {
        string(of: element) ?? "#" + element.whole.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Returns the text of a string element; `nil` for other elements.
    static func string(of element: DERElement) -> String? {
        let octets = element.content
        return switch element.tag {
        case DERTag.utf8String, DERTag.printableString, DERTag.ia5String, 0x12:
            String(validating: octets, as: UTF8.self)
        case DERTag.teletexString: String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
        case DERTag.bmpString: String(bytes: octets, encoding: .utf16BigEndian)
        case DERTag.universalString: String(bytes: octets, encoding: .utf32BigEndian)
        default: nil
        }
    }

    private static func escaped(_ value: String) -> String {
        var result = ""
        let scalars = value.unicodeScalars
        // Counted once, because counting is linear and a peer's certificate may have a name of megabytes.
        let last = scalars.count - 1
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case ",", "+", "\"", "\\", "<", ">", ";": result += "\\\(scalar)"
            case " " where index == 0 || index == last: result += "\\ "
            case "#" where index == 0: result += "\\#"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                result += "\\" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16, uppercase: true)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
