import Foundation
import GRDB
import Keyfob
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// Overwrites the secret in the row of a reference.
    fileprivate func damageSecret(_ reference: Data) throws {
        let identity = Data(reference.dropFirst(4).prefix(16))
        try sql("UPDATE item SET secret_ciphertext = X'12345678' WHERE identity = ?", [identity])
    }

    /// Adds passwords of service `s` in order, each with data and constraints, and damages the first.
    fileprivate func passwords(_ flags: [SecAccessControlCreateFlags]) throws {
        for (index, flags) in flags.enumerated() {
            let control = SecAccessControl(protection: "ak", flags: flags)
            let item = genp("\(index)", "s", ["accc": control, "v_Data": Data("\(index)".utf8)])
            let added = adding(item + wantsPersistent)
            if index == 0 { try damageSecret(#require(added.data)) }
        }
    }
}

extension Rule {
    /// Which user confirmation is required if the first match turns out to be damaged.
    static let secondLooks: [Rule] = [
        Rule("2.5 4.6", "the next item after a damaged one is not returned without confirmation") { bench in
            try bench.passwords([[], .userPresence])
            let all: [String: Any] = ["class": "genp", "svce": "s"]
            for shape in [wantsData, wantsData + wantsAttributes] {
                let answer = bench.copying(all + shape)
                #expect(answer.status == -25308 && !answer.isTouched)
            }
            bench.expect(-25308, bench.copying(all + wantsData + wantsAll).status)
            bench.expect(-25300, bench.copying(all + wantsData + ["u_AuthUI": "u_AuthUIS"]).status)
        },
        Rule("2.5", "after a damaged item the first intact one is found, before any others") { bench in
            try bench.passwords([[], [], .userPresence])
            let all: [String: Any] = ["class": "genp", "svce": "s"]
            for mode in ["u_AuthUIA", "u_AuthUIF", "u_AuthUIS"] {
                #expect(bench.copying(all + wantsData + ["u_AuthUI": mode]).data == Data("1".utf8), "\(mode)")
                let shape = wantsData + wantsAttributes + ["u_AuthUI": mode]
                #expect(bench.copying(all + shape).dictionary?["v_Data"] as? Data == Data("1".utf8), "\(mode)")
            }
            let three = bench.copying(["class": "genp", "svce": "s", "m_Limit": 3, "u_AuthUI": "u_AuthUIF"] + wantsData)
            #expect(three.status == -25308)
        },
        Rule("2.5 4.6", "a limit with data asks for no confirmation of items past it") { bench in
            for (account, flags) in [("1", []), ("2", []), ("3", .userPresence)] as [(String, SecAccessControlCreateFlags)] {
                let control = SecAccessControl(protection: "ak", flags: flags)
                bench.expect(0, bench.add(genp(account, "s", ["accc": control, "v_Data": Data(account.utf8)])))
            }
            let all: [String: Any] = ["class": "genp", "svce": "s"]
            for mode in ["u_AuthUIA", "u_AuthUIF", "u_AuthUIS"] {
                let found = bench.copying(all + ["m_Limit": 2, "u_AuthUI": mode] + wantsData)
                #expect(found.array as? [Data] == [Data("1".utf8), Data("2".utf8)], "\(mode)")
            }
            bench.expect(-25308, bench.copying(all + wantsAll + wantsData).status)
        },
        Rule("1.3", "a digest skips damaged items, and refuses none that it does not search") { bench in
            let added = bench.adding(genp("z", "s", ["v_Data": Data("z".utf8)]) + wantsAttributes + wantsData)
            let digest = try #require(added.dictionary?["sha1"] as? Data)
            bench.expect(0, bench.delete(genp("z", "s")))
            try bench.passwords([[], .applicationPassword])
            let again = bench.adding(genp("y", "s", ["v_Data": Data("y".utf8)]) + wantsAttributes + wantsData)
            let other = try #require(again.dictionary?["sha1"] as? Data)
            let all: [String: Any] = ["class": "genp", "svce": "s"]
            bench.expect(-25300, bench.copy(all + ["sha1": digest]))
            #expect(bench.copying(all + ["sha1": other] + wantsData).data == Data("y".utf8))
            bench.expect(0, bench.update(all + ["sha1": other], ["labl": "found"]))
            bench.expect(0, bench.delete(all + ["labl": "found"]))
        },
        Rule("2.7 2.11", "a damaged item is removed only by a call that names its user") { bench in
            let system: [String: Any] = ["u_SystemKeychain": true]
            for user in [system, [:]] {
                let other = user.isEmpty ? system : [:]
                bench.expect(0, bench.add(genp("a", "s") + user))
                try bench.sql("UPDATE item SET attributes_ciphertext = X'12345678'")
                bench.expect(-25300, bench.delete(genp("a", "s") + other))
                bench.expect(-25300, bench.copy(genp("a", "s") + user))
                bench.expect(0, bench.delete(genp("a", "s") + user))
                bench.expect(-25300, bench.delete(genp("a", "s") + user))
            }
        },
        Rule("2.7", "a caller that may not ask changes and removes items that need confirmation to read") { bench in
            let control = SecAccessControl(protection: "ak", flags: .userPresence)
            let added = bench.adding(genp("a", "s", ["accc": control]) + wantsAttributes)
            let digest = try #require(added.dictionary?["sha1"] as? Data)
            let query: [String: Any] = ["class": "genp", "sha1": digest, "u_AuthUI": "u_AuthUIF"]
            bench.expect(0, bench.delete(query))
        },
    ]
}
