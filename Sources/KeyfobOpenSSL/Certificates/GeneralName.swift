public import Foundation

/// One alternative name of a certificate (RFC 5280 section 4.2.1.6).
public enum GeneralName: Hashable, Sendable, CustomStringConvertible {
    /// A host name, which may start with "*.".
    case dns(String)
    /// An e-mail address.
    case email(String)
    /// An address of 4 or 16 bytes.
    case ip(Data)
    /// A URI.
    case uri(String)
    /// Another kind, with its DER tag and content.
    case other(tag: UInt8, content: Data)

    init(element: DERElement) {
        switch (element.tag, String(validating: element.content, as: UTF8.self)) {
        case (0x81, let text?): self = .email(text)
        case (0x82, let text?): self = .dns(text)
        case (0x86, let text?): self = .uri(text)
        case (0x87, _) where [4, 16].contains(element.content.count): self = .ip(Data(element.content))
        default: self = .other(tag: element.tag, content: Data(element.content))
        }
    }

    /// The kind and value, as `openssl x509 -ext subjectAltName` prints them, such as "DNS:example.org".
    public var description: String {
        switch self {
        case .dns(let name): "DNS:\(name)"
        case .email(let address): "email:\(address)"
        case .uri(let uri): "URI:\(uri)"
        case .ip(let octets): "IP Address:\(Self.text(octets))"
        case .other(let tag, let content): "other:0x\(String(tag, radix: 16)) (\(content.count) bytes)"
        }
    }

    /// An address in text, IPv6 in the form of RFC 5952; `nil` for other kinds.
    public var ipText: String? {
        guard case .ip(let octets) = self else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = octets.count == 4 ? AF_INET : AF_INET6
        let isWritten = unsafe octets.withUnsafeBytes { octets in
            // Callers can create a value of another length, and inet_ntop would read beyond its end.
            guard [4, 16].contains(octets.count) else { return false }
            return unsafe inet_ntop(family, octets.baseAddress, &text, socklen_t(text.count)) != nil
        }
        guard isWritten else { return Self.text(octets) }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func text(_ octets: Data) -> String {
        if octets.count == 4 { return octets.map(String.init).joined(separator: ".") }
        let bytes = [UInt8](octets)
        return stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            String(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]), radix: 16, uppercase: true)
        }.joined(separator: ":")
    }
}

/// The usages of a key (RFC 5280 section 4.2.1.3). Bit n of the extension is bit n here.
public struct KeyUsage: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// Bit n stands for bit n of the BIT STRING.
    public let rawValue: UInt16

    /// Creates usages from bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Signatures other than on certificates and revocation lists.
    public static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    /// Signatures that commit the signer to the content (nonRepudiation).
    public static let contentCommitment = KeyUsage(rawValue: 1 << 1)
    /// Encryption of keys.
    public static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    /// Direct encryption of data.
    public static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    /// Key agreement.
    public static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    /// Signatures on certificates.
    public static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    /// Signatures on revocation lists.
    public static let crlSign = KeyUsage(rawValue: 1 << 6)
    /// With key agreement: encryption only.
    public static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    /// With key agreement: decryption only.
    public static let decipherOnly = KeyUsage(rawValue: 1 << 8)

    init(element: DERElement) throws(DERError) {
        guard element.tag == DERTag.bitString, let unused = element.content.first, unused < 8 else { throw DERError() }
        var bits: UInt16 = 0
        for (octet, byte) in element.content.dropFirst().prefix(2).enumerated() {
            for bit in 0..<8 where byte & (0x80 >> UInt8(bit)) != 0 { bits |= 1 << UInt16(octet * 8 + bit) }
        }
        rawValue = bits
    }

    /// The names of RFC 5280, separated by commas.
    public var description: String {
        let names = [
            "digitalSignature", "contentCommitment", "keyEncipherment", "dataEncipherment", "keyAgreement",
            "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly",
        ]
        let set = names.enumerated().filter { rawValue & (1 << UInt16($0.offset)) != 0 }
        return set.map(\.element).joined(separator: ", ")
    }
}

/// A purpose in the extended key usage extension (RFC 5280 section 4.2.1.12); unknown purposes are preserved.
public struct ExtendedKeyUsage: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The object identifier in dotted form.
    public let rawValue: String

    /// Creates a purpose from its object identifier.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// TLS server.
    public static let serverAuth = ExtendedKeyUsage(rawValue: "1.3.6.1.5.5.7.3.1")
    /// TLS client.
    public static let clientAuth = ExtendedKeyUsage(rawValue: "1.3.6.1.5.5.7.3.2")
    /// Code signing.
    public static let codeSigning = ExtendedKeyUsage(rawValue: "1.3.6.1.5.5.7.3.3")
    /// S/MIME.
    public static let emailProtection = ExtendedKeyUsage(rawValue: "1.3.6.1.5.5.7.3.4")
    /// Time stamps.
    public static let timeStamping = ExtendedKeyUsage(rawValue: "1.3.6.1.5.5.7.3.8")
    /// OCSP responses.
    public static let ocspSigning = ExtendedKeyUsage(rawValue: "1.3.6.1.5.5.7.3.9")
    /// Any purpose.
    public static let any = ExtendedKeyUsage(rawValue: "2.5.29.37.0")

    /// The name of RFC 5280, or the object identifier.
    public var description: String {
        switch self {
        case .serverAuth: "serverAuth"
        case .clientAuth: "clientAuth"
        case .codeSigning: "codeSigning"
        case .emailProtection: "emailProtection"
        case .timeStamping: "timeStamping"
        case .ocspSigning: "OCSPSigning"
        case .any: "anyExtendedKeyUsage"
        default: rawValue
        }
    }
}
