import Foundation
import KeyfobOpenSSL
import KeyfobTesting
import Keyfob
import Testing

@testable import KeychainServices

extension Vector {
    /// Update.
    static let groupD: [Vector] = [
        Vector(59, "a new account and service") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.update(genp("a", "s"), ["acct": "a2", "svce": "s2"]))
            bench.expect(-25300, bench.update(genp("a", "s"), ["acct": "a2", "svce": "s2"]))
        },
        Vector(61, "a change to the key of an existing item") { bench in
            bench.expect(0, bench.add(webPassword + ["v_Data": Data("1".utf8)]))
            bench.expect(0, bench.update(webPassword, ["srvr": "new"]))
            bench.expect(0, bench.add(webPassword + ["v_Data": Data("2".utf8)]))
            bench.expect(-25299, bench.update(webPassword, ["srvr": "new"]))
            #expect(bench.copying(webPassword + wantsData).data == Data("2".utf8))
            #expect(bench.copying(webPassword + ["srvr": "new"] + wantsData).data == Data("1".utf8))
        },
        Vector(62, "removed by the new server alone") { bench in
            bench.expect(0, bench.add(webPassword))
            bench.expect(0, bench.update(webPassword, ["srvr": "new"]))
            bench.expect(0, bench.delete(["class": "inet", "srvr": "new"]))
        },
        Vector(63, "new data") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("1".utf8)])))
            bench.expect(0, bench.update(genp("a", "s"), ["v_Data": Data("2".utf8)]))
            #expect(bench.copying(genp("a", "s") + wantsData).data == Data("2".utf8))
        },
        Vector(65, "new data that is a string") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-50, bench.update(genp("a", "s"), ["v_Data": "text"]))
        },
        Vector(66, "an update returns nothing") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            for key in ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"] {
                bench.expect(-50, bench.update(genp("a", "s", [key: true]), ["labl": "x"]), key)
                bench.expect(0, bench.update(genp("a", "s", [key: false]), ["labl": "x"]), key)
            }
        },
        Vector(67, "a synchronizable item is found by its new comment") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["sync": true])))
            bench.expect(0, bench.update(genp("a", "s", ["sync": true]), ["icmt": "new"]))
            let query: [String: Any] = ["class": "genp", "icmt": "new", "sync": true]
            bench.expect(0, bench.copy(query))
            bench.expect(0, bench.delete(query))
        },
        Vector(69, "an identity moves to another group") { bench in
            bench.groups = ["1", "2"]
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": "l", "agrp": "1"]))
            bench.expect(0, bench.update(["class": "idnt", "agrp": "1", "labl": "l"], ["agrp": "2"]))
            bench.expect(-25300, bench.copy(["class": "idnt", "agrp": "1", "labl": "l"]))
            bench.expect(0, bench.copy(["class": "idnt", "agrp": "2", "labl": "l"]))
        },
        Vector(70, "a persistent reference does not change") { bench in
            let reference = bench.adding(genp("a", "s", ["v_Data": Data("1".utf8)]) + wantsPersistent).data
            #expect(reference?.count == 20)
            for service in ["s1", "s2"] {
                let changes: [String: Any] = ["svce": service, "v_Data": Data(service.utf8)]
                bench.expect(0, bench.update(["class": "genp", "acct": "a"], changes))
                #expect(bench.copying(genp("a", service) + wantsPersistent).data == reference)
            }
        },
        Vector(73, "a credential is not a change") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-25303, bench.update(genp("a", "s"), ["u_CredRef": Data("x".utf8)]))
        },
        Vector(74, "an access control changes back to no constraint") { bench in
            let constrained = SecAccessControl(protection: "ak", flags: .userPresence)
            let free = SecAccessControl(protection: "aku", flags: [])
            bench.expect(0, bench.add(genp("a", "s", ["accc": constrained, "v_Data": Data("x".utf8)])))
            #expect(bench.copying(genp("a", "s") + wantsAttributes).dictionary?["accc"] as? SecAccessControl == constrained)
            bench.expect(0, bench.update(genp("a", "s"), ["accc": free]))
            let found = bench.copying(genp("a", "s", ["u_AuthUI": "u_AuthUIF"]) + wantsAttributes + wantsData)
            #expect(found.status == 0 && found.dictionary?["v_Data"] as? Data == Data("x".utf8))
            #expect(found.dictionary?["accc"] as? SecAccessControl == free)
            #expect(found.dictionary?["pdmn"] as? String == "aku")
        },
        Vector(75, "a key by reference gets a new label") { bench in
            let key = try TestPair().secKey
            bench.expect(0, bench.add(["v_Ref": key, "labl": "old"]))
            bench.expect(0, bench.update(["class": "keys", "v_Ref": key], ["labl": "new"]))
            bench.expect(-25300, bench.copy(["class": "keys", "labl": "old"]))
            #expect(bench.copying(["class": "keys", "labl": "new"] + wantsAll + wantsReference).array?.count == 1)
        },
    ]

    /// Delete.
    static let groupE: [Vector] = [
        Vector(77, "a class alone removes items that are not synchronizable") { bench in
            for itemClass in ["genp", "inet"] {
                for account in ["a", "b"] { bench.expect(0, bench.add(["class": itemClass, "acct": account])) }
                bench.expect(0, bench.add(["class": itemClass, "acct": "c", "sync": true]))
            }
            bench.expect(0, bench.delete(["class": "genp"]))
            bench.expect(-25300, bench.copy(["class": "genp"]))
            #expect(bench.copying(["class": "genp", "sync": "syna"] + wantsAll + wantsAttributes).array?.count == 1)
            #expect(bench.copying(["class": "inet"] + wantsAll + wantsAttributes).array?.count == 2)
        },
        Vector(79, "nothing to remove") { bench in
            bench.expect(-25300, bench.delete(genp("a", "s")))
        },
    ]

    /// Persistent references.
    static let groupF: [Vector] = [
        Vector(81, "nothing is left of a removed item") { bench in
            let reference = try #require(bench.adding(webPassword + wantsPersistent).data)
            bench.expect(0, bench.delete(webPassword))
            for query in [webPassword, ["v_PersistentRef": reference]] {
                let answer = bench.copying(query + wantsAttributes)
                #expect(answer.status == -25300 && !answer.isTouched)
            }
        },
        Vector(82, "an update by reference leaves a similar item unchanged") { bench in
            let first = try #require(bench.adding(webPassword + ["srvr": "1"] + wantsPersistent).data)
            let second = try #require(bench.adding(webPassword + ["srvr": "2"] + wantsPersistent).data)
            bench.expect(0, bench.update(["v_PersistentRef": first], ["srvr": "new"]))
            for (reference, server) in [(first, "new"), (second, "2")] {
                let found = bench.copying(["v_PersistentRef": reference] + wantsAttributes)
                #expect(found.dictionary?["srvr"] as? String == server)
            }
        },
        Vector(83, "removed by reference, one by one") { bench in
            let first = try #require(bench.adding(webPassword + ["srvr": "1"] + wantsPersistent).data)
            let second = try #require(bench.adding(webPassword + ["srvr": "2"] + wantsPersistent).data)
            bench.expect(0, bench.delete(["v_PersistentRef": first]))
            bench.expect(-25300, bench.copy(["v_PersistentRef": first]))
            bench.expect(0, bench.copy(["v_PersistentRef": second]))
            bench.expect(0, bench.delete(["v_PersistentRef": second]))
        },
        Vector(85, "a reference finds its item and is found with it") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            let found = bench.copying(genp("a", "s") + wantsAttributes + wantsPersistent).dictionary
            let reference = try #require(found?["v_PersistentRef"] as? Data)
            #expect(reference.prefix(4) == Data("genp".utf8))
            let again = bench.copying(
                ["v_PersistentRef": reference, "m_Limit": "m_LimitOne"] + wantsAttributes + wantsPersistent)
            #expect(again.dictionary?["v_PersistentRef"] as? Data == reference)
        },
    ]
}
