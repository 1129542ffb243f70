import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// The labels of all matches as text.
    func labels(_ query: [String: Any]) -> [String?]? {
        copying(query + wantsAll + wantsAttributes).dictionaries?.map { $0["labl"] as? String }
    }

    /// Runs `body` with a logged-in session of the keychain's token, bypassing the keychain.
    func withSession<Result>(_ body: (borrowing Session) throws -> Result) throws -> Result {
        let source = try #require(keychain.configuration.pinSource)
        let pin = try String(contentsOfFile: String(source.dropFirst(5)), encoding: .utf8)
        return try TestToken.withSession(
            PKCS11URI(keychain.configuration.token), pin: SecretBytes(utf8: pin), body)
    }

    /// The `CKA_LABEL`s of the objects of a class, as other tools see them.
    func tokenLabels(_ objectClass: ObjectClass) throws -> [String] {
        try withSession { session in
            var labels: [String] = []
            for handle in try session.findObjects([.objectClass(objectClass)]) {
                labels.append(
                    String(decoding: try session.attributes([.label], of: handle)[.label] ?? [], as: UTF8.self))
            }
            return labels
        }
    }
}

extension Rule {
    /// Several items of one token object, each with its own label; the object has only one.
    static let labels: [Rule] = [
        Rule("2.4 1.6", "certificates of two groups that share an object each have a label") { bench in
            let pair = try TestPair()
            let (one, two): ([String: Any], [String: Any]) = (["agrp": "one"], ["agrp": "two"])
            let all: [String: Any] = ["class": "cert"]
            bench.groups = ["one", "two"]
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "labl": "first"] + one))
            let second = bench.adding(["v_Ref": pair.secCertificate, "labl": "second"] + two + wantsAttributes)
            #expect(second.dictionary?["labl"] as? String == "second")
            #expect(bench.labels(all + one) == ["first"] && bench.labels(all + two) == ["second"])
            #expect(bench.labels(all + ["labl": "second"]) == ["second"] && bench.labels(all + ["labl": "first"]) == ["first"])

            bench.expect(0, bench.update(all + two, ["labl": "zweites"]))
            #expect(bench.labels(all + one) == ["first"] && bench.labels(all + ["labl": "zweites"]) == ["zweites"])
            bench.expect(-25300, bench.copy(all + ["labl": "second"]))
            #expect(try bench.tokenLabels(.certificate) == ["first"])
            bench.expect(0, bench.update(all + one, ["labl": "erstes"]))
            #expect(bench.labels(all + one) == ["erstes"] && bench.labels(all + two) == ["zweites"])

            bench.expect(0, bench.update(all, ["labl": "both"]))
            #expect(bench.labels(all) == ["both", "both"])
            bench.expect(0, bench.update(all + one, ["labl": "alone"]))
            #expect(bench.labels(all + two) == ["both"])

            bench.expect(0, bench.delete(all + one))
            #expect(bench.labels(all + ["labl": "both"]) == ["both"])
            bench.expect(0, bench.update(all + two, ["labl": "last"]))
            // Labels are data of the items. The object keeps the label that it was made with.
            #expect(try bench.tokenLabels(.certificate) == ["first"])
        },
        Rule("2.4 1.6", "items with equal labels that share an object do not change each other") { bench in
            let certificate = try TestPair().secCertificate
            bench.groups = ["one", "two"]
            for group in ["one", "two"] { bench.expect(0, bench.add(["v_Ref": certificate, "agrp": group, "labl": "same"])) }
            bench.expect(0, bench.update(["class": "cert", "agrp": "one"], ["labl": "other"]))
            #expect(bench.labels(["class": "cert", "labl": "same"]) == ["same"])
            bench.expect(0, bench.update(["class": "cert", "agrp": "two"], ["labl": "more"]))
            #expect(bench.labels(["class": "cert", "labl": "other"]) == ["other"])
        },
        Rule("2.4 1.7", "keys that share an object each have a label, and so have their identities") { bench in
            let pair = try TestPair()
            bench.groups = ["one", "two"]
            for (group, label) in [("one", "first"), ("two", "second")] {
                bench.expect(0, bench.add(["v_Ref": pair.secKey, "agrp": group, "labl": label, "atag": Data(group.utf8)]))
                bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "agrp": group, "labl": "c-" + label]))
            }
            #expect(bench.labels(["class": "keys", "kcls": "1"]) == ["first", "second"])
            #expect(bench.labels(["class": "keys", "labl": "second"]) == ["second"])
            #expect(bench.labels(["class": "idnt", "agrp": "two", "labl": "c-second"])?.first == "c-second")
            bench.expect(0, bench.update(["class": "keys", "atag": Data("two".utf8)], ["labl": "new"]))
            #expect(bench.labels(["class": "keys", "kcls": "1"]) == ["first", "new"])
        },
        Rule("1.10", "a label is returned as the kind of value that was given") { bench in
            let pair = try TestPair()
            for (query, value) in [
                (["class": "cert"], pair.secCertificate), (["class": "keys", "kcls": "1"], pair.secKey),
            ] as [([String: Any], CFTypeRef)] {
                let label = Data("bytes".utf8)
                bench.expect(0, bench.add(["v_Ref": value, "labl": label]))
                #expect(bench.copying(query + wantsAttributes).dictionary?["labl"] as? Data == label)
                bench.expect(0, bench.copy(query + ["labl": "bytes"]))
                bench.expect(0, bench.update(query, ["labl": Data("other".utf8)]))
                #expect(bench.copying(query + wantsAttributes).dictionary?["labl"] as? Data == Data("other".utf8))
                bench.expect(0, bench.update(query, ["labl": "text"]))
                #expect(bench.copying(query + wantsAttributes).dictionary?["labl"] as? String == "text")
            }
        },
    ]
}
