import Foundation
import TestSupport
import Testing

/// What a dry run says: what the run would, as far as that can be known.
@Suite struct DryRunTests {
    @Test(arguments: [
        (["taken", "--stdin"], "value", 4), (["new", "--stdin"], "", 2), (["taken", "--replace", "--stdin"], "", 2),
        (["new", "--from-file", "/no/such/file"], "", 1), (["taken", "--replace", "--from-file", "/"], "", 1),
        (["new", "--from-file", "/dev/zero"], "", 12), (["new", "--from-env", "NO_SUCH_VARIABLE"], "", 2),
        (["new", "--from-fd", "77"], "", 1),
    ] as [([String], String, Int32)])
    func `what set refuses its dry run refuses as well`(words: [String], input: String, status: Int32) throws {
        let household = try Household.unattended()
        try household.set("taken", "one")
        let dry = try household.keyfob(["set"] + words + ["--dry-run"], input: Data(input.utf8))
        let run = try household.keyfob(["set"] + words, input: Data(input.utf8))
        #expect(dry.status == status && run.status == status, "\(dry.error)\(run.error)")
        // What is behind it may be how long ago something was.
        #expect(dry.output.isEmpty && dry.error.prefix(24) == run.error.prefix(24), "\(dry.error)\(run.error)")
    }

    @Test func `the dry run of a replacement knows whether there is anything to replace`() throws {
        let household = try Household.unattended()
        try household.set("a", "one")
        let set = ["set", "a", "--replace", "--stdin", "--dry-run"]
        let cases: [(String, [String], String)] = [
            ("one", [], "kept"), ("two", [], "replaced"), ("one", ["--label", "b"], "replaced"),
        ]
        for (value, options, action) in cases {
            let document = try household.document(set + options, input: Data(value.utf8))
            #expect(document["action"] as? String == action && document["changed"] as? Bool == false, "\(document)")
        }
        let same = try household.keyfob(set, input: Data("one".utf8))
        #expect(same.output == "Unchanged: a exists in \"login\".\n")
        #expect(try household.keyfob(set, input: Data("two".utf8)).output == "Would replace a in \"login\".\n")
        #expect(try household.keyfob(["get", "a"]).output == "one\n")
        let new = try household.document(["set", "b", "--stdin", "--dry-run"], input: Data("one".utf8))
        #expect(new["action"] as? String == "added" && new["changed"] as? Bool == false)
        #expect(try household.keyfob(["get", "b"]).status == 3)
    }

    @Test(arguments: [
        "web --cn x --self-signed", "k --cn x --self-signed", "aes --cn x --self-signed",
        "web@2030-01-02 --cn x --self-signed", "new --cn x --key rsa --size 100 --self-signed",
        "new --subject nonsense --self-signed", "new --email nobody --self-signed", "new --uri nowhere --self-signed",
        "new --cn x --issuer nobody", "new --cn x --issuer web", "new --cn x --authority --issuer low",
        "new --cn x --authority --path-length 256 --self-signed", "new --cn x --issuer exec:no-such-program",
        "new --dns x.example --issuer acme:http://x.example --listen 80",
        "new --dns x.example --issuer acme:https://x.example --listen 80 --eab-kid k --eab-key-source env:NO_SUCH",
    ])
    func `what identity create refuses its dry run refuses as well, in the same words`(words: String) throws {
        let home = try IdentityHome()
        for command in [
            "identity create web --dns web.example --self-signed",
            "identity create low --cn low --authority --path-length 0 --self-signed",
            "key generate k --type rsa --size 2048", "key generate aes --type aes",
        ] {
            let words = command.split(separator: " ").map(String.init)
            let made = try Tool.keyfob(words, environment: home.environment).run()
            try #require(made.status == 0, "\(made.error)")
        }
        let keys = try home.keyfob("key", "ls", "--format", "tsv").output
        let command = ["identity", "create"] + words.split(separator: " ").map(String.init)
        let dry = try Tool.keyfob(command + ["--dry-run"], environment: home.environment).run()
        #expect(dry.status != 0 && dry.output.isEmpty, "\(dry.output)")
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output == keys)
        let run = try Tool.keyfob(command, environment: home.environment).run()
        #expect(dry.status == run.status && dry.error == run.error, "\(dry.error)\(run.error)")
    }

    @Test func `of a secret that is made and printed a dry run has nothing to print`() throws {
        let household = try Household.unattended()
        let generate = ["secret", "generate", "a", "--print", "--if-missing"]
        #expect(try household.document(generate + ["--dry-run"])["value"] is NSNull)
        let made = try household.document(generate)["value"] as? String
        #expect(try household.document(generate + ["--dry-run"])["value"] as? String == made && made != nil)
    }
}
