import Foundation
import Keyfob
import KeyfobOpenSSL
import PKCS11
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// Adds items in the groups `one` and `two`, labelled `first` and `second`; the label of their object is `first`.
    fileprivate func addTwice(_ value: CFTypeRef) {
        groups = ["one", "two"]
        for (group, label) in [("one", "first"), ("two", "second")] {
            expect(0, add(["v_Ref": value, "agrp": group, "labl": label]))
        }
    }

    /// Changes the label of an object, as another program does.
    fileprivate func relabel(_ objectClass: ObjectClass, _ label: String) throws {
        try withSession { session in
            let found = try session.findObjects([.objectClass(objectClass)]).first
            try session.setAttributes([.label(label)], of: #require(found))
        }
    }
}

extension SecItemFixture {
    /// The certificate's item in an access group.
    fileprivate func certificate(in group: String) throws -> Item {
        let found = try keychain.findItems(Criteria(.certificate, [.accessGroup: .string(group)])).first
        return try #require(found)
    }

    /// Writes a certificate to the token, as another program does.
    fileprivate func write(_ certificate: Certificate, _ label: String) throws {
        try withSession { session in
            _ = try session.create([
                .objectClass(.certificate), .certificateType(.x509), .token(true), .isPrivate(false), .label(label),
                .bytes(.subject, [UInt8](certificate.subject.der)), .bytes(.value, [UInt8](certificate.der)),
                .id([UInt8](certificate.publicKey.identifier)),
            ])
        }
    }
}

extension Rule {
    private static var all: [String: Any] { ["class": "cert"] }
    private static var one: [String: Any] { ["class": "cert", "agrp": "one"] }
    private static var two: [String: Any] { ["class": "cert", "agrp": "two"] }

    /// The labels of items that share an object, when the items change.
    static let sharedLabels: [Rule] = [
        Rule("1.10", "a numeric label is returned as a number, and its digits label the new object") { bench in
            let pair = try TestPair()
            func label(_ query: [String: Any]) -> NSObject? {
                bench.copying(query + wantsAttributes).dictionary?["labl"] as? NSObject
            }
            for (query, value, objectClass) in [
                (all, pair.secCertificate, .certificate), (["class": "keys", "kcls": "1"], pair.secKey, .privateKey),
            ] as [([String: Any], CFTypeRef, ObjectClass)] {
                let added = bench.adding(["v_Ref": value, "labl": 5] + wantsAttributes)
                #expect(added.status == 0 && added.dictionary?["labl"] as? NSObject == NSNumber(value: 5))
                #expect(label(query + ["labl": 5]) == NSNumber(value: 5))
                #expect(try bench.tokenLabels(objectClass) == ["5"])
                // As with passwords, a numeric label matches neither text nor another number.
                for label in ["5", Data("5".utf8), 6] as [Any] {
                    bench.expect(-25300, bench.copy(query + ["labl": label]))
                }
                bench.expect(0, bench.update(query + ["labl": 5], ["labl": -6]))
                #expect(label(query) == NSNumber(value: -6))
                bench.expect(0, bench.update(query, ["labl": "7"]))
                #expect(label(query) == "7" as NSString)
                bench.expect(-25300, bench.copy(query + ["labl": 7]))
                bench.expect(0, bench.update(query, ["labl": 7]))
                bench.expect(0, bench.copy(query + ["labl": 7]))
            }
            #expect(label(["class": "idnt"]) == NSNumber(value: 7) && label(["class": "idnt", "labl": 7]) != nil)
            // The command only knows labels as text.
            #expect(try bench.keychain.find(.identity(label: "7")).map(\.label) == ["7"])
            bench.expect(0, bench.delete(["class": "idnt", "labl": 7]))
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": 8]))
            #expect(label(["class": "cert"]) == NSNumber(value: 8))
            let keys = bench.copying(["class": "keys"] + wantsAll + wantsAttributes).dictionaries
            #expect(keys?.map { $0["labl"] as? NSObject } == [NSNumber(value: 8)])
            // Beside other items of the same object, whatever label another program gives the object.
            bench.groups = ["", "two"]
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "agrp": "two", "labl": 9]))
            #expect(label(two) == NSNumber(value: 9))
            bench.expect(0, bench.copy(two + ["labl": 9]))
            #expect(try bench.keychain.find(.certificate(label: "9")).count == 1)
            try bench.relabel(.certificate, "theirs")
            #expect(label(all + ["agrp": ""]) == NSNumber(value: 8) && label(two) == NSNumber(value: 9))
        },
        Rule("2.7", "a key stays as long as its certificate is another item too") { bench in
            let pair = try TestPair()
            bench.addTwice(pair.secCertificate)
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "key"]))
            for (label, left) in [("first", 1), ("second", 0)] {
                let query: [String: Any] = ["class": "idnt", "labl": label]
                let reference = try #require(bench.copying(query + wantsPersistent).data)
                bench.expect(0, bench.delete(["v_PersistentRef": reference]))
                bench.expect(-25300, bench.copy(query))
                let keys = bench.copying(["class": "keys"] + wantsAll + wantsAttributes).dictionaries ?? []
                #expect(keys.count == left, "\(label)")
            }
            #expect(try bench.tokenLabels(.certificate).isEmpty && bench.tokenLabels(.privateKey).isEmpty)
        },
        Rule("2.9", "a reference to an object names the item made of it, and no other") { bench in
            let pair = try TestPair()
            bench.addTwice(pair.secCertificate)
            // Like an object of another program, it has no row.
            bench.expect(0, bench.delete(one))
            bench.expect(0, bench.delete(two))
            try bench.write(pair.certificate, "theirs")
            bench.groups = ["", "two"]
            let reference = try #require(bench.copying(all + wantsPersistent).data)
            bench.expect(0, bench.update(["v_PersistentRef": reference], ["alis": "a"]))
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "agrp": "two", "labl": "ours"]))
            let found = bench.copying(["v_PersistentRef": reference] + wantsAll + wantsAttributes).dictionaries
            #expect(found?.map { $0["labl"] as? String } == ["theirs"])
            bench.expect(0, bench.delete(["v_PersistentRef": reference]))
            #expect(bench.labels(all) == ["ours"])
        },
        Rule("4.5", "attributes of a name stay with the name, on any item of a certificate") { bench in
            let pair = try TestPair()
            bench.groups = ["", "one", "two", "three"]
            for (group, label) in [("one", "first"), ("two", "web"), ("three", "web")] {
                bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "agrp": group, "labl": label]))
            }
            bench.expect(0, bench.add(["v_Ref": pair.secKey]))
            let keychain = bench.keychain
            func policy(_ days: Double) -> RenewalPolicy { RenewalPolicy(issuer: .itself, lifetime: days * 86_400) }
            for (group, days) in [("one", 1.0), ("three", 3), ("two", 2)] {
                let data = try JSONEncoder().encode(policy(days))
                try keychain.update(Criteria(try #require(bench.certificate(in: group).reference)), [
                    .renewalPolicy: .data(data), .preferredServices: .string(group), .comment: .string(group),
                ])
            }
            let next = try pair.anotherCertificate("next")
            try keychain.identities.install("web", certificate: next)
            let renewed = try keychain.find(.identity(label: "web"))
            #expect(renewed.count == 2 && renewed.allSatisfy { $0.der == next.der && $0.renewalPolicy == policy(2) })
            // The attributes of an item move to the new item in the same group.
            for group in ["two", "three"] {
                let moved = try keychain.findItems(
                    Criteria(.certificate, [.accessGroup: .string(group), .label: "web"]))
                #expect(moved.map { CertificateItem(item: $0).der } == [next.der], "\(group)")
                #expect(moved.map { $0.attributes[.preferredServices] } == [.string(group)], "\(group)")
                #expect(moved.map { $0.attributes[.comment] } == [.string(group)], "\(group)")
            }
            let first = try bench.certificate(in: "one").attributes
            #expect(first[.label] == "first" && first[.preferredServices] == "one" && first[.renewalPolicy] != nil)
            for group in ["two", "three"] {
                let attributes = try #require(try keychain.findItems(
                    Criteria(.certificate, [.accessGroup: .string(group)])).first { $0.attributes[.label] != "web" }).attributes
                #expect(attributes[.renewalPolicy] == nil && attributes[.preferredServices] == nil, "\(group)")
            }
        },
        Rule("2.6", "a change of an item that is removed in the meantime is not made to another of its object") { bench in
            bench.addTwice(try TestPair().secCertificate)
            var criteria = Criteria(.certificate, [.accessGroup: "two"])
            var rules = ServicesRules(defaults: [:])
            rules.check = { _ in bench.expect(0, bench.delete(two)) }
            criteria.services = rules
            let error = #expect(throws: KeychainError.self) {
                try bench.keychain.update(criteria, [.label: "new", .alias: "new"])
            }
            #expect(error?.code == .itemNotFound)
            let left = bench.copying(all + wantsAll + wantsAttributes).dictionaries
            #expect(left?.map { $0["labl"] as? String } == ["first"] && left?.first?["alis"] == nil)
            #expect(try bench.tokenLabels(.certificate) == ["first"])
        },
        Rule("2.6 2.7", "an item with a damaged row does not block others") { bench in
            bench.addTwice(try TestPair().secCertificate)
            try bench.damage(try #require(bench.copying(one + wantsPersistent).data))
            bench.expect(0, bench.update(two, ["labl": "new"]))
            #expect(bench.labels(two) == ["new"])
            bench.expect(0, bench.update(two, ["alis": "alias"]))
            bench.expect(0, bench.delete(two))
        },
        Rule("2.7", "a key is found for a certificate by the name of its item") { bench in
            let pair = try TestPair()
            bench.groups = ["one", "two"]
            for (group, label) in [("one", "first"), ("two", "second")] {
                bench.expect(0, bench.add(["v_Ref": pair.secKey, "agrp": group, "labl": label]))
            }
            try bench.keychain.identities.install("second", certificate: pair.certificate)
            #expect(try bench.keychain.find(.identity(label: "second")).first?.der == pair.certificate.der)
        },
        Rule("2.6", "the same data again and another label give the item that label") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "labl": "old"]))
            bench.expect(0, bench.update(all, ["v_Data": pair.certificate.der, "labl": "new"]))
            #expect(bench.labels(all) == ["new"])
            bench.expect(0, bench.copy(all + ["labl": "new"]))
            let key: [String: Any] = ["class": "keys", "kcls": "1", "type": "73"]
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "old"]))
            let data = try pair.secKey.externalRepresentation()
            bench.expect(0, bench.update(key, ["v_Data": data, "labl": "new"]))
            #expect(bench.labels(key) == ["new"])
        },
        Rule("2.6", "items that get the same new data keep their labels") { bench in
            let (pair, other, third) = (try TestPair(), try TestPair("other"), try TestPair("third"))
            bench.addTwice(pair.secCertificate)
            bench.expect(0, bench.update(all, ["v_Data": other.certificate.der]))
            #expect(bench.labels(all) == ["first", "second"])
            #expect(bench.labels(all + ["labl": "second"]) == ["second"])
            #expect(try bench.tokenLabels(.certificate) == ["first"])
            bench.expect(0, bench.update(two, ["v_Data": third.certificate.der]))
            #expect(bench.labels(one) == ["first"] && bench.labels(two) == ["second"])
            #expect(try bench.tokenLabels(.certificate).sorted() == ["first", "second"])
            bench.expect(0, bench.update(two, ["v_Data": other.certificate.der]))
            #expect(bench.labels(one) == ["first"] && bench.labels(two) == ["second"])
            bench.expect(0, bench.update(two, ["v_Data": other.certificate.der, "labl": "new"]))
            #expect(bench.labels(one) == ["first"] && bench.labels(two) == ["new"])
            bench.expect(0, bench.update(all, ["v_Data": pair.certificate.der, "labl": "both"]))
            #expect(bench.labels(all) == ["both", "both"])
        },
        Rule("2.7", "the items that are left keep their labels when another item of their object is removed") { bench in
            let pair = try TestPair()
            bench.addTwice(pair.secCertificate)
            for (group, label) in [("one", "k-first"), ("two", "k-second")] {
                bench.expect(0, bench.add(["v_Ref": pair.secKey, "agrp": group, "labl": label]))
            }
            bench.expect(0, bench.delete(one))
            #expect(bench.labels(all) == ["second"])
            bench.expect(0, bench.delete(["class": "keys", "agrp": "one"]))
            #expect(bench.labels(["class": "keys"]) == ["k-second"])
            // Another program finds the object by the label that it was made with.
            let key = try bench.keychain.find(.keys)
            #expect(try key.map { try bench.keychain.objects.uri(of: $0).object }.contains("k-first"))
        },
        Rule("1.10", "empty labels and bytes that are not text, beside each other") { bench in
            let certificate = try TestPair().secCertificate
            bench.groups = ["one", "two"]
            for (first, second) in [
                ("" as NSString, "x" as NSString), ("x" as NSString, "" as NSString), ("" as NSString, "" as NSString),
                (Data([0xFF]) as NSData, "x" as NSString), ("x" as NSString, Data([0xFF]) as NSData),
                (Data("x".utf8) as NSData, "x" as NSString), ("x" as NSString, Data("x".utf8) as NSData),
            ] as [(NSObject, NSObject)] {
                bench.expect(0, bench.add(["v_Ref": certificate, "agrp": "one", "labl": first]))
                bench.expect(0, bench.add(["v_Ref": certificate, "agrp": "two", "labl": second]))
                for (query, label) in [(one, first), (two, second)] {
                    let found = bench.copying(query + wantsAttributes).dictionary?["labl"] as? NSObject
                    #expect(found == label, "\(first) \(second)")
                    bench.expect(0, bench.copy(query + ["labl": label]), "\(first) \(second)")
                }
                bench.expect(0, bench.update(two, ["labl": first]))
                bench.expect(0, bench.update(one, ["labl": second]))
                for (query, label) in [(one, second), (two, first)] {
                    let found = bench.copying(query + wantsAttributes).dictionary?["labl"] as? NSObject
                    #expect(found == label, "\(first) \(second)")
                    bench.expect(0, bench.copy(query + ["labl": label]), "\(first) \(second)")
                }
                bench.expect(0, bench.delete(all))
            }
        },
        Rule("2.6", "a label that another program gives an object changes none of its items") { bench in
            bench.addTwice(try TestPair().secCertificate)
            try bench.relabel(.certificate, "theirs")
            #expect(bench.labels(one) == ["first"] && bench.labels(two) == ["second"])
            bench.expect(-25300, bench.copy(one + ["labl": "theirs"]))
            bench.expect(0, bench.copy(all + ["labl": "first"]))
            bench.expect(0, bench.update(two, ["labl": "theirs"]))
            bench.expect(0, bench.update(one, ["labl": "ours"]))
            #expect(bench.labels(one) == ["ours"] && bench.labels(two) == ["theirs"])
        },
        Rule("1.6", "removing a label leaves those of the others") { bench in
            bench.addTwice(try TestPair("subject").secCertificate)
            let items = try bench.keychain.find(.certificates)
            var second = try #require(items.first { $0.label == "second" })
            second.label = nil
            try bench.keychain.write(second)
            #expect(bench.labels(one) == ["first"] && bench.labels(two) == [nil])
            var first = try #require(items.first { $0.label == "first" })
            first.label = nil
            try bench.keychain.write(first)
            #expect(bench.labels(one) != ["first"])
            bench.expect(-25300, bench.copy(all + ["labl": "first"]))
            bench.expect(0, bench.update(all, ["labl": "both"]))
            #expect(bench.labels(all) == ["both", "both"])
        },
        Rule("4.5", "an installed identity has the name, with any earlier labels of its items") { bench in
            let pair = try TestPair()
            bench.addTwice(pair.secCertificate)
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "web"]))
            bench.expect(0, bench.delete(one))
            try bench.keychain.identities.install("web", certificate: pair.certificate)
            #expect(try bench.keychain.find(.identity(label: "web")).count == 1)
            #expect(bench.labels(two) == ["web"])
            // After another version is installed, only its items have the name.
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "agrp": "one", "labl": "web"]))
            let other = try pair.anotherCertificate("other")
            try bench.keychain.identities.install("web", certificate: other)
            #expect(try bench.keychain.find(.identity(label: "web")).map(\.der) == [other.der, other.der])
        },
        Rule("2.4 4.5", "a name that only a removed item had is free") { bench in
            let pair = try TestPair()
            bench.addTwice(pair.secCertificate)
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "key"]))
            bench.expect(0, bench.delete(one))
            #expect(try bench.keychain.find(.identity(label: "first")).isEmpty)
            let other = try TestPair("other")
            _ = try bench.keychain.identities.importKeyPair(key: other.key, certificate: other.certificate, label: "first")
            #expect(try bench.keychain.find(.identity(label: "first")).count == 1)
            #expect(throws: KeychainError.self) {
                let third = try TestPair("third")
                _ = try bench.keychain.identities.importKeyPair(key: third.key, certificate: third.certificate, label: "second")
            }
        },
    ]
}
