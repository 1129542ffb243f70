import Foundation
import Keyfob
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// Renewed identities, as programs with access groups see them.
@Suite struct RenewalTests {
    private static let keys: [RenewalKey] = [.same, .new(nil)]

    /// The only visible identity with a name in some groups, which must be able to sign.
    private func identity(_ bench: SecItemFixture, _ groups: [String], _ more: [String: Any] = [:]) throws -> Data? {
        bench.groups = groups
        let found = bench.copying(["class": "idnt", "labl": "web"] + wantsReference + more)
        guard found.status != -25300 else { return nil }
        let identity = try #require(found.value as? SecIdentity)
        let signature = bench.use {
            SecKeyCreateSignature(
                identity.privateKey, .ecdsaSignatureMessageX962SHA256, Data("a".utf8) as CFData, nil)
        }
        #expect(signature != nil)
        return identity.certificate.certificate.der
    }

    private func renew(_ bench: SecItemFixture, _ key: RenewalKey, group: String) throws -> Data {
        let all = try bench.keychain.findItems(Criteria(.identity, [.label: "web", .accessGroup: .string(group)]))
        return try bench.keychain.identities.renew(
            Identity(item: try #require(all.first)), key: key, issuer: SelfIssuer()).identity.der
    }

    @Test(arguments: keys)
    func `a process sees the renewal of an identity that it sees`(_ key: RenewalKey) throws {
        let bench = try SecItemFixture()
        bench.groups = ["web", "ops"]
        let pair = try TestPair("web")
        let tag = Data("com.example.web".utf8)
        bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": "web", "pdmn": "ck", "atag": tag]))
        let der = try renew(bench, key, group: "web")
        #expect(der != pair.certificate.der)
        for groups in [["web"], ["other", "web"], ["*"]] { #expect(try identity(bench, groups) == der, "\(groups)") }
        for groups in [["ops"], [""], ["web.other"]] { #expect(try identity(bench, groups) == nil, "\(groups)") }
        #expect(try identity(bench, ["web"], ["agrp": "web", "pdmn": "ck", "atag": tag]) == der)
        bench.groups = ["web"]
        // The previous version still exists under another name.
        let labels = bench.copying(["class": "idnt"] + wantsAll + wantsAttributes).dictionaries?
            .compactMap { $0["labl"] as? String } ?? []
        #expect(labels.count == 2 && labels.contains("web") && labels.contains { $0.hasPrefix("web@") })
        let tagged = bench.copying(["class": "keys", "atag": tag] + wantsAll + wantsAttributes).dictionaries
        #expect(tagged?.count == (key == .same ? 1 : 2))
    }

    @Test(arguments: keys)
    func `each of several groups sees the renewal`(_ key: RenewalKey) throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("web")
        bench.groups = ["one", "two"]
        for (group, protection) in [("one", "ck"), ("two", "aku")] {
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": "web", "agrp": group, "pdmn": protection]))
        }
        bench.groups = ["two"]
        bench.expect(0, bench.use { SecIdentitySetPreferred(pair.secIdentity, "n", nil) })
        var der = pair.certificate.der
        for _ in 0..<2 {
            let next = try renew(bench, key, group: "one")
            #expect(next != der)
            der = next
            #expect(try identity(bench, ["one"], ["pdmn": "ck"]) == der)
            #expect(try identity(bench, ["two"], ["pdmn": "aku"]) == der)
            #expect(try identity(bench, ["three"]) == nil)
            bench.groups = ["two"]
            let preferred = bench.use { SecIdentityCopyPreferred("n", nil, nil) }
            #expect(preferred?.certificate.certificate.der == der)
            bench.groups = ["one"]
            #expect(bench.use { SecIdentityCopyPreferred("n", nil, nil) } == nil)
        }
    }

    @Test(arguments: keys)
    func `an identity of the same name gets nothing of another one`(_ key: RenewalKey) throws {
        let bench = try SecItemFixture()
        bench.groups = ["one", "two"]
        let theirs = try TestPair("theirs")
        bench.expect(0, bench.add(["v_Ref": try TestPair("ours").secIdentity, "labl": "web", "agrp": "one"]))
        bench.expect(0, bench.add(["v_Ref": theirs.secIdentity, "labl": "web", "agrp": "two"]))
        bench.groups = ["two"]
        bench.expect(0, bench.use { SecIdentitySetPreferred(theirs.secIdentity, "n", nil) })
        let der = try renew(bench, key, group: "one")
        #expect(try identity(bench, ["one"]) == der)
        // The other group keeps its certificate and label.
        #expect(try identity(bench, ["two"]) == theirs.certificate.der)
        let found = bench.copying(["class": "idnt"] + wantsAll + wantsReference).array as? [SecIdentity]
        #expect(found?.map(\.certificate.certificate) == [theirs.certificate])
        #expect(bench.copying(["class": "keys"] + wantsAll + wantsReference).array?.count == 1)
        let preferred = bench.use { SecIdentityCopyPreferred("n", nil, nil) }
        #expect(preferred?.certificate.certificate == theirs.certificate)
    }

    @Test func `a new key has the protection of the previous one`() throws {
        let bench = try SecItemFixture()
        bench.groups = ["web"]
        let made = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, .userPresence, nil)
        let control = try #require(made)
        let pair = try TestPair("web")
        bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": "web", "accc": control]))
        _ = try renew(bench, .new(nil), group: "web")
        let found = bench.copying(["class": "keys", "kcls": 1] + wantsAll + wantsAttributes).dictionaries ?? []
        #expect(found.count == 2 && found.allSatisfy { ($0["accc"] as? SecAccessControl)?.flags == .userPresence })
        #expect(found.allSatisfy { $0["pdmn"] as? String == "aku" })
    }
}
