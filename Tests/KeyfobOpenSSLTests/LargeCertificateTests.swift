import Foundation
import KeyfobOpenSSL
import Testing

/// Certificates of a megabyte, which any peer can send. The time to process them must be linear in their length;
/// quadratic time would be an hour here.
@Suite(.timeLimit(.minutes(30)))
struct LargeCertificateTests {
    /// An element in DER; X.690 section 8.1.
    private func element(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] {
        let count = content.reduce(0) { $0 + $1.count }
        let octets = [16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }.drop { $0 == 0 }
        return [tag] + (count < 0x80 ? [UInt8(count)] : [0x80 | UInt8(octets.count)] + octets) + content.joined()
    }

    private func name(_ commonName: String) -> [UInt8] {
        let value = element(0x0C, Array(commonName.utf8))
        return element(0x30, element(0x31, element(0x30, [0x06, 0x03, 0x55, 0x04, 0x03], value)))
    }

    @Test func `the error gives the length of a name longer than any certificate`() throws {
        let text = " " + String(repeating: "\u{E9},", count: 1 << 20) + " "
        let name = try DistinguishedName(der: Data(name(text)))
        #expect(name.description == "CN=\\ " + String(repeating: "\u{E9}\\,", count: 1 << 20) + "\\ ")
    }

    @Test func `many extensions are read, and the first of two equal ones is used`() throws {
        let algorithm = element(0x30, [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02])
        let time = element(0x17, Array("250101000000Z".utf8))
        let key = try PrivateKey.generate(.ec(.p256)).publicKey.subjectPublicKeyInfo
        let host = { (host: String) in
            element(0x30, [0x06, 0x03, 0x55, 0x1D, 0x11], element(0x04, element(0x30, element(0x82, Array(host.utf8)))))
        }
        let others = (0..<1 << 16).flatMap { number in
            let arcs = [0x81] + [14, 7].map { UInt8(truncatingIfNeeded: number >> $0) | 0x80 } + [UInt8(number & 0x7F)]
            return [0x30, 12, 0x06, 6, 0x2A, 0x03] + arcs + [0x04, 2, 0x05, 0]
        }
        let body = element(
            0x30, [0xA0, 3, 2, 1, 2], [2, 1, 1], algorithm, name("a"), element(0x30, time, time), name("a"), Array(key),
            element(0xA3, element(0x30, host("first.example.com"), others, host("second.example.com"))))
        let certificate = try Certificate(
            der: Data(element(0x30, body, algorithm, element(0x03, [0, 0x30, 6, 2, 1, 1, 2, 1, 1]))))
        #expect(certificate.dnsNames == ["first.example.com"])
        #expect(certificate.subjectKeyIdentifier == nil)
    }
}
