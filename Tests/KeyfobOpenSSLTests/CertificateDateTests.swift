import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

/// Certificates whose validity is written in forms that RFC 5280 4.1.2.5 does not allow, and certificates of one key.
@Suite struct CertificateDateTests {
    /// The tags of UTCTime and GeneralizedTime.
    static let (utc, generalized): (UInt8, UInt8) = (0x17, 0x18)

    static let odd: [(UInt8, String, String)] = [
        (utc, "2401021504Z", "2024-01-02T15:04:00Z"), (utc, "240102150405+0200", "2024-01-02T13:04:05Z"),
        (utc, "2401021504-0030", "2024-01-02T15:34:00Z"), (utc, "500101000000Z", "1950-01-01T00:00:00Z"),
        (utc, "491231235960Z", "2050-01-01T00:00:00Z"), (utc, "240229000000Z", "2024-02-29T00:00:00Z"),
        (generalized, "20240102150405Z", "2024-01-02T15:04:05Z"),
        (generalized, "20240102150405.999Z", "2024-01-02T15:04:05Z"),
        (generalized, "20240102150405,5+0100", "2024-01-02T14:04:05Z"),
        (generalized, "202401021504.5Z", "2024-01-02T15:04:30Z"), (generalized, "2024010215Z", "2024-01-02T15:00:00Z"),
        (generalized, "20240102150405+01", "2024-01-02T14:04:05Z"),
        (generalized, "19000101000000Z", "1900-01-01T00:00:00Z"),
        (generalized, "20000229000000Z", "2000-02-29T00:00:00Z"),
    ]

    static let impossible: [(UInt8, String)] = [
        (utc, "230229000000Z"), (utc, "241301000000Z"), (utc, "240001000000Z"), (utc, "240431000000Z"),
        (utc, "240100000000Z"), (utc, "240102240000Z"), (utc, "240102156000Z"), (utc, "240102150405"),
        (utc, "240102150405+2400"), (utc, "240102150405.5Z"), (utc, "2401021504050Z"), (utc, "Z"), (utc, ""),
        (generalized, "19000229000000Z"), (generalized, "20230229000000Z"), (generalized, "20240102150405"),
        (generalized, "20240102150405.Z"), (generalized, "20240102150405Z0"), (generalized, "+0240102150405Z"),
        (utc, "24010215040\u{1}Z"), (0x16, "240102150405Z"),
    ]

    @Test(arguments: odd.indices, [0, 1])
    func `a date in an uncommon form is read`(_ index: Int, _ end: Int) throws {
        let (tag, text, expected) = Self.odd[index]
        let certificate = try Certificate.load(Self.certificate(tag, text, at: end))[0]
        let date = end == 0 ? certificate.notBefore : certificate.notAfter
        #expect(date.ISO8601Format() == expected)
    }

    @Test(arguments: impossible.indices, [0, 1])
    func `a certificate with an impossible date is refused, and the error names both`(
        _ index: Int, _ end: Int
    ) throws {
        let (tag, text) = Self.impossible[index]
        let data = try Self.certificate(tag, text, at: end)
        let error = #expect(throws: KeyFileError.self) { try Certificate.load(data) }
        #expect(error?.code == .unsupported)
        let detail = try #require(error?.detail)
        #expect(detail.hasPrefix("the validity of the certificate \"CN=odd\" \(end == 0 ? "begins" : "ends") at "))
        #expect(detail.contains(" at \"\(text.replacing("\u{1}", with: "?"))\", which is not a date"))
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func `a renewed certificate of a key takes the place of the old one`(_ order: [Int]) throws {
        let openssl = try OpenSSLCommand.withAuthority()
        // Expired, about to be renewed, and renewed.
        let ends = ["200101000000Z", "480101000000Z", "490101000000Z"]
        let begins = ["190101000000Z", "190102000000Z", "200101000000Z"]
        let leaf = try openssl.certificate("leaf.pem").der
        let all = try zip(begins, ends).map { begin, end in
            try Self.replacing((Self.utc, begin), (Self.utc, end), in: leaf)
        }
        try openssl("pkcs8 -topk8 -nocrypt -in leaf.key -outform DER -out leaf.p8")
        let bags = order.map { HandmadePKCS12.Bag.certificate(all[$0]) }
        func pairs(_ bags: [HandmadePKCS12.Bag]) throws -> [Data] {
            let key = HandmadePKCS12.Bag.key(try openssl.data("leaf.p8"))
            return try PKCS12.read(HandmadePKCS12.file([key] + bags), passphrase: nil).identities
                .map(\.certificate.der)
        }
        #expect(try pairs(bags) == [all[2]])
        #expect(try pairs(bags + bags) == [all[2]])
        #expect(try pairs([.certificate(all[0])]) == [all[0]])
    }

    @Test func `two valid certificates of one key for different names are two identities`() throws {
        let openssl = try OpenSSLCommand.withAuthority()
        try openssl("req -x509 -key leaf.key -subj /CN=other -days 30 -out other.pem")
        try openssl("pkcs8 -topk8 -nocrypt -in leaf.key -outform DER -out leaf.p8")
        let data = try HandmadePKCS12.file([
            .key(openssl.data("leaf.p8")), .certificate(openssl.certificate("leaf.pem").der),
            .certificate(openssl.certificate("other.pem").der),
        ])
        #expect(try PKCS12.read(data, passphrase: nil).identities.count == 2)
    }

    /// A certificate with `text` as one end of its validity. Its signature no longer fits.
    private static func certificate(_ tag: UInt8, _ text: String, at end: Int) throws -> Data {
        let openssl = try OpenSSLCommand()
        try openssl("req -x509 -newkey ed25519 -nodes -keyout key -subj /CN=odd -outform DER -out odd.der")
        let usual = [(utc, "200101000000Z"), (utc, "400101000000Z")]
        return try replacing(
            end == 0 ? (tag, text) : usual[0], end == 0 ? usual[1] : (tag, text), in: openssl.data("odd.der"))
    }

    private static func replacing(
        _ begin: (UInt8, String), _ end: (UInt8, String), in der: Data
    ) throws -> Data {
        var outer = try members(of: [UInt8](der))
        var body = try members(of: outer[0])
        // Version, serial number, algorithm and issuer come before it.
        body[4] = element(0x30, [begin, end].flatMap { element($0.0, Array($0.1.utf8)) })
        outer[0] = element(0x30, body.flatMap(\.self))
        return Data(element(0x30, outer.flatMap(\.self)))
    }

    /// The elements within an element.
    private static func members(of element: [UInt8]) throws -> [[UInt8]] {
        var rest = element[try #require(DERHeader(element)).count...]
        var result: [[UInt8]] = []
        while !rest.isEmpty {
            let count = try #require(DERHeader(rest)).total
            result.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return result
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        guard content.count >= 0x100 else { return [tag, 0x81, UInt8(content.count)] + content }
        return [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
    }
}
