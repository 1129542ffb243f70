import Foundation
import TestSupport
import Testing

/// The names and the types of the members of documents.
@Suite struct DocumentMemberTests {
    /// Commands that print a document each, in an order in which all of them succeed.
    private static let commands = [
        "init", "status", "keychain ls", "keychain show", "keychain default", "keychain default login",
        "keychain check", "keychain settings", "keychain create site --unattended", "lock --all", "status --all",
        "secret generate a --print",
        "secret generate b --kind internet", "ls", "get a", "secret show b --reveal", "secret copy a c", "mv c d", "find d", "rm d -y",
        "otp set o --from-env SEED", "otp get o", "otp ls", "otp show o --reveal", "otp rm o -y",
        "key generate k", "key ls", "key show k", "key pub k", "key csr k --cn k", "key rm k -y",
        "identity create root --cn Root --authority --self-signed --lifetime 90d", "trust add root",
        "identity create web --dns web.example --issuer root --lifetime 30d", "identity ls", "identity show web",
        "identity check web", "identity renew web --force", "identity use web --service https://web.example",
        "identity retire web -y", "cert ls", "cert show web", "cert chain web", "cert verify web --host web.example",
        "cert export web --chain", "cert expiring --within 400d", "trust ls", "trust export", "uri web",
        "uri web --for gnutls", "token ls", "token show --objects", "token mechanisms", "doctor", "error errSecParam",
        "agent --ssh web --dry-run", "helper ls", "helper install cargo",
        "identity rm web -y", "trust rm root", "cert rm root -y", "keychain rm site -y",
    ]

    @Test func `a name has one type in all documents`() throws {
        let home = try IdentityHome()
        var lines = ""
        for command in Self.commands {
            let words = ["--json"] + command.split(separator: " ").map(String.init)
            let variables = ["SEED": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"]
            let result = try Tool.keyfob(words, environment: home.environment.merging(variables) { $1 }).run()
            try #require(result.status == 0, "\(command): \(result.error)")
            lines += command + "\t" + result.output
        }
        try home.directory.write(Array(lines.utf8), to: "documents")
        let conflicts = try home.shell(
            """
            cat > member_types.py <<'END'
            import json
            known = {}
            def types(value):
                if isinstance(value, list):
                    return {"list of " + inner for one in value for inner in types(one)}
                return set() if value is None else {type(value).__name__}
            def visit(value, command):
                if isinstance(value, list):
                    for one in value: visit(one, command)
                if isinstance(value, dict):
                    for name, one in value.items():
                        for kind in types(one): known.setdefault(name, {}).setdefault(kind, command)
                        visit(one, command)
            for line in open("documents"):
                command, text = line.split("\\t", 1)
                visit(json.loads(text), command)
            assert len(known) > 60, known
            for name, kinds in known.items():
                if len(kinds) > 1: print(name, kinds)
            END
            python3 member_types.py
            """)
        #expect(conflicts.isEmpty, "\(conflicts)")
    }

    @Test func `a password has the same members in a list and alone, and null for missing ones`() throws {
        let household = try TestHome.unattended()
        let all = ["--protocol", "https", "--port", "8443", "--path", "a", "--user", "u", "--comment", "c"]
        for (name, options) in [("generic", []), ("host", ["--kind", "internet"]), ("full", all)] as [(String, [String])] {
            try household.set(name, "x", options)
        }
        let items = try #require(try household.document(["ls"])["items"] as? [[String: Any]])
        #expect(items.count == 3)
        for item in items {
            let name = try #require(item["name"] as? String)
            var shown = try household.document(["secret", "show", name])
            let comment = try #require(shown["comment"])
            #expect(comment as? String == (name == "full" ? "c" : nil), "\(name)")
            for own in ["schema", "keychain", "comment"] { shown[own] = nil }
            #expect(Set(shown.keys) == Set(item.keys), "\(name)")
            for (member, value) in item {
                let own = shown[member].map { "\($0)" } ?? "absent"
                #expect(own == "\(value)", "\(name) \(member)")
            }
            let nulls = ["server", "protocol", "port", "path"].filter { item[$0] is NSNull }
            let count = ["generic": 4, "host": 3, "full": 0][name]
            #expect(nulls.count == count, "\(name): \(nulls)")
        }
    }

    @Test(arguments: [
        (["work", "--server", "mail.example"], "work"), (["mail.example", "--kind", "internet"], "mail.example"),
        (["mail.example", "--kind", "internet", "--label", "Work"], "Work"),
        (["db/prod", "--label", "Work"], "db/prod"),
    ] as [([String], String)])
    func `the name of a password in every document is the one in lists`(words: [String], name: String) throws {
        let household = try TestHome.unattended()
        let value = Data("value".utf8)
        for options in [["--dry-run"], [], ["--replace", "--dry-run"], ["--replace"], ["--if-missing"]] {
            let document = try household.document(["set"] + words + ["--stdin"] + options, input: value)
            #expect(document["name"] as? String == name, "\(options) \(document)")
        }
        // Its label stays if no new one is given.
        let plain: [String] = ["set"] + Array(words.prefix { $0 != "--label" }) + ["--stdin", "--replace"]
        #expect(try household.document(plain, input: Data("other".utf8))["name"] as? String == name)
        let items = try #require(try household.document(["ls"])["items"] as? [[String: Any]])
        #expect(items.map { $0["name"] as? String } == [name])
        for command in [["get", name], ["secret", "show", name], ["secret", "generate", "--replace"] + words] {
            #expect(try household.document(command)["name"] as? String == name, "\(command)")
        }
    }
}
