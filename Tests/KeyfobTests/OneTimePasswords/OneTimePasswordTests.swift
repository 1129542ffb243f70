import Foundation
import Testing

@testable import Keyfob

@Suite struct OneTimePasswordTests {
    /// The seeds of RFC 6238, appendix B: the digits 1 to 0 again and again, as many as the hash has bytes.
    private static let seeds: [OneTimePassword.Algorithm: String] = [
        .sha1: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        .sha256: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====",
        .sha512: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
            + "GEZDGNBVGY3TQOJQGEZDGNA=",
    ]

    private static func parsed(_ text: String) throws -> OneTimePassword {
        try OneTimePassword(parsing: SecretBytes(utf8: text))
    }

    @Test(arguments: [
        (59, "94287082", "46119246", "90693936"), (1_111_111_109, "07081804", "68084774", "25091201"),
        (1_111_111_111, "14050471", "67062674", "99943326"), (1_234_567_890, "89005924", "91819424", "93441116"),
        (2_000_000_000, "69279037", "90698825", "38618901"), (20_000_000_000, "65353130", "77737706", "47863826"),
    ])
    func `the codes are those of RFC 6238, appendix B`(
        time: Int, sha1: String, sha256: String, sha512: String
    ) throws {
        let expected: [OneTimePassword.Algorithm: String] = [.sha1: sha1, .sha256: sha256, .sha512: sha512]
        for (algorithm, seed) in Self.seeds {
            let uri = "otpauth://totp/x?secret=\(seed)&algorithm=\(algorithm.rawValue)&digits=8"
            let code = try Self.parsed(uri).code(at: Date(timeIntervalSince1970: TimeInterval(time)))
            #expect(code.text == expected[algorithm], "\(algorithm)")
            #expect(code.validUntil == Date(timeIntervalSince1970: TimeInterval((time / 30 + 1) * 30)))
        }
    }

    @Test func `the codes of counters are those of RFC 4226, appendix D`() throws {
        let generator = try Self.parsed(#require(Self.seeds[.sha1]))
        let codes = try (0..<10).map { try generator.code(counter: $0) }
        #expect(
            codes == [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
            ])
    }

    @Test(arguments: [
        "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", " gezd gnbv gy3t qojq gezd gnbv gy3t qojq\n", "GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV-GY3T-QOJQ",
        "otpauth://totp/x?secret=gezdgnbvgy3tqojqgezdgnbvgy3tqojq", "OTPAUTH://TOTP/x?SECRET=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        "otpauth://totp?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "otpauth://totp/?secret=GEZD%20GNBVGY3TQOJQGEZDGNBVGY3TQOJQ%3D",
        "otpauth://totp/x?image=https://example.org/a.png&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=sha1&digits=6&period=30#f",
    ])
    func `a seed may be written in several ways`(text: String) throws {
        let generator = try Self.parsed(text)
        #expect(generator.encodedSeed == SecretBytes(utf8: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"))
        #expect(try generator.code(at: Date(timeIntervalSince1970: 59)).text == "287082")
    }

    @Test(arguments: [
        ("otpauth://totp/ACME%20Co:john@example.org?secret=MZXW6YTB&issuer=ACME%20Co", "ACME Co", "john@example.org"),
        ("otpauth://totp/ACME%3A%20john?secret=MZXW6YTB", "ACME", "john"), ("otpauth://totp/john?secret=MZXW6YTB", nil, "john"),
        ("otpauth://totp/a:b:c?secret=MZXW6YTB", "a", "b:c"),
        ("otpauth://totp/acct?secret=MZXW6YTB&issuer=a:b", "a:b", "acct"), ("otpauth://totp/a%3Ab:x?secret=MZXW6YTB&issuer=a%3Ab", "a:b", "x"),
        ("otpauth://totp/?secret=MZXW6YTB&issuer=A%26B", "A&B", nil),
        ("otpauth://totp/caf%C3%A9:%25?secret=MZXW6YTB&digits=7&period=60&algorithm=SHA512", "café", "%"), ("MZXW6YTB", nil, nil),
    ] as [(String, String?, String?)])
    func `issuer and account are read, and a URI of the same generator is written`(
        text: String, issuer: String?, account: String?
    ) throws {
        let generator = try Self.parsed(text)
        #expect(generator.issuer == issuer)
        #expect(generator.account == account)
        let again = try OneTimePassword(parsing: generator.uri)
        #expect(again.uri == generator.uri)
        #expect(again.issuer == issuer)
        #expect(again.account == account)
        #expect(again.digits == generator.digits)
        #expect(again.period == generator.period)
        #expect(again.algorithm == generator.algorithm)
    }

    @Test(arguments: [
        "", "\n", "CANARY1", "CANARYAAB", "not base32", "https://example.org/CANARY", "otpauth://", "otpauth://totp",
        "otpauth://totp/CANARY", "otpauth://totp/x?secret=", "otpauth://totp/x?secret", "otpauth://totp/x?secret=CANARY1",
        "otpauth://totp/x?secret=CANARYAA&secret=CANARYAA", "otpauth://totp/x?secret=%4", "otpauth://totp/x?secret=%ZZ",
        "otpauth://totp/x?secret=CANARYAA&digits=5", "otpauth://totp/x?secret=CANARYAA&digits=9",
        "otpauth://totp/x?secret=CANARYAA&digits=+6", "otpauth://totp/x?secret=CANARYAA&period=0",
        "otpauth://totp/x?secret=CANARYAA&period=99999999999999999999", "otpauth://totp/x?secret=CANARYAA&algorithm=MD5",
        "otpauth://totp/x?secret=CANARYAA&encoder=steam", "otpauth://totp/%FF?secret=CANARYAA", "otpauth://totp/%0A?secret=CANARYAA",
        "otpauth://totp/x?secret=CANARYAA&issuer=%00", "otpauth://yaotp/x?secret=CANARYAA", "otpauth-migration://offline?data=CANARYAA",
        "otpauth://hotp/x?secret=CANARYAA&counter=1", String(repeating: "CANARYAA", count: 2000),
    ])
    func `anything else is refused, with an error that never repeats it`(text: String) throws {
        let error = try #require(#expect(throws: KeychainError.self) { try Self.parsed(text) })
        #expect(error.code == .unsupportedFormat)
        #expect(error.hint != nil)
        #expect(!"\(error.message) \(error.hint ?? "") \(error.details)".contains("CANARY"), "\(error.message)")
    }

    @Test func `the error for a counter-based password names it`() throws {
        let error = try #require(
            #expect(throws: KeychainError.self) { try Self.parsed("otpauth://hotp/x?secret=MZXW6YTB&counter=1") })
        #expect(error.message.contains("hotp"))
    }
}
