extension PKCS11URI: CustomStringConvertible {
    /// The URI in one fixed order, path attributes before query attributes; without the PIN.
    ///
    /// Every byte outside RFC 3986's unreserved set is percent-encoded, and every byte of an id.
    public var description: String {
        var path: [String] = []
        var query: [String] = []
        Self.add("library-description", libraryDescription, to: &path)
        Self.add("library-manufacturer", libraryManufacturer, to: &path)
        Self.add("library-version", libraryVersion?.description, to: &path)
        Self.add("slot-description", slotDescription, to: &path)
        Self.add("slot-manufacturer", slotManufacturer, to: &path)
        Self.add("slot-id", slotID.map { String($0) }, to: &path)
        Self.add("model", model, to: &path)
        Self.add("manufacturer", manufacturer, to: &path)
        Self.add("serial", serial, to: &path)
        Self.add("token", token, to: &path)
        if let id { path.append("id=" + id.map(Self.percentEncoded).joined()) }
        Self.add("object", object, to: &path)
        Self.add("type", type.map { Self.typeNames[$0] ?? $0.name }, to: &path)
        path += unrecognizedAttributes
        Self.add("pin-source", pinSource, to: &query)
        Self.add("module-name", moduleName, to: &query)
        Self.add("module-path", modulePath, to: &query)
        for (name, value) in vendorQuery.sorted(by: { $0.key < $1.key }) {
            Self.add(Self.encoded(name.utf8), value, to: &query)
        }
        return Self.scheme + path.joined(separator: ";") + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// The words of RFC 7512 for object classes.
    static let typeNames: [ObjectClass: String] = [
        .certificate: "cert", .data: "data", .privateKey: "private", .publicKey: "public", .secretKey: "secret-key",
    ]

    private static func add(_ name: String, _ value: String?, to attributes: inout [String]) {
        guard let value else { return }
        attributes.append(name + "=" + encoded(value.utf8))
    }

    /// Encodes what may not stand in a URI as it is, and leaves what is encoded already.
    static func encoded(_ bytes: some Sequence<UInt8>, keepingPercent: Bool = false) -> String {
        var result = ""
        for byte in bytes {
            let isUnreserved = switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                true
            default:
                keepingPercent && byte == UInt8(ascii: "%")
            }
            if isUnreserved {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += percentEncoded(byte)
            }
        }
        return result
    }

    private static func percentEncoded(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return (digits.count == 1 ? "%0" : "%") + digits
    }
}
