import Foundation
import KeyfobOpenSSL
import KeyfobTesting
import Keyfob
import Testing

@testable import KeychainServices

extension Vector {
    /// Synchronizable items and tombstones.
    static let groupH: [Vector] = [
        Vector(117, "a synchronizable item is found by a query that says so") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["sync": true])))
            bench.expect(-25300, bench.copy(genp("a", "s")))
            bench.expect(0, bench.copy(genp("a", "s", ["sync": true])))
            bench.expect(0, bench.copy(genp("a", "s", ["sync": "syna"])))
        },
        Vector(118, "removed items leave tombstones on request") { bench in
            for item in (0..<8).flatMap(bareItems).map({ $0 + ["sync": true] }) {
                bench.expect(0, bench.add(item), "\(item)")
                bench.expect(0, bench.delete(item + ["u_Tomb": true]), "\(item)")
                bench.expect(-25300, bench.copy(item), "\(item)")
                bench.expect(0, bench.copy(item + ["tomb": true]), "\(item)")
                bench.expect(0, bench.delete(item + ["tomb": true]), "\(item)")
                bench.expect(-25300, bench.copy(item + ["tomb": true]), "\(item)")
            }
        },
        Vector(119, "no tombstone without a request") { bench in
            for item in (0..<2).flatMap(bareItems).map({ $0 + ["sync": true] }) {
                bench.expect(0, bench.add(item))
                bench.expect(0, bench.delete(item + ["u_Tomb": false]))
                bench.expect(-25300, bench.copy(item + ["tomb": true]))
            }
        },
        Vector(121, "a local item leaves a tombstone, and can be added again") { bench in
            for item in bareItems(1) {
                bench.expect(0, bench.add(item + ["v_Data": Data("x".utf8)]))
                bench.expect(0, bench.delete(item + ["u_Tomb": true]))
                bench.expect(0, bench.copy(item + ["tomb": true]))
                #expect(bench.copying(item + ["tomb": true] + wantsData).value == nil)
                bench.expect(0, bench.add(item))
                bench.expect(0, bench.copy(item))
                bench.expect(-25300, bench.copy(item + ["tomb": true]))
            }
        },
        Vector(122, "a tombstone is removed only if the call leaves none") { bench in
            for item in bareItems(1) {
                bench.expect(0, bench.add(item))
                bench.expect(0, bench.delete(item + ["u_Tomb": true]))
                bench.expect(0, bench.delete(item + ["tomb": true, "u_Tomb": true]))
                bench.expect(0, bench.copy(item + ["tomb": true]))
                bench.expect(0, bench.delete(item + ["tomb": true]))
                bench.expect(-25300, bench.copy(item + ["tomb": true]))
            }
        },
    ]

    /// Access groups.
    static let groupI: [Vector] = [
        Vector(123, "without any group every call is refused") { bench in
            bench.groups = []
            for status in [bench.copy(genp("a", "s")), bench.add(genp("a", "s")), bench.delete(genp("a", "s"))] {
                bench.expect(-34018, status)
            }
        },
        Vector(125, "the first group is the default one") { bench in
            bench.groups = ["first", "second"]
            bench.expect(0, bench.add(genp("a", "s")))
            #expect(bench.copying(genp("a", "s") + wantsAttributes).dictionary?["agrp"] as? String == "first")
        },
        Vector(126, "a group of its own is enough") { bench in
            bench.groups = ["mine"]
            bench.expect(-25300, bench.copy(genp("a", "s")))
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.delete(genp("a", "s")))
        },
        Vector(129, "a group that a process gains and loses") { bench in
            bench.groups = ["mine", "more"]
            bench.expect(0, bench.add(genp("a", "s", ["agrp": "more"])))
            bench.expect(0, bench.copy(genp("a", "s", ["agrp": "more"])))
            bench.groups = ["mine"]
            bench.expect(-34018, bench.copy(genp("a", "s", ["agrp": "more"])))
            bench.expect(-25300, bench.copy(genp("a", "s")))
        },
        Vector(130, "no item moves to a group that the process does not have") { bench in
            bench.groups = ["mine"]
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-34018, bench.update(genp("a", "s"), ["agrp": "other"]))
            bench.expect(0, bench.copy(genp("a", "s")))
        },
        Vector(131, "items of a lost group are missing until it returns") { bench in
            bench.groups = ["mine", "more"]
            bench.expect(0, bench.add(genp("a", "s", ["agrp": "more"])))
            bench.groups = ["mine"]
            for status in [
                bench.copy(genp("a", "s")), bench.update(genp("a", "s"), ["labl": "x"]), bench.delete(genp("a", "s")),
            ] { bench.expect(-25300, status) }
            bench.groups = ["mine", "more"]
            for status in [
                bench.copy(genp("a", "s")), bench.update(genp("a", "s"), ["labl": "x"]), bench.delete(genp("a", "s")),
            ] { bench.expect(0, status) }
        },
        Vector(133, "the group of tokens is read and never written") { bench in
            let item = genp("a", "s", ["agrp": "com.apple.token"])
            bench.expect(-25300, bench.copy(item))
            bench.expect(-34018, bench.add(item))
            bench.expect(-34018, bench.delete(item))
        },
        Vector(135, "the system's keychain is separate") { bench in
            let system: [String: Any] = ["u_SystemKeychain": true]
            bench.expect(0, bench.add(genp("a", "s") + system))
            bench.expect(-25300, bench.copy(genp("a", "s")))
            bench.expect(0, bench.copy(genp("a", "s") + system))
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.delete(genp("a", "s") + system))
            bench.expect(0, bench.copy(genp("a", "s")))
        },
    ]
}
