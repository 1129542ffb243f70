import CP11Kit
import Glibc
import KeyfobPrimitives

extension PKCS11URI {
    /// Parses a URI.
    ///
    /// Does not block. Unknown path attributes are kept, and make the URI match nothing, as with p11-kit. The scheme
    /// and the names of RFC 7512 may be written in capitals.
    ///
    /// - Throws: `PKCS11URIError` with `.badScheme`, `.badSyntax`, `.badEncoding`, `.badVersion`,
    ///   `.duplicateAttribute` or `.conflictingPIN`.
    ///
    /// Stands for `p11_kit_uri_parse`.
    public init(_ string: String) throws(PKCS11URIError) {
        let written = try WrittenAttributes(string)
        let parsed = try ParsedURI(written.text)
        var unrecognized: [String] = []
        if parsed.hasUnrecognized {
            // p11-kit tells only that there are some, so each is asked for alone.
            for attribute in written.path where try ParsedURI(Self.scheme + attribute.text).hasUnrecognized {
                unrecognized.append(
                    attribute.name + "=" + Self.encoded(attribute.value.utf8, keepingPercent: true))
            }
        }
        self.init(unrecognizedAttributes: unrecognized)
        try parsed.copyPath(to: &self)
        try parsed.copyQuery(to: &self, vendorNames: written.vendorNames)
    }
}

/// The attributes of a URI as they are written, for the checks that p11-kit leaves out.
private struct WrittenAttributes {
    struct Attribute {
        let name: String
        let value: String
        var text: String { name + "=" + value }

        /// The name in RFC 7512 of what p11-kit takes under several names.
        var standardName: String {
            switch name {
            case "object-type", "objecttype": "type"
            case "pinfile": "pin-source"
            default: name
            }
        }

        /// Whether the value has a NUL, in the only form in which a URI can have one.
        var hasNUL: Bool {
            let bytes = Array(value.utf8)
            return bytes.indices.contains { bytes[$0...].starts(with: "%00".utf8) }
        }
    }

    private(set) var path: [Attribute] = []
    private var query: [Attribute] = []

    /// The URI for p11-kit, which knows names in small letters only.
    var text: String {
        let parts = [path.map(\.text).joined(separator: ";"), query.map(\.text).joined(separator: "&")]
        return PKCS11URI.scheme + parts[0] + (query.isEmpty ? "" : "?" + parts[1])
    }

    /// Names of query attributes that RFC 7512 does not define.
    var vendorNames: [String] { query.map(\.name).filter { !Self.standardQuery.contains($0) } }

    private static let standardQuery: Set<String> = ["pin-source", "pin-value", "module-name", "module-path", "pinfile"]

    private static let standardPath: Set<String> = [
        "library-description", "library-manufacturer", "library-version", "slot-description", "slot-manufacturer",
        "slot-id", "model", "manufacturer", "serial", "token", "id", "object", "type", "object-type", "objecttype",
    ]

    /// What p11-kit takes from both parts of a URI, so that it must not stand in both.
    private static let pinNames: Set<String> = ["pin-source", "pin-value"]

    init(_ string: String) throws(PKCS11URIError) {
        guard PKCS11URI.hasScheme(string) else {
            throw PKCS11URIError(.badScheme, "a PKCS #11 URI starts with pkcs11:")
        }
        let parts = string[string.utf8.index(string.startIndex, offsetBy: PKCS11URI.scheme.utf8.count)...]
            .split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = try Self.attributes(parts[0], separator: ";")
        query = parts.count == 2 ? try Self.attributes(parts[1], separator: "&") : []
        // The C interface ends a text at its first NUL, and what follows would be lost without a word.
        if string.utf8.contains(0) { throw PKCS11URIError(.badEncoding, "a URI holds no NUL") }
        // And to p11-kit a fixed field that starts with NUL is one that is not there: it would match every token.
        for attribute in path + query where attribute.hasNUL {
            if attribute.name != "id" && attribute.name != "object" {
                throw PKCS11URIError(.badEncoding, "\(attribute.name) holds a NUL")
            }
        }
        let pins = (path + query).filter { Self.pinNames.contains($0.standardName) }
        if Set(pins.map(\.standardName)).count > 1 {
            throw PKCS11URIError(.conflictingPIN, "pin-source and pin-value exclude each other")
        }
        if pins.count > 1 { throw Self.duplicate(pins[1]) }
        // p11-kit takes the lower bits of a number, 0 for none, and the largest for any slot.
        for attribute in path where attribute.name == "slot-id" {
            let isNumber = attribute.value.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard isNumber, let number = UInt(attribute.value), number != .max else {
                throw PKCS11URIError(.badSyntax, "slot-id is a number below \(UInt.max)")
            }
        }
    }

    private static func duplicate(_ attribute: Attribute) -> PKCS11URIError {
        PKCS11URIError(.duplicateAttribute, "\(attribute.name) is given twice")
    }

    /// What a name consists of. p11-kit passes over blanks in it, so that a name could be given twice.
    private static func isName(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func attributes(
        _ text: Substring, separator: Character
    ) throws(PKCS11URIError) -> [Attribute] {
        var result: [Attribute] = []
        var pieces = text.split(separator: separator, omittingEmptySubsequences: false)
        // One separator at the end is common and harmless, and p11-kit takes it.
        if pieces.last?.isEmpty == true { pieces.removeLast() }
        for piece in pieces {
            guard let equals = piece.firstIndex(of: "="), equals != piece.startIndex else {
                throw PKCS11URIError(.badSyntax, "an attribute is a name, = and a value")
            }
            guard isName(piece[..<equals]) else {
                throw PKCS11URIError(.badSyntax, "an attribute's name has letters, digits, - and _")
            }
            let small = piece[..<equals].lowercased()
            let isStandard = standardPath.contains(small) || standardQuery.contains(small)
            let attribute = Attribute(
                name: isStandard ? small : String(piece[..<equals]),
                value: String(piece[piece.index(after: equals)...]))
            guard !result.contains(where: { $0.standardName == attribute.standardName }) else {
                throw duplicate(attribute)
            }
            result.append(attribute)
        }
        return result
    }
}

/// The owner of one `P11KitUri`.
@safe private final class ParsedURI {
    private let uri: OpaquePointer

    init(_ string: String) throws(PKCS11URIError) {
        guard let uri = unsafe p11_kit_uri_new() else { throw PKCS11URIError(.unexpected, "p11-kit has no memory") }
        unsafe self.uri = uri
        let result = unsafe p11_kit_uri_parse(string, P11_KIT_URI_FOR_ANY, uri)
        if result != Int32(P11_KIT_URI_OK.rawValue) { throw Self.error(result) }
    }

    deinit {
        // p11-kit frees the PIN without wiping it.
        if let pin = unsafe p11_kit_uri_get_pin_value(uri) {
            unsafe explicit_bzero(UnsafeMutablePointer(mutating: pin), strlen(pin))
        }
        unsafe p11_kit_uri_free(uri)
    }

    private static func error(_ result: Int32) -> PKCS11URIError {
        switch result {
        case Int32(P11_KIT_URI_BAD_SCHEME.rawValue): PKCS11URIError(.badScheme, "a PKCS #11 URI starts with pkcs11:")
        case Int32(P11_KIT_URI_BAD_ENCODING.rawValue): PKCS11URIError(.badEncoding, "% without two digits")
        case Int32(P11_KIT_URI_BAD_SYNTAX.rawValue): PKCS11URIError(.badSyntax, "an attribute cannot be read")
        case Int32(P11_KIT_URI_BAD_VERSION.rawValue): PKCS11URIError(.badVersion, "library-version is not a version")
        default: PKCS11URIError(.unexpected, "p11-kit answered \(result)")
        }
    }

    /// Whether p11-kit passed over a path attribute.
    var hasUnrecognized: Bool { unsafe p11_kit_uri_any_unrecognized(uri) != 0 }

    func copyPath(to target: inout PKCS11URI) throws(PKCS11URIError) {
        if let info = unsafe p11_kit_uri_get_module_info(uri) {
            target.libraryManufacturer = try unsafe Self.padded(info.pointee.manufacturerID, "library-manufacturer")
            target.libraryDescription = try unsafe Self.padded(info.pointee.libraryDescription, "library-description")
            let version = unsafe info.pointee.libraryVersion
            // 255.255 is how p11-kit writes "any version".
            if version.major != 0xff || version.minor != 0xff {
                target.libraryVersion = .init(major: version.major, minor: version.minor)
            }
        }
        if let info = unsafe p11_kit_uri_get_slot_info(uri) {
            target.slotDescription = try unsafe Self.padded(info.pointee.slotDescription, "slot-description")
            target.slotManufacturer = try unsafe Self.padded(info.pointee.manufacturerID, "slot-manufacturer")
        }
        let slotID = unsafe p11_kit_uri_get_slot_id(uri)
        target.slotID = slotID == UInt.max ? nil : slotID
        if let info = unsafe p11_kit_uri_get_token_info(uri) {
            target.token = try unsafe Self.padded(info.pointee.label, "token")
            target.manufacturer = try unsafe Self.padded(info.pointee.manufacturerID, "manufacturer")
            target.model = try unsafe Self.padded(info.pointee.model, "model")
            target.serial = try unsafe Self.padded(info.pointee.serialNumber, "serial")
        }
        target.id = attribute(CKA_ID)
        target.object = try attribute(CKA_LABEL).map { (bytes) throws(PKCS11URIError) -> String in
            try Self.text(bytes, "object")
        }
        target.type = attribute(CKA_CLASS).flatMap { bytes in
            guard bytes.count == MemoryLayout<UInt>.size else { return nil }
            return ObjectClass(rawValue: bytes.reversed().reduce(0) { $0 << 8 | UInt($1) })
        }
    }

    func copyQuery(to target: inout PKCS11URI, vendorNames: [String]) throws(PKCS11URIError) {
        target.pinSource = try unsafe Self.text(p11_kit_uri_get_pin_source(uri), "pin-source")
        target.moduleName = try unsafe Self.text(p11_kit_uri_get_module_name(uri), "module-name")
        target.modulePath = try unsafe Self.text(p11_kit_uri_get_module_path(uri), "module-path")
        for name in vendorNames {
            target.vendorQuery[name] = try unsafe Self.text(p11_kit_uri_get_vendor_query(uri, name), name)
        }
        if let pin = unsafe p11_kit_uri_get_pin_value(uri) {
            target.pinValue = unsafe SecretBytes(count: strlen(pin)) { buffer in
                for index in buffer.indices { unsafe buffer[index] = UInt8(bitPattern: pin[index]) }
            }
        }
    }

    private func attribute(_ type: UInt) -> [UInt8]? {
        guard let attribute = unsafe p11_kit_uri_get_attribute(uri, type) else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(
            start: attribute.pointee.pValue, count: Int(attribute.pointee.ulValueLen))
        return unsafe Array(bytes)
    }

    /// A field padded with blanks. All zero means that the URI does not have it.
    private static func padded<Field>(_ field: Field, _ name: String) throws(PKCS11URIError) -> String? {
        var bytes = unsafe withUnsafeBytes(of: field) { unsafe Array($0) }
        if bytes.allSatisfy({ $0 == 0 }) { return nil }
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        return try text(bytes, name)
    }

    private static func text(_ bytes: [UInt8], _ name: String) throws(PKCS11URIError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PKCS11URIError(.badEncoding, "\(name) is not UTF-8")
        }
        return text
    }

    private static func text(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(PKCS11URIError) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        guard let text = unsafe String(validatingCString: pointer) else {
            throw PKCS11URIError(.badEncoding, "\(name) is not UTF-8")
        }
        return text
    }
}
