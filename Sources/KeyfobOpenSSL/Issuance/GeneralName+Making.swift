import COpenSSL
import Foundation

/// Creation of names for requests and certificates.
extension GeneralName {
    /// Parses an IPv4 or IPv6 address; `nil` for other text.
    public init?(ipAddress text: String) {
        // a2i_IPADDRESS(3) reads the text up to a NUL.
        guard !text.utf8.contains(0), let octets = unsafe a2i_IPADDRESS(text) else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe ASN1_OCTET_STRING_free(octets) }
        guard let bytes = unsafe ASN1_STRING_get0_data(octets) else { return nil }
        self = .ip(unsafe Data(bytes: bytes, count: Int(ASN1_STRING_length(octets))))
    }

    /// Creates a name from an address or a host name, with non-ASCII labels as Punycode.
    ///
    /// Returns `nil` for text that is neither.
    package init?(host: String) {
        if let address = GeneralName(ipAddress: host) {
            self = address
            return
        }
        let name = GeneralName.dns(Certificate.asciiName(ofHost: host))
        // A name in a certificate has no trailing dot; text with one is not meant as such a name. The reason why a name
        // cannot be encoded does not matter here.
        guard !host.hasSuffix("."), (try? name.encoded()) != nil else { return nil }
        self = name
    }

    /// Creates an otherName with a UTF8String as its value, such as a user principal name.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a type that is not an object identifier.
    public static func otherName(_ type: OID, text: String) throws -> GeneralName {
        guard let identifier = type.der else {
            throw CryptoError(.invalidInput, "the type is not an object identifier")
        }
        let value = DERWriter.element(0xA0, DERWriter.element(DERTag.utf8String, Array(text.utf8)))
        return .other(tag: 0xA0, content: Data(identifier + value))
    }

    /// Creates a name from a distinguished name.
    public static func directoryName(_ name: DistinguishedName) -> GeneralName { .other(tag: 0xA4, content: name.der) }

    /// Creates a name from an object identifier.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for an invalid identifier.
    public static func registeredID(_ identifier: OID) throws -> GeneralName {
        guard let der = identifier.der, let header = DERHeader(der) else {
            throw CryptoError(.invalidInput, "it is not an object identifier")
        }
        return .other(tag: 0x88, content: Data(der.dropFirst(header.count)))
    }

    /// Returns the name in DER.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a name that is empty or has characters that its kind cannot hold.
    ///   Host names, addresses and URIs are ASCII (RFC 5280 section 4.2.1.6); other host names must be given as
    ///   Punycode.
    func encoded() throws -> [UInt8] {
        switch self {
        case .dns(let name):
            let encoded = try Self.ascii(0x82, name, "a host name", isAllowed: Self.isHostCharacter)
            try Self.checkLabels(of: name)
            return encoded
        case .email(let address):
            try Self.checkParts(of: address)
            return try Self.ascii(0x81, address, "an e-mail address", isAllowed: { $0 > 0x20 && $0 < 0x7F })
        case .uri(let uri):
            guard uri.contains(":") else { throw CryptoError(.invalidInput, "a URI has a scheme") }
            return try Self.ascii(0x86, uri, "a URI", isAllowed: { $0 > 0x20 && $0 < 0x7F })
        case .ip(let octets):
            guard [4, 16].contains(octets.count) else {
                throw CryptoError(.invalidInput, "an address has 4 or 16 bytes")
            }
            return DERWriter.element(0x87, octets)
        case .other(let tag, let content):
            guard tag & 0xC0 == 0x80, tag & 0x1F <= 8 else { throw CryptoError(.invalidInput, "no kind of name") }
            return DERWriter.element(tag, content)
        }
    }

    private static func ascii(
        _ tag: UInt8, _ text: String, _ kind: String, isAllowed: (UInt8) -> Bool
    ) throws(CryptoError) -> [UInt8] {
        let octets = Array(text.utf8)
        guard !octets.isEmpty, octets.allSatisfy(isAllowed) else {
            throw CryptoError(.invalidInput, "\(kind) is ASCII, without blanks, and not empty")
        }
        return DERWriter.element(tag, octets)
    }

    /// Checks labels by RFC 1035 section 2.3.4, and wildcards by RFC 6125 section 6.4.3: alone, as the leftmost label.
    private static func checkLabels(of name: String) throws(CryptoError) {
        let labels = name.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, labels.allSatisfy({ (1...63).contains($0.count) }) else {
            throw CryptoError(
                .invalidInput, "a host name has at most 253 characters, and between its dots 1 to 63")
        }
        let hasStar = labels.map { $0.contains(0x2A) }
        guard !hasStar.dropFirst().contains(true),
            hasStar.first == false || labels.first?.count == 1 && labels.count > 1
        else { throw CryptoError(.invalidInput, "the star of a wildcard stands alone, before the first dot") }
    }

    /// Checks that an address is a Mailbox (RFC 5280 section 4.2.1.6): a local part and a domain around an @.
    ///
    /// Only a quoted local part (RFC 2821 section 4.1.2) may contain another @.
    private static func checkParts(of address: String) throws(CryptoError) {
        let octets = Array(address.utf8)
        guard let at = octets.lastIndex(of: 0x40) else {
            throw CryptoError(.invalidInput, "an e-mail address has an @")
        }
        let local = octets[..<at]
        let isQuoted = local.count > 2 && local.first == 0x22 && local.last == 0x22
        guard !local.isEmpty, at < octets.count - 1, isQuoted || !local.contains(0x40) else {
            throw CryptoError(.invalidInput, "an e-mail address has one @, with a name before it and a domain behind")
        }
    }

    /// Whether an octet is a letter, digit, hyphen, dot, the common underscore, or the asterisk of a wildcard.
    private static func isHostCharacter(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }
}

extension KeyUsage {
    /// The BIT STRING in its shortest form, as DER requires.
    var encoded: [UInt8] {
        let bits = (0..<16).filter { rawValue & (1 << UInt16($0)) != 0 }
        let highest = bits.last ?? -1
        var octets = [UInt8](repeating: 0, count: (highest + 8) / 8)
        for bit in bits { octets[bit / 8] |= 0x80 >> UInt8(bit % 8) }
        let unused = highest < 0 ? 0 : UInt8(7 - highest % 8)
        return DERWriter.element(DERTag.bitString, [unused] + octets)
    }
}
