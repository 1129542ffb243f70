import Foundation
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

extension SecItemFixture {
    fileprivate func prefer(_ identity: SecIdentity?, _ name: String, _ usages: [CFString]? = nil) -> OSStatus {
        use { SecIdentitySetPreferred(identity, NSString(string: name), usages.map { $0 as CFArray }) }
    }

    fileprivate func prefer(_ certificate: SecCertificate?, _ name: String, _ usages: [CFString]? = nil) -> OSStatus {
        use { SecCertificateSetPreferred(certificate, NSString(string: name), usages.map { $0 as CFArray }) }
    }

    /// The common name of the preferred identity, which must be able to sign.
    fileprivate func identity(_ name: String, _ usages: [CFString]? = nil, issuers: [Data]? = nil) throws -> String? {
        try use {
            let found = SecIdentityCopyPreferred(
                NSString(string: name), usages.map { $0 as CFArray }, issuers.map { $0 as CFArray })
            guard let found else { return nil }
            let signature = sign(found.privateKey, .ecdsaSignatureMessageX962SHA256, Data("a".utf8))
            #expect(signature.value != nil && found.certificate.certificate.publicKey == found.privateKey.publicKey)
            let name: String = try #require(found.certificate.certificate.subject.commonName)
            return name
        }
    }

    fileprivate func certificate(_ name: String, _ usages: [CFString]? = nil) -> String? {
        use {
            let found = SecCertificateCopyPreferred(NSString(string: name), usages.map { $0 as CFArray })
            return found?.certificate.subject.commonName
        }
    }

    /// Adds identities and returns them from the keychain.
    fileprivate func identities(_ names: [String], _ attributes: [String: Any] = [:]) throws -> [SecIdentity] {
        try names.map { name in
            let pair = try TestPair(name)
            expect(0, add(["v_Ref": pair.secIdentity, "labl": name] + attributes))
            return pair.secIdentity
        }
    }
}

@Suite struct PreferenceTests {
    private let a = "a.example"
    private let b = "b.example"

    @Test func `a preference lasts until it is replaced or withdrawn`() throws {
        let bench = try SecItemFixture()
        let all = try bench.identities([a, b])
        for name in ["https://x.example/", "post@x.example", "My Label", "two\nlines", "x y %20 \t ü", "*"] {
            #expect(try bench.identity(name) == nil, "\(name)")
            bench.expect(0, bench.prefer(all[0], name))
            #expect(try bench.identity(name) == a, "\(name)")
            // As in another process with the same keychain.
            let again = try Keychain.open(bench.keychain.name, in: bench.throwaway.directories)
            try SecKeychainUse(again) {
                let found = try #require(SecIdentityCopyPreferred(NSString(string: name), nil, nil))
                #expect(found.certificate.isEqual(all[0].certificate))
            }
            bench.expect(0, bench.prefer(all[1], name))
            #expect(try bench.identity(name) == b, "\(name)")
            for _ in 0..<2 { bench.expect(0, bench.prefer(nil as SecIdentity?, name)) }
            #expect(try bench.identity(name) == nil, "\(name)")
        }
        bench.expect(0, bench.prefer(all[0], "Label"))
        bench.expect(0, bench.prefer(all[1], "label"))
        #expect(try bench.identity("Label") == a && bench.identity("label") == b && bench.identity("LABEL") == nil)
    }

    @Test func `a preference may be for some uses of the key`() throws {
        let bench = try SecItemFixture()
        let all = try bench.identities([a, b, "c.example"])
        let sign = [kSecAttrCanSign as CFString]
        let both = sign + [kSecAttrCanDecrypt]
        bench.expect(0, bench.prefer(all[0], "n", sign))
        #expect(try bench.identity("n", sign) == a && bench.identity("n") == a)
        #expect(try bench.identity("n", [kSecAttrCanDecrypt]) == nil && bench.identity("n", both) == nil)
        bench.expect(0, bench.prefer(all[1], "n"))
        #expect(try bench.identity("n", sign) == a && bench.identity("n") == b)
        #expect(try bench.identity("n", [kSecAttrCanDecrypt]) == b && bench.identity("n", both) == b)
        bench.expect(0, bench.prefer(all[2], "n", both.reversed()))
        #expect(try bench.identity("n", sign) == a && bench.identity("n", both) == "c.example")
        #expect(try bench.identity("n", [kSecAttrCanDecrypt]) == "c.example" && bench.identity("n", []) == b)
        // An attribute that is not a key usage is ignored.
        #expect(try bench.identity("n", [kSecAttrLabel]) == b)
        bench.expect(0, bench.prefer(nil as SecIdentity?, "n", sign))
        #expect(try bench.identity("n", sign) == "c.example" && bench.identity("n") == b)
        bench.expect(0, bench.prefer(nil as SecIdentity?, "n"))
        #expect(try bench.identity("n", both) == nil && bench.identity("n") == nil)
    }

    @Test func `the most specific preference for a URL is used`() throws {
        let bench = try SecItemFixture()
        let names = ["path", "host", "wide", "wider", "query"]
        let all = try bench.identities(names)
        for (identity, name) in zip(all, [
            "https://w.x.example/a/", "w.x.example", "*.x.example", "*.example", "https://w.x.example/a/?q=1",
        ]) { bench.expect(0, bench.prefer(identity, name)) }
        for (name, expected) in [
            ("https://w.x.example/a/", "path"), ("https://W.X.example/a/b/c?d", "path"),
            ("https://w.x.example/a/?q=1", "query"),
            ("https://w.x.example:8443/b", "host"), ("http://w.x.example", "host"), ("https://v.w.x.example/", "wide"),
            ("https://u.x.example", "wide"), ("https://x.example/", "wider"), ("https://y.example?q", "wider"),
            ("https://example/", nil), ("https://x.test/", nil), ("v.x.example", nil),
        ] { #expect(try bench.identity(name) == expected, "\(name)") }
    }

    @Test func `an identity that is removed, expired or of another issuer is not returned`() throws {
        let bench = try SecItemFixture()
        let all = try bench.identities([a, b])
        let pair = try TestPair()
        let old = try UnsignedCertificate(
            subject: pair.certificate.subject, publicKey: pair.key.publicKey, extensions: CertificateExtensions(),
            issuer: nil, notBefore: Date(timeIntervalSinceNow: -200), notAfter: Date(timeIntervalSinceNow: -100)
        ).signed { [UInt8](try pair.key.sign($0, using: $1)) }
        let expired = SecIdentity(certificate: SecCertificate(old), privateKey: pair.secKey)
        bench.expect(0, bench.add(["v_Ref": expired]))
        bench.expect(0, bench.prefer(expired, "n"))
        bench.expect(0, bench.prefer(expired.certificate, "n"))
        #expect(try bench.identity("n") == nil && bench.certificate("n") == nil)

        bench.expect(0, bench.prefer(all[0], "n"))
        let issuer = all[0].certificate.certificate.issuer
        let other = all[1].certificate.certificate.issuer
        #expect(try bench.identity("n", issuers: [issuer.der]) == a && bench.identity("n", issuers: []) == a)
        #expect(try bench.identity("n", issuers: [other.der, issuer.normalizedSequence]) == a)
        #expect(try bench.identity("n", issuers: [other.der]) == nil)

        // A certificate without its key is not an identity.
        bench.expect(0, bench.prefer(all[0].certificate, "n"))
        bench.expect(0, bench.delete(["class": "keys", "labl": a]))
        #expect(try bench.identity("n") == nil && bench.certificate("n") == a)
        bench.expect(0, bench.add(["v_Ref": all[0].privateKey]))
        #expect(try bench.identity("n") == a)
        bench.expect(0, bench.delete(["v_Ref": all[0]]))
        #expect(try bench.identity("n") == nil && bench.certificate("n") == nil)
        bench.expect(0, bench.add(["v_Ref": all[0]]))
        #expect(try bench.identity("n") == nil)
    }

    @Test func `certificates have preferences of their own`() throws {
        let bench = try SecItemFixture()
        let all = try bench.identities([a])
        let person = try TestPair("person").secCertificate
        bench.expect(0, bench.add(["v_Ref": person]))
        bench.expect(0, bench.prefer(person, "p@x.example", [kSecAttrCanEncrypt]))
        bench.expect(0, bench.prefer(all[0], "p@x.example"))
        for usages in [nil, [kSecAttrCanEncrypt]] { #expect(bench.certificate("p@x.example", usages) == "person") }
        #expect(bench.certificate("p@x.example", [kSecAttrCanVerify]) == nil)
        #expect(bench.certificate("P@x.example") == nil)
        #expect(try bench.identity("p@x.example") == a)
        bench.expect(0, bench.prefer(person, "https://x.example/"))
        #expect(bench.certificate("https://x.example/") == "person" && bench.certificate("https://x.example/a") == nil)
        bench.expect(0, bench.prefer(nil as SecCertificate?, "p@x.example"))
        #expect(try bench.certificate("p@x.example") == nil && bench.identity("p@x.example") == a)
        bench.expect(0, bench.prefer(nil as SecIdentity?, "https://x.example/"))
        #expect(bench.certificate("https://x.example/") == "person")
    }

    @Test func `preferences are neither items nor attributes`() throws {
        let bench = try SecItemFixture()
        let all = try bench.identities([a])
        func everything() -> [[String: Any]] {
            ["cert", "keys", "idnt", "genp", "inet"].flatMap { itemClass in
                let wanted = ["class": itemClass] + wantsAll + wantsAttributes + wantsData + wantsPersistent
                return bench.copying(wanted).dictionaries ?? []
            }
        }
        let before = everything()
        bench.expect(0, bench.prefer(all[0], "n", [kSecAttrCanSign]))
        bench.expect(0, bench.prefer(all[0], "https://x.example"))
        bench.expect(0, bench.prefer(all[0].certificate, "n"))
        let after = everything()
        #expect(before.count == 3 && NSArray(array: before).isEqual(NSArray(array: after)))
        for name in ["kuse", "kprf", "krnw", "ktru"] {
            bench.expect(-25303, bench.copy(["class": "cert", name: "n"]))
            bench.expect(-25303, bench.update(["class": "cert"], [name: "n"]))
            bench.expect(-25303, bench.add(["class": "cert", name: "n"]))
        }
    }

    @Test func `a preference belongs to an access group and to a certificate in the keychain`() throws {
        let bench = try SecItemFixture()
        bench.groups = ["one", "two"]
        let one = try bench.identities([a], ["agrp": "one"])
        let two = try bench.identities([b], ["agrp": "two"])
        bench.expect(-25304, bench.prefer(try TestPair().secIdentity, "n"))
        bench.expect(-50, bench.prefer(one[0], ""))
        bench.expect(-50, bench.prefer(nil as SecIdentity?, ""))
        bench.expect(0, bench.prefer(one[0], "n"))
        bench.groups = ["two"]
        #expect(try bench.identity("n") == nil)
        bench.expect(-25304, bench.prefer(one[0], "n"))
        bench.expect(0, bench.prefer(nil as SecIdentity?, "n"))
        bench.expect(0, bench.prefer(two[0], "n"))
        #expect(try bench.identity("n") == b)
        bench.groups = ["one"]
        #expect(try bench.identity("n") == a)
        bench.groups = []
        bench.expect(-34018, bench.prefer(one[0], "n"))
        #expect(try bench.identity("n") == nil)
    }

    @Test func `the command's preferences and these are the same`() throws {
        let bench = try SecItemFixture()
        bench.groups = [""]
        let all = try bench.identities([a, b])
        let first = try #require(try bench.keychain.find(.identity(label: a)).first)
        try bench.keychain.identities.prefer(first, for: "https://X.example")
        #expect(try bench.identity("https://x.example/a") == a)
        bench.expect(0, bench.prefer(all[1], "https://x.example"))
        #expect(try bench.keychain.identities.preferred(for: "https://x.example/a")?.label == b)
        #expect(try bench.keychain.find(.identity(label: a)).first?.preferredServices == [])
        bench.expect(0, bench.prefer(all[0], "https://x.example", [kSecAttrCanSign]))
        bench.expect(0, bench.prefer(all[0].certificate, "mail@x.example"))
        // A renewal moves the preferences to the new certificate together with the name.
        let renewed = try bench.keychain.identities.renew(first, issuer: SelfIssuer())
        let found = bench.use { SecIdentityCopyPreferred("https://x.example", [kSecAttrCanSign] as CFArray, nil) }
        #expect(found?.certificate.certificate.der == renewed.identity.der)
        let certificate = bench.use { SecCertificateCopyPreferred("mail@x.example", nil) }
        #expect(certificate?.certificate.der == renewed.identity.der)
    }
}
