import Foundation
import KeyfobOpenSSL
import Testing

@testable import Keyfob
@testable import KeyfobACME

/// The time of a renewal that an issuer suggests.
@Suite struct RenewalRecordTests {
    private let now = Date(timeIntervalSince1970: 1_795_309_200)

    private func certificate() throws -> Certificate {
        let key = try PrivateKey.generate(.ec(.p256))
        var extensions = CertificateExtensions()
        // The key identifier of the authority in the example of RFC 9773 4.1.
        let identifier: [UInt8] = [
            0x69, 0x88, 0x5B, 0x6B, 0x87, 0x46, 0x40, 0x41, 0xE1, 0xB3, 0x7B, 0x84, 0x7B, 0xA0, 0xAE, 0x2C, 0xDE, 0x01,
            0xC8, 0xD4,
        ]
        extensions.others = [
            .init(
                type: OID(rawValue: "2.5.29.35"), isCritical: false, value: Data([0x30, 0x16, 0x80, 0x14] + identifier))
        ]
        return try UnsignedCertificate(
            subject: DistinguishedName(commonName: "web"), publicKey: key.publicKey, extensions: extensions,
            issuer: nil, notBefore: now, notAfter: now + 86_400, serialNumber: Data([0x87, 0x65, 0x43, 0x21])
        ).signed { [UInt8](try key.sign($0, using: $1)) }
    }

    @Test func `a certificate is identified as in the example of the RFC`() throws {
        #expect(try certificate().renewalIdentifier == "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE")
    }

    @Test func `a window ends after it begins`() {
        #expect(RenewalWindow(start: now, end: now) == nil)
        #expect(RenewalWindow(start: now, end: now - 1) == nil)
        #expect(RenewalWindow(start: now, end: now + 1) != nil)
    }

    @Test func `a time is drawn in the window, and stays while the window does`() throws {
        let certificate = try certificate()
        let window = try #require(RenewalWindow(start: now, end: now + 1000))
        let times = (0..<50).map { _ in
            RenewalRecord(certificate, .init(window: window, validity: .seconds(600)), after: nil, on: now).time
        }
        #expect(times.allSatisfy { $0.map { (now...now + 1000).contains($0) } ?? false })
        #expect(Set(times).count > 40)
        let first = RenewalRecord(certificate, .init(window: window, validity: .seconds(600)), after: nil, on: now)
        let second = RenewalRecord(certificate, .init(window: window, validity: .seconds(600)), after: first, on: now)
        #expect(second.time == first.time)
        let other = try #require(RenewalWindow(start: now + 2000, end: now + 3000))
        let third = RenewalRecord(certificate, .init(window: other, validity: .seconds(600)), after: second, on: now)
        #expect(third.time.map { $0 >= now + 2000 } ?? false)
        let none = RenewalRecord(certificate, .init(window: nil, validity: .seconds(600)), after: third, on: now)
        #expect(none.time == nil)
        let silent = RenewalRecord(certificate, withoutAnswerAfter: third, on: now)
        #expect(silent.time == third.time)
    }

    @Test(arguments: [(0, 60), (59, 60), (600, 600), (86_400, 86_400), (1_000_000, 86_400)])
    func `an answer is valid for a minute to a day`(seconds: Int, validity: Double) throws {
        let time = try RenewalRecord(
            certificate(), .init(window: nil, validity: .seconds(seconds)), after: nil, on: now)
        #expect(!time.isOld(on: now + validity - 1))
        #expect(time.isOld(on: now + validity))
        // The clock was set back.
        #expect(time.isOld(on: now - 86_400))
    }
}
