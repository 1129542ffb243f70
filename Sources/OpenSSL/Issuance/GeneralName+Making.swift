import COpenSSL
import Foundation

/// Names that are to be written into requests and certificates.
extension GeneralName {
    /// An IPv4 or IPv6 address from its text; `nil` where it is none.
    public init?(ipAddress text: String) {
        // a2i_IPADDRESS(3) takes the text up to a NUL.
        guard !text.utf8.contains(0), let octets = unsafe a2i_IPADDRESS(text) else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe ASN1_OCTET_STRING_free(octets) }
        guard let bytes = unsafe ASN1_STRING_get0_data(octets) else { return nil }
        self = .ip(unsafe Data(bytes: bytes, count: Int(ASN1_STRING_length(octets))))
    }

    /// An address or a host name, whichever a text is; letters of other languages as Punycode.
    ///
    /// `nil` where it is neither.
    package init?(host: String) {
        if let address = GeneralName(ipAddress: host) {
            self = address
            return
        }
        let name = GeneralName.dns(Certificate.asciiName(ofHost: host))
        // A dot at the end is no part of a name in a certificate, and says that the text is meant as something else.
        // Why a text cannot be written is of no interest: it is no host then.
        guard !host.hasSuffix("."), (try? name.encoded()) != nil else { return nil }
        self = name
    }

    /// A name of a kind of its own, an otherName, with a UTF8String as its value, such as a user principal name.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a type that is no object identifier.
    public static func otherName(_ type: OID, text: String) throws -> GeneralName {
        guard let identifier = type.der else { throw CryptoError(.invalidInput, "the type is no identifier") }
        let value = DERWriter.element(0xA0, DERWriter.element(DERTag.utf8String, Array(text.utf8)))
        return .other(tag: 0xA0, content: Data(identifier + value))
    }

    /// A distinguished name.
    public static func directoryName(_ name: DistinguishedName) -> GeneralName { .other(tag: 0xA4, content: name.der) }

    /// An object identifier.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) where it is none.
    public static func registeredID(_ identifier: OID) throws -> GeneralName {
        guard let der = identifier.der, let header = DERHeader(der) else {
            throw CryptoError(.invalidInput, "it is no identifier")
        }
        return .other(tag: 0x88, content: Data(der.dropFirst(header.count)))
    }

    /// The name in DER.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for a name that is empty or holds what its kind cannot: host names,
    ///   addresses and URIs are ASCII (RFC 5280 4.2.1.6), a host name of other letters stands there as Punycode.
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

    /// The rules for labels of RFC 1035 2.3.4, and of RFC 6125 6.4.3 for wildcards: alone, and at the left end.
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

    /// An address is a Mailbox (RFC 5280 4.2.1.6): something before the @ and a domain behind it. Only in quotation
    /// marks (RFC 2821 4.1.2) does the first part have another one.
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

    /// Letters, digits, hyphen, dot, the underscore that many use, and the star of a wildcard.
    private static func isHostCharacter(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }
}

extension KeyUsage {
    /// The BIT STRING, as short as DER wants it.
    var encoded: [UInt8] {
        let bits = (0..<16).filter { rawValue & (1 << UInt16($0)) != 0 }
        let highest = bits.last ?? -1
        var octets = [UInt8](repeating: 0, count: (highest + 8) / 8)
        for bit in bits { octets[bit / 8] |= 0x80 >> UInt8(bit % 8) }
        let unused = highest < 0 ? 0 : UInt8(7 - highest % 8)
        return DERWriter.element(DERTag.bitString, [unused] + octets)
    }
}
