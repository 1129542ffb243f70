import Foundation
import TestSupport
import Testing

/// `keyfob set --from-json`.
@Suite struct SecretRowTests {
    private let home: TestHome

    init() throws { home = try TestHome.unattended() }

    private func store(_ rows: String, _ options: [String] = []) throws -> Tool.Result {
        try home.keyfob(["set", "--from-json", "-", "--json"] + options, input: Data(rows.utf8))
    }

    private func counts(_ result: Tool.Result) throws -> [Int] {
        try #require(result.status == 0, "\(result.error)")
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return ["created_count", "updated_count", "unchanged_count"].map { document?[$0] as? Int ?? -1 }
    }

    private func value(_ name: String, _ options: [String] = []) throws -> String {
        try home.keyfob(["get", name, "--raw"] + options).output
    }

    @Test(arguments: [
        "{\"name\":\"a\",\"value\":\"1\"}\n{\"name\":\"b\",\"value\":\"2\"}\n",
        "{\"name\":\"a\",\"value\":\"1\"}{\"name\":\"b\",\"value\":\"2\"}",
        " [ {\"name\" : \"a\", \"value\":\"1\"} , {\n\"name\":\"b\",\"value\":\"2\"\n} ]\r\n",
        "{\"name\":\"a\",\"user\":null,\"value\":\"1\",\"value_b64\":null}\n\n{\"value_b64\":\"Mg==\",\"name\":\"b\"}",
    ])
    func `objects in sequence and in an array are stored`(rows: String) throws {
        #expect(try counts(store(rows, ["--dry-run"])) == [2, 0, 0])
        #expect(try value("a").isEmpty)
        #expect(try counts(store(rows)) == [2, 0, 0])
        #expect(try value("a") == "1" && value("b") == "2")
        #expect(try counts(store(rows, ["--if-missing"])) == [0, 0, 2])
        #expect(try counts(store(rows, ["--replace", "--dry-run"])) == [0, 0, 2])
        #expect(try counts(store(rows, ["--replace"])) == [0, 0, 2])
    }

    @Test func `all attributes are stored, and a replacement keeps those that a row lacks`() throws {
        let row = """
            {"name":"h","kind":"internet","server":"h.example","protocol":"https","port":8443,"path":"/p","user":"u",\
            "label":"h","comment":"c","value":"1"}
            """
        #expect(try counts(store(row)) == [1, 0, 0])
        let shown = try home.document(["secret", "show", "h"])
        for (name, value) in [
            ("kind", "internet"), ("server", "h.example"), ("protocol", "https"), ("path", "/p"), ("user", "u"),
            ("comment", "c"),
        ] {
            #expect(shown[name] as? String == value, "\(name)")
        }
        #expect(shown["port"] as? Int == 8443)
        let other = row.replacing(#""comment":"c","value":"1""#, with: #""value":"2""#)
        #expect(try counts(store(other, ["--replace"])) == [0, 1, 0])
        #expect(try home.document(["secret", "show", "h"])["comment"] as? String == "c")
        #expect(try value("h") == "2")
    }

    @Test func `what get and show print is stored again`() throws {
        try home.set("text", "quote \" backslash \\ line\nbreak \u{1F511} \u{85}")
        let binary = try home.keyfob(["set", "binary", "--stdin"], input: Data([0, 0xFF]))
        try #require(binary.status == 0)
        try home.set("host", "secret", ["--kind", "internet", "--protocol", "ssh", "--user", "u", "--comment", "c"])
        let made = try home.keyfob(["keychain", "create", "site", "--unattended"])
        try #require(made.status == 0)
        var rows = try home.keyfob(["get", "text", "--json"]).output
        for name in ["binary", "host"] {
            rows += try home.keyfob(["secret", "show", name, "--reveal", "--json"]).output
        }
        #expect(try counts(store(rows, ["-k", "site"])) == [3, 0, 0])
        for name in ["text", "binary"] {
            let copy = try home.document(["get", name, "-k", "site"])
            let original = try home.document(["get", name])
            #expect("\(copy["value"] ?? "")\(copy["value_b64"] ?? "")"
                == "\(original["value"] ?? "")\(original["value_b64"] ?? "")")
        }
        var (one, other) = (
            try home.document(["secret", "show", "host"]), try home.document(["secret", "show", "host", "-k", "site"])
        )
        for name in ["keychain", "created", "modified", "reference_b64"] { (one[name], other[name]) = (nil, nil) }
        #expect("\(one.sorted { $0.key < $1.key })" == "\(other.sorted { $0.key < $1.key })")
    }

    @Test(arguments: [
        (#"{"name":"x"}"#, "the value is missing"), (#"{"name":"x","value":1}"#, "\"value\" is not a string"),
        (#"{"name":"x","value":"a","value_b64":"YQ=="}"#, "both"), (#"{"name":"x","value_b64":"%"}"#, "base64"),
        (#"{"value":"canary"}"#, "the name is missing"), (#"{"name":"x","pasword":"canary"}"#, "no member \"pasword\""),
        (#"{"name":"x","value":"canary","value":"b"}"#, "different members"), (#"{"name":"x","value":"canary}"#, "end"),
        (#"{"name":"x","value":"canary\q"}"#, "not a string"),
        (#"{"name":"x","port":"1","value":"a"}"#, "not a number"),
        (#"{"name":"x","kind":"generic","server":"s","value":"a"}"#, "generic password has no server"),
        (#"{"name":"x","protocol":"gopher2","value":"a"}"#, "unknown protocol"), (#"{"name":"x","value":""}"#, "empty"),
        (#"{"name":"x","value":"a","created":[}}"#, "no valid value"),
        (#"{"name":"x","value":"a","schema":nul}"#, "no valid value"),
        (#"{"name":"a\u0000b","value":"a"}"#, "contains a NUL"),
        (#"{"name":"keyfob://x","value":"a"}"#, "reserved"), ("canary", "object is missing"),
        (#"{"name":"otp:x","value":"canary"}"#, "those of one-time passwords"), ("]", "object is missing"),
        (#"{"name":"x","server":"s","label":"l","value":"canary"}"#, "is its label"),
        (#"{"name":"one","value":"a"}"#, "already exists"),
    ])
    func `a bad row ends the command with its line; the rows before it are stored`(row: String, reason: String) throws {
        let rows = "{\"name\":\"one\",\"value\":\"1\"}\n\n{\"name\":\"two\",\"value\":\"2\"}\n\(row)\n{\"name\":\"z\"}"
        for options in [["--dry-run"], []] {
            let result = try store(rows, options)
            #expect(result.status != 0 && result.output.isEmpty)
            #expect(result.error.contains("line 4") && !result.error.contains("canary"), "\(result.error)")
            let isExpected = result.error.contains(reason.replacing("\"", with: "\\\""))
            // Nothing is stored in a dry run.
            #expect(isExpected || reason == "already exists" && !options.isEmpty, "\(result.error)")
        }
        #expect(try value("one") == "1" && value("two") == "2")
        let error = try store(rows, ["--if-missing"]).error
        #expect(reason == "already exists" || error.contains("The 2 rows before it are stored"), "\(error)")
    }

    @Test func `a repeated name has the result of commands one after the other`() throws {
        let rows = (1...3).map { "{\"name\":\"a\",\"value\":\"\($0)\"}" }.joined(separator: "\n")
        for options in [["--dry-run"], []] {
            #expect(try counts(store(rows, ["--replace"] + options)) == [1, 2, 0])
        }
        #expect(try value("a") == "3")
        #expect(try store(rows.replacing("\"a\"", with: "\"b\"")).error.contains("line 2"))
        #expect(try value("b") == "1")
    }

    @Test func `--replace takes a name for the one item that has it, as without --from-json`() throws {
        try home.set("db/prod", "old", ["--user", "app"])
        let row = #"{"name":"db/prod","value":"new"}"#
        for options in [["--dry-run"], []] {
            #expect(try counts(store(row, ["--replace"] + options)) == [0, 1, 0])
        }
        #expect(try value("db/prod") == "new")
        try home.set("db/prod", "other", ["--user", "admin"])
        #expect(try store(row, ["--replace"]).error.contains("item.ambiguous"))
        // Also if an earlier row adds the item.
        let rows = #"{"name":"n","user":"u","value":"1"}{"name":"n","value":"2"}{"name":"n","value":"2"}"#
        for options in [["--dry-run"], []] {
            #expect(try counts(store(rows, ["--replace"] + options)) == [1, 1, 1])
        }
        #expect(try value("n", ["--user", "u"]) == "2")
    }

    @Test func `a dry run of --replace compares a row with the rows before it`() throws {
        try home.set("known", "0")
        let rows = ["known 1", "known 1", "known 0", "new 1", "new 1", "new 2", "new 1"].map { row in
            let words = row.split(separator: " ")
            return "{\"name\":\"\(words[0])\",\"value\":\"\(words[1])\"}\n"
        }.joined()
        for options in [["--dry-run"], []] {
            #expect(try counts(store(rows, ["--replace"] + options)) == [1, 4, 2])
        }
        #expect(try value("known") == "0" && value("new") == "1")
    }

    @Test func `a long name is shortened in an error`() throws {
        let name = String(repeating: "n", count: 300_000)
        let row = "{\"name\":\"\(name)\",\"value\":\"1\"}"
        let result = try store(row + row)
        #expect(result.status != 0 && result.error.contains("nnn…"))
        #expect(result.error.utf8.count < 5_000)
    }

    @Test func `more rows than a transaction holds are stored, from a private file only`() throws {
        let rows = (1...1201).map { "{\"name\":\"n\($0)\",\"value\":\"v\($0)\"}\n" }.joined()
        let file = home.directory.file("rows")
        try Data(rows.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        #expect(try home.failure(["set", "--from-json", file]).code == "file.unsafe")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let stored = try home.keyfob(["set", "--from-json", file])
        #expect(stored.output == "Stored 1 201 rows in \"login\": 1 201 new, 0 replaced, 0 unchanged.\n", "\(stored)")
        #expect(try value("n1201") == "v1201" && value("n1") == "v1")
    }

    @Test func `a large value spans many reads`() throws {
        let value = String(repeating: "long\\n", count: 50_000)
        #expect(try counts(store("[{\"name\":\"big\",\"value\":\"\(value)\"}]")) == [1, 0, 0])
        #expect(try self.value("big") == String(repeating: "long\n", count: 50_000))
    }

    @Test func `rows are stored while the writer continues`() throws {
        // The writer ends only after the first rows can be read.
        let script = """
            { i=0; while [ $i -lt 600 ]; do echo "{\\"name\\":\\"n$i\\",\\"value\\":\\"v\\"}"; i=$((i + 1)); done
            until "$1" get n0 >/dev/null 2>&1; do sleep 0.1; done; echo '{"name":"last","value":"v"}'; } |
            "$1" set --from-json - --json
            """
        let result = try Tool(
            "/bin/sh", ["-c", script, "sh", Tool.commandPath],
            environment: home.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(try counts(result) == [601, 0, 0])
    }

    @Test(arguments: [
        ["name", "--from-json", "-"], ["--from-json", "-", "--user", "u"], ["--from-json", "-", "--label", "l"],
        ["--from-json", "-", "--stdin"], ["--from-json", "-", "--replace", "--if-missing"],
        ["--from-json", "-", "--pin-source", "stdin"], [],
    ])
    func `contradictory options are refused`(words: [String]) throws {
        let result = try home.keyfob(["set"] + words, input: Data(#"{"name":"x","value":"y"}"#.utf8))
        #expect(result.status == 2, "\(result.error)")
        #expect(try home.keyfob(["get", "x"]).status == 3)
    }
}
