import Foundation
import GRDB
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// The scope of a change by class: among items without an access group, only those that this program stored.
@Suite struct ProgramBoundTests {
    /// A keychain with items of every class that the Swift API stored, as the command does.
    private struct Shared {
        let bench: SecItemFixture
        let pair: TestPair
        let authority: TestPair

        init() throws {
            bench = try SecItemFixture()
            pair = try TestPair("shared.example")
            authority = try TestPair("Shared CA")
            let secret = SecretBytes(utf8: "theirs")
            try bench.keychain.add(GenericPassword(service: "s", account: "a", label: "l"), secret: secret)
            try bench.keychain.add(
                InternetPassword(server: "s", account: "a", protocol: nil, port: nil, path: "", label: "l"),
                secret: secret)
            _ = try bench.keychain.identities.importKeyPair(key: pair.key, certificate: pair.certificate)
            _ = try bench.keychain.add(CertificateItem(authority.certificate))
        }

        /// How many items of a class a search finds, whichever program stored them.
        func count(_ itemClass: String) -> Int {
            bench.copying(["class": itemClass, "sync": "syna"] + wantsAll + wantsPersistent).array?.count ?? 0
        }

        /// Stores one more item of every class by Apple's functions, and gives the identity.
        func addOwn() throws -> TestPair {
            let own = try TestPair("own.example")
            bench.expect(0, bench.add(genp("a", "own", ["v_Data": Data("mine".utf8), "labl": "l"])))
            bench.expect(0, bench.add(["class": "inet", "srvr": "own", "acct": "a", "labl": "l"]))
            bench.expect(0, bench.add(["v_Ref": own.secIdentity, "labl": "l"]))
            return own
        }
    }

    private static let theirs = ["genp": 1, "inet": 1, "cert": 2, "keys": 1, "idnt": 1]
    private static let classes = ["genp", "inet", "cert", "keys", "idnt"]

    @Test(
        "a reset on first launch leaves what the command stored, and removes what the program stored",
        arguments: classes,
        [[:], ["m_Limit": "m_LimitAll"], ["sync": "syna"], ["r_Data": true], ["nleg": true], ["sync": false]]
            as [[String: any Sendable]])
    func reset(itemClass: String, more: [String: any Sendable]) throws {
        let shared = try Shared()
        let query = (more as [String: Any]) + ["class": itemClass]
        shared.bench.expect(-25300, shared.bench.delete(query))
        for (name, count) in Self.theirs { #expect(shared.count(name) == count, "\(name)") }
        _ = try shared.addOwn()
        shared.bench.expect(0, shared.bench.delete(query))
        #expect(shared.count(itemClass) == Self.theirs[itemClass])
        shared.bench.expect(-25300, shared.bench.delete(query))
        for (name, count) in Self.theirs { #expect(shared.count(name) >= count, "\(name)") }
        // The key of the command's identity can still be used.
        let found = shared.bench.copying(["class": "idnt", "labl": "shared.example"] + wantsReference).value
        let identity = try #require(found as? SecIdentity)
        #expect(
            shared.bench.use {
                SecKeyCreateSignature(
                    identity.privateKey, .ecdsaSignatureMessageX962SHA256, Data("a".utf8) as CFData, nil)
            } != nil)
    }

    @Test func `the loop over all five classes leaves only the items that the command stored`() throws {
        let shared = try Shared()
        _ = try shared.addOwn()
        for itemClass in Self.classes { _ = shared.bench.delete(["class": itemClass]) }
        for (name, count) in Self.theirs { #expect(shared.count(name) == count, "\(name)") }
        let items = try shared.bench.keychain.find(.genericPasswords)
        #expect(items.map(\.service) == ["s"])
    }

    /// Attributes that are less than the primary key of a class.
    private static let parts: [[String: any Sendable]] = [
        ["class": "genp", "svce": "s"], ["class": "genp", "acct": "a"], ["class": "genp", "labl": "l"],
        ["class": "inet", "srvr": "s", "acct": "a"], ["class": "inet", "labl": "l"],
        ["class": "cert", "ctyp": 3], ["class": "cert", "labl": "Shared CA"],
        ["class": "keys", "kcls": "1"], ["class": "keys", "type": "73", "bsiz": 256],
        ["class": "idnt", "labl": "shared.example"],
    ]

    @Test(arguments: parts)
    func `a part of the primary key matches none of the command's items, in a removal or in a change`(
        part: [String: any Sendable]
    ) throws {
        let shared = try Shared()
        let query: [String: Any] = part
        shared.bench.expect(0, shared.bench.copy(query))
        shared.bench.expect(-25300, shared.bench.delete(query))
        shared.bench.expect(-25300, shared.bench.update(query, ["labl": "changed"]))
        for (name, count) in Self.theirs { #expect(shared.count(name) == count, "\(name)") }
        for itemClass in Self.classes {
            shared.bench.expect(-25300, shared.bench.copy(["class": itemClass, "labl": "changed"]))
        }
    }

    @Test(arguments: ["genp", "inet", "cert", "keys"])
    func `a change by class changes only the items that the program stored`(itemClass: String) throws {
        let shared = try Shared()
        _ = try shared.addOwn()
        shared.bench.expect(0, shared.bench.update(["class": itemClass], ["labl": "changed"]))
        let changed = shared.bench.copying(["class": itemClass, "labl": "changed"] + wantsAll + wantsAttributes)
        #expect(changed.array?.count == 1)
    }

    @Test func `a query that names the group or the item matches it, even if another program stored it`() throws {
        let shared = try Shared()
        let bench = shared.bench
        // The full primary key.
        bench.expect(0, bench.update(genp("a", "s"), ["v_Data": Data("new".utf8)]))
        #expect(bench.copying(genp("a", "s") + wantsData).data == Data("new".utf8))
        bench.expect(0, bench.delete(genp("a", "s")))
        let server: [String: Any] = [
            "class": "inet", "srvr": "s", "acct": "a", "sdmn": "", "ptcl": 0, "atyp": "", "port": 0, "path": "",
        ]
        bench.expect(0, bench.update(server, ["labl": "named"]))
        bench.expect(0, bench.delete(server))
        let authority = shared.authority.certificate
        bench.expect(
            0,
            bench.delete([
                "class": "cert", "ctyp": 3, "issr": authority.issuer.normalized, "slnr": authority.serialNumber,
            ]))
        // A reference of either kind, and a list of them.
        bench.expect(0, bench.update(["v_Ref": shared.pair.secCertificate], ["labl": "named"]))
        let key = bench.copying(["class": "keys"] + wantsPersistent).data
        bench.expect(0, bench.update(["v_PersistentRef": try #require(key)], ["labl": "named"]))
        bench.expect(0, bench.update(["class": "keys", "m_ItemList": [try #require(key)]], ["labl": "listed"]))
        bench.expect(0, bench.delete(["v_Ref": shared.pair.secIdentity]))
        for itemClass in Self.classes { #expect(shared.count(itemClass) == 0, "\(itemClass)") }
        // The group.
        try bench.keychain.add(GenericPassword(service: "s", account: "a"), secret: nil)
        bench.expect(0, bench.update(["class": "genp", "agrp": ""], ["labl": "group"]))
        bench.expect(0, bench.delete(["class": "genp", "agrp": ""]))
        #expect(shared.count("genp") == 0)
    }

    @Test(arguments: [["team.app", ""], ["", "team.app"], ["team.app", "*"]])
    func `the groups that a process chose are its own, with items of any program`(groups: [String]) throws {
        let shared = try Shared()
        var foreign = GenericPassword(service: "team", account: "a")
        foreign.accessGroup = "team.app"
        try shared.bench.keychain.add(foreign, secret: nil)
        shared.bench.groups = groups
        shared.bench.expect(0, shared.bench.add(genp("a", "own")))
        shared.bench.expect(0, shared.bench.delete(["class": "genp"]))
        #expect(try shared.bench.keychain.find(.genericPasswords).map(\.service) == ["s"])
    }

    @Test func `an item that the command changed still belongs to the program that stored it`() throws {
        let shared = try Shared()
        _ = try shared.addOwn()
        try shared.bench.keychain.update(
            .genericPassword(service: "own"), [.label: "of the command"], secret: SecretBytes(utf8: "new"))
        shared.bench.expect(0, shared.bench.delete(["class": "genp"]))
        #expect(shared.count("genp") == 1)
    }

    @Test func `a damaged item, whose program is unknown, is left to the command`() throws {
        let shared = try Shared()
        try shared.bench.sql("UPDATE item SET attributes_tag = zeroblob(16) WHERE id = 1")
        _ = shared.bench.delete(["class": "genp"])
        let damaged = try shared.bench.rows("SELECT COUNT(*) FROM item WHERE id = 1")
        #expect(damaged == 1)
    }

    @Test func `a caller cannot see, set or query which program stored an item`() throws {
        let bench = try SecItemFixture()
        let pair = try TestPair()
        bench.expect(0, bench.add(genp("a", "s")))
        bench.expect(0, bench.add(["class": "inet", "srvr": "s"]))
        bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
        for itemClass in Self.classes {
            let found = try #require(bench.copying(["class": itemClass] + wantsAttributes).dictionary)
            #expect(found["kprg"] == nil, "\(itemClass)")
            bench.expect(-25303, bench.copy(["class": itemClass, "kprg": "x"]))
            bench.expect(-25303, bench.update(["class": itemClass], ["kprg": "x"]))
        }
        bench.expect(-25303, bench.add(genp("b", "s", ["kprg": "x"])))
        let digest = bench.copying(genp("a", "s") + wantsAttributes + wantsData).dictionary?["sha1"]
        bench.expect(0, bench.copy(["class": "genp", "sha1": try #require(digest)]))
    }

    @Test(arguments: [
        ("/usr/bin/app", "app"), ("/srv/app (deleted)", "app"), ("app", "app"), ("/srv/my app", "my app"),
        ("/memfd:app (deleted)", "memfd:app"), ("", ""),
    ])
    func `a program is identified by the file of its executable, also after an update`(path: String, name: String) {
        #expect(ProgramName.of(executable: path) == name)
    }

    @Test func `the program of a test is that of its process`() {
        let name = CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent }
        #expect(ProgramName.current == name)
    }
}

extension SecItemFixture {
    /// The number that an SQL statement returns.
    fileprivate func rows(_ statement: String) throws -> Int? {
        let queue = try DatabaseQueue(path: keychain.configuration.vault)
        return try queue.read { try Int.fetchOne($0, sql: statement) }
    }
}
