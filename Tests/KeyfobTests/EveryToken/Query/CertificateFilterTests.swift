import Foundation
import TestSupport
import Testing

@testable import Keyfob
@testable import KeyfobOpenSSL

extension EveryToken {
    @Suite struct CertificateFilterTests {
        @Test(.needs(.storesCertificates)) func `a certificate is parsed once, from the token to the caller`() throws {
            let test = try TestKeychain()
            for name in ["one", "two"] {
                let source = try TestCertificate(name)
                try test.keychain.add(CertificateItem(Certificate(der: try source.der)))
            }
            // From the token, then from the index.
            for _ in 0..<2 {
                for query in [Query.certificates, .certificates.validOn(Date()), .certificates.ordered(by: .expires)] {
                    let found = try test.keychain.find(query)
                    #expect(found.count == 2)
                    for item in found {
                        let first = try #require(item.item.object?.parsed.certificate)
                        #expect(try item.certificate().fields === first.fields)
                    }
                }
            }
        }

        @Test(.needs(.storesCertificates)) func `an issuer is found above an authority, and not beside it`() throws {
            let directory = try TemporaryDirectory()
            func file(_ name: String) -> String { directory.file(name) }
            func issue(_ name: String, by issuer: String?) throws -> Certificate {
                let signer = issuer.map { ["-CA", file("\($0).pem"), "-CAkey", file("\($0).key")] } ?? []
                try openssl(
                    ["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj", "/CN=\(name)"]
                        + signer + ["-keyout", file("\(name).key"), "-out", file("\(name).pem")])
                return try Certificate(pem: Data(contentsOf: directory.url("\(name).pem")))
            }
            let test = try TestKeychain()
            var certificates: [String: Certificate] = [:]
            for (name, issuer) in [("root", nil), ("middle", "root"), ("leaf", "middle"), ("other", nil)] {
                certificates[name] = try issue(name, by: issuer)
                try test.keychain.add(CertificateItem(try #require(certificates[name])))
            }
            func issued(by name: String) throws -> [String?] {
                let issuer = try #require(certificates[name]).subject
                return try [issuer.der, issuer.normalized].flatMap { try test.keychain.find(.certificates.issuer($0)).map(\.label) }
            }
            #expect(try issued(by: "root") == ["root", "middle", "leaf", "root", "middle", "leaf"])
            #expect(try issued(by: "middle") == ["leaf", "leaf"])
            #expect(try issued(by: "leaf") == [])
            #expect(try issued(by: "other") == ["other", "other"])
        }
    }
}
