import Foundation
import Keyfob
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct SecretTests {
    @Test func `a value on the command line is refused and not repeated`() throws {
        let household = try TestHome.unattended()
        let result = try household.keyfob(["set", "db/prod", "hunter2"])
        #expect(result.status == 2)
        #expect(!result.error.contains("hunter2"))
        #expect(try household.failure(["get", "db/prod"]).code == "item.not_found")
    }

    @Test(arguments: [
        ["set", "a", "--stdin=hunter2"], ["set", "a", "--replace=hunter2"], ["set", "a", "-phunter2"],
        ["set", "a", "--password=hunter2"], ["-q", "secret", "edit", "a", "hunter2"],
        ["secret", "generate", "a", "hunter2", "too"], ["unlock", "login", "hunter2"], ["init", "hunter2"],
        ["keychain", "create", "site", "hunter2"], ["get", "a", "--pin-source=hunter2"],
        ["uri", "pkcs11:object=web?pin-value=hunter2"], ["cert", "show", "pkcs11:object=web?pin-value=hunter2"],
        ["token", "show", "pkcs11:token=card?pin-value=hunter2"], ["get", "a", "--token", "pkcs11:?pin-value=hunter2"],
        ["token", "show", "login", "--token", "pkcs11:?pin-value=hunter2"],
        ["get", "a", "-k", "login", "--token", "pkcs11:?pin-value=hunter2"],
    ])
    func `a possible secret in the wrong place is refused and not repeated`(command: [String]) throws {
        let household = try TestHome.unattended()
        for arguments in [command, ["--json"] + command] {
            let result = try household.keyfob(arguments)
            #expect(result.status == 2 && result.output.isEmpty, "\(result.output)\(result.error)")
            #expect(!result.error.contains("unter2"), "\(result.error)")
        }
    }

    @Test func `an existing item is replaced only with --replace`() throws {
        let household = try TestHome.unattended()
        try household.set("db/prod", "one\n", ["--user", "app", "--comment", "kept"])
        let reference = try household.document(["secret", "show", "db/prod"])["reference_b64"] as? String
        let refused = try household.failure(["set", "db/prod", "--user", "app"], input: Data("two".utf8))
        #expect(refused.code == "item.exists")
        #expect(refused.status == 4)
        let kept = try household.document(["set", "db/prod", "--user", "app", "--if-missing"], input: Data("two".utf8))
        #expect(kept["changed"] as? Bool == false)
        #expect(try household.keyfob(["get", "db/prod"]).output == "one\n")
        try household.set("db/prod", "two", ["--user", "app", "--replace"])
        let after = try household.document(["secret", "show", "db/prod", "--reveal"])
        #expect(after["value"] as? String == "two")
        #expect(after["reference_b64"] as? String == reference)
        #expect(after["comment"] as? String == "kept")
    }

    @Test func `replacing a value by the same value changes nothing`() throws {
        let household = try TestHome.unattended()
        for (value, options, changed) in [
            ("one", [], true), ("one", [], false), ("one", ["--comment", "c"], true),
            ("one", ["--comment", "c"], false), ("one", ["--label", "l"], true), ("two", ["--label", "l"], true),
        ] as [(String, [String], Bool)] {
            let document = try household.document(
                ["set", "a", "--replace", "--stdin"] + options, input: Data(value.utf8))
            #expect(document["changed"] as? Bool == changed, "\(value) \(options)")
            #expect((document["action"] as? String == "none") == !changed)
        }
        #expect(try household.keyfob(["get", "a"]).output == "two\n")
        for changed in [true, false] {
            let copied = try household.document(["secret", "copy", "a", "b", "--replace"])
            #expect(copied["changed"] as? Bool == changed)
        }
    }

    @Test func `--user selects one of several accounts with the same name`() throws {
        let household = try TestHome.unattended()
        try household.set("db/prod", "a", ["--user", "app"])
        try household.set("db/prod", "b", ["--user", "root"])
        let both = try household.failure(["get", "db/prod"])
        #expect(both.code == "item.ambiguous")
        #expect(both.status == 4)
        let text = try household.keyfob(["get", "db/prod"]).error
        #expect(text.contains("app") && text.contains("root"))
        #expect(try household.keyfob(["get", "db/prod", "--user", "root"]).output == "b\n")
    }

    @Test func `internet passwords are found by server, protocol and port`() throws {
        let household = try TestHome.unattended()
        let name = "registry.example.org"
        try household.set(name, "https", ["--kind", "internet", "--protocol", "https", "--user", "ci"])
        try household.set(name, "ssh", ["--protocol", "ssh", "--port", "22", "--user", "ci"])
        #expect(try household.failure(["get", name]).code == "item.ambiguous")
        #expect(try household.keyfob(["get", name, "--protocol", "https"]).output == "https\n")
        #expect(try household.keyfob(["get", name, "--port", "22"]).output == "ssh\n")
        try household.set("mail", "imap", ["--server", "mail.example.org", "--protocol", "imaps"])
        #expect(try household.keyfob(["get", "mail"]).output == "imap\n")
        #expect(try household.keyfob(["get", "mail.example.org"]).output == "imap\n")
        #expect(try household.failure(["set", "x", "--kind", "generic", "--port", "1"]).status == 2)
        #expect(try household.failure(["set", "x", "--port", "70000"]).status == 2)
        #expect(try household.failure(["set", "x", "--protocol", "gopher+"]).status == 2)
    }

    @Test func `a name that would not be stored is refused`() throws {
        let household = try TestHome.unattended()
        let server = ["--kind", "internet", "--server", "github.com", "--user", "bob"]
        for label in ["GitHub web", ""] {
            let commands = [
                ["set", "gh", "--stdin", "--label", label], ["set", "gh", "--stdin", "--replace", "--label", label],
                ["secret", "generate", "gh", "--label", label],
            ]
            for command in commands {
                let failure = try household.failure(command + server, input: Data("x".utf8))
                #expect(failure.code == "usage" && failure.status == 2, "\(command): \(failure)")
                #expect(failure.hint.contains("Leave out --label"), "\(command): \(failure)")
            }
        }
        #expect((try household.document(["ls"])["items"] as? [Any])?.isEmpty == true)
        // Each of these is found by its name.
        let items: [(name: String, options: [String])] = [
            ("gh", server), ("GitLab", ["--server", "gitlab.com", "--label", "GitLab"]),
            ("mail.example", ["--server", "mail.example", "--label", "Mail"]),
            ("host.example", ["--kind", "internet", "--label", "Host"]), ("plain", ["--label", "Plain"]),
        ]
        for item in items {
            try household.set(item.name, item.name, item.options)
            #expect(try household.keyfob(["get", item.name]).output == item.name + "\n", "\(item)")
        }
        let copy = try household.failure(["secret", "copy", "gh", "copy", "--to", "login", "--label", "Copy"])
        #expect(copy.code == "usage" && copy.hint.contains("Leave out --label"), "\(copy)")
    }

    @Test func `an ambiguous name is reported with the attributes that differ`() throws {
        let household = try TestHome.unattended()
        for options in [["--protocol", "https", "--port", "8443"], ["--protocol", "ssh"], ["--path", "a"]] {
            try household.set("db.example", "x", ["--kind", "internet", "--user", "bob"] + options)
        }
        for name in ["one", "two"] { try household.set(name, "x", ["--label", "both"]) }
        let servers = try household.keyfob(["get", "db.example"])
        #expect(
            servers.error.contains(
                "matches 3 items: https://bob@db.example:8443, ssh://bob@db.example, bob@db.example/a."))
        #expect(servers.error.contains("--protocol, --port or --path"))
        let labels = try household.keyfob(["get", "both"])
        #expect(labels.error.contains("matches 2 items: one, two.") && labels.error.contains("label"))
        for result in [servers, labels] { #expect(result.status == 4 && result.output.isEmpty) }
    }

    @Test func `documents and tables show protocol, port and path`() throws {
        let household = try TestHome.unattended()
        for options in [["--protocol", "https", "--port", "8443"], ["--protocol", "ssh"], ["--path", "a"]] {
            try household.set("db.example", "x", ["--kind", "internet", "--user", "bob"] + options)
        }
        try household.set("plain", "x")
        func members(_ items: Any?, at name: String) throws -> [String] {
            let list = try #require(items as? [[String: Any]])
            return list.filter { $0["name"] as? String == name }.map {
                "\($0["protocol"] as? String ?? "-") \($0["port"] as? Int ?? 0) \($0["path"] as? String ?? "-")"
            }
        }
        let items = try household.document(["ls"])["items"]
        #expect(try members(items, at: "db.example") == ["https 8443 -", "ssh 0 -", "- 0 a"])
        #expect(try members(items, at: "plain") == ["- 0 -"])
        let references = try #require(items as? [[String: Any]]).compactMap { $0["reference_b64"] as? String }
        #expect(Set(references).count == 4)
        let table = try household.keyfob(["ls"]).output
        for kind in ["internet https:8443 ", "internet ssh ", "internet /a ", "generic "] {
            #expect(table.contains(kind), "\(kind): \(table)")
        }
        let ambiguous = try household.keyfob(["get", "db.example", "--json"])
        let error = try JSONSerialization.jsonObject(with: Data(ambiguous.error.utf8)) as? [String: Any]
        let details = (error?["error"] as? [String: Any])?["details"] as? [String: Any]
        #expect(
            details?["candidates"] as? String
                == "https://bob@db.example:8443\nssh://bob@db.example\nbob@db.example/a")
        let removal = try household.document(["rm", "--yes", "db.example", "--protocol", "ssh"])
        #expect(try members(removal["removed"], at: "db.example") == ["ssh 0 -"])
        let removed = try #require((removal["removed"] as? [[String: Any]])?.first?["reference_b64"] as? String)
        #expect(references.contains(removed))
    }

    @Test func `--json prints a document also with -o -`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        #expect(try household.document(["get", "a", "-o", "-"])["value"] as? String == "value")
        #expect(try household.keyfob(["get", "a", "-o", "-"]).output == "value")
    }

    @Test func `a mistyped name gets a suggestion`() throws {
        let household = try TestHome.unattended()
        try household.set("db/prod", "x")
        let failure = try household.failure(["get", "db/prdo"])
        #expect(failure.status == 3)
        #expect(failure.hint.contains("\"db/prod\""))
    }

    /// The input, the options, and the outputs of `get` and of `get --raw`.
    @Test(
        arguments: [
            (Data("text\n".utf8), [], Data("text\n".utf8), Data("text".utf8)),
            (Data("text".utf8), [], Data("text\n".utf8), Data("text".utf8)),
            (Data("text\n\n".utf8), [], Data("text\n\n".utf8), Data("text\n".utf8)),
            (Data("text\n".utf8), ["--keep-newline"], Data("text\n\n".utf8), Data("text\n".utf8)),
            (Data("a\r\n".utf8), [], Data("a\r\n".utf8), Data("a\r".utf8)),
            (Data("a\r\nb\r\n\r\n".utf8), [], Data("a\r\nb\r\n\r\n".utf8), Data("a\r\nb\r\n\r".utf8)),
            (Data([0, 255, 10]), [], Data([0, 255, 10]), Data([0, 255, 10])),
            (Data(), ["--allow-empty"], Data("\n".utf8), Data()),
        ] as [(Data, [String], Data, Data)])
    func `one newline is removed and added for text, and binary values are unchanged`(
        input: Data, options: [String], printed: Data, raw: Data
    ) throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["set", "x"] + options, input: input).status == 0)
        let script = "\"$0\" get x > \"$1\" && \"$0\" get x --raw > \"$2\" && \"$0\" get x -o \"$3\""
        let files = ["printed", "raw", "file"].map { household.directory.file($0) }
        let shell = Tool(
            "/bin/sh", ["-c", script, Tool.keyfob([]).path] + files, environment: household.environment)
        #expect(try shell.run().status == 0)
        #expect(try household.directory.read("printed") == Array(printed))
        #expect(try household.directory.read("raw") == Array(raw))
        #expect(try household.directory.read("file") == Array(raw))
        let document = try household.document(["get", "x"])
        if let text = String(data: raw, encoding: .utf8) {
            #expect(document["value"] as? String == text)
        } else {
            #expect(document["value_b64"] as? String == raw.base64EncodedString())
        }
    }

    @Test func `an empty value is refused`() throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["set", "x", "--stdin"]).status == 2)
        #expect(try household.keyfob(["set", "x"], input: Data("\n".utf8)).status == 2)
    }

    @Test func `a value comes from a file, a variable or a descriptor, and only from one`() throws {
        let household = try TestHome.unattended()
        let file = try household.directory.write(Array("from file\n".utf8), to: "value")
        #expect(try household.keyfob(["set", "f", "--from-file", file]).status == 0)
        #expect(try household.keyfob(["set", "e", "--from-env", "V"], environment: ["V": "from env"]).status == 0)
        let shell = Tool(
            "/bin/sh", ["-c", "\"$0\" set d --from-fd 3 3< \"$1\"", Tool.keyfob([]).path, file],
            environment: household.environment)
        #expect(try shell.run().status == 0)
        #expect(try household.keyfob(["get", "f"]).output == "from file\n")
        #expect(try household.keyfob(["get", "e"]).output == "from env\n")
        #expect(try household.keyfob(["get", "d"]).output == "from file\n")
        #expect(try household.failure(["set", "x", "--from-file", file, "--stdin"]).status == 2)
        #expect(try household.failure(["set", "x", "--from-env", "NOT_SET"]).status == 2)
        #expect(try household.failure(["set", "x", "--from-fd", "99"]).code == "file.unavailable")
        #expect(try household.failure(["set", "x", "--from-file", "/nonexistent"]).code == "file.unavailable")
        #expect(try household.failure(["set", "x", "--stdin", "--pin-source", "stdin"]).status == 2)
    }

    @Test func `binary values are not printed to a terminal`() throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["set", "x"], input: Data([0, 27, 255])).status == 0)
        let terminal = try PseudoTerminal()
        let shell = Tool(
            "/bin/sh", ["-c", "\"$0\" get x > \"$1\"", Tool.keyfob([]).path, terminal.path],
            environment: household.environment)
        #expect(try shell.run().status == 12)
    }

    @Test func `a large value is stored completely, and one that is too large is refused`() throws {
        let household = try TestHome.unattended()
        let large = Data((0..<20_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        try large.write(to: household.directory.url("large"))
        #expect(try household.keyfob(["set", "x", "--from-file", household.directory.file("large")]).status == 0)
        #expect(try household.keyfob(["get", "x", "-o", household.directory.file("copy")]).status == 0)
        #expect(try Data(contentsOf: household.directory.url("copy")) == large)
        try Data(count: 33 << 20).write(to: household.directory.url("larger"))
        let failure = try household.failure(["set", "y", "--from-file", household.directory.file("larger")])
        #expect(failure.code == "secret.too_large")
    }

    @Test(arguments: [
        "with blank", "-dash", "ümlaut", "u\u{308}mlaut", "👩‍👩‍👧", "\u{202e}gnp.exe", "a\u{1B}[31mred", "line\nbreak",
        "tab\tstop",
        "quote'\"", "\u{FEFF}bom", "ﷺ", String(repeating: "n", count: 5000), "%s%n", "$(id)",
    ])
    func `an item with any name can be stored, found, listed and removed`(name: String) throws {
        let household = try TestHome.unattended()
        try household.set(name, "value")
        #expect(try household.keyfob(["get", "--", name]).output == "value\n")
        // JSONSerialization would drop a byte order mark at the beginning of a string.
        struct List: Decodable { let items: [Entry] }
        struct Entry: Decodable { let name: String }
        let list = try JSONDecoder().decode(List.self, from: Data(household.keyfob(["ls", "--json"]).output.utf8))
        #expect(try #require(list.items.first).name.utf8.elementsEqual(name.utf8))
        let table = try household.keyfob(["ls"]).output
        #expect(!table.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202e}" })
        #expect(table.filter { $0 == "\n" }.count == 2)
        #expect(try household.keyfob(["rm", "--yes", "--", name]).status == 0)
        #expect(try household.failure(["get", "--", name]).status == 3)
    }

    @Test func `names that look alike are different names`() throws {
        let household = try TestHome.unattended()
        try household.set("\u{FC}", "composed")
        try household.set("u\u{308}", "decomposed")
        #expect(try household.keyfob(["get", "\u{FC}"]).output == "composed\n")
        #expect(try household.keyfob(["get", "u\u{308}"]).output == "decomposed\n")
    }

    @Test func `an argument that is not UTF-8 is refused, not repaired`() throws {
        let household = try TestHome.unattended()
        let shell = Tool(
            "/bin/bash", ["-c", "\"$0\" set $'\\xff' --from-env HOME", Tool.keyfob([]).path],
            environment: household.environment)
        #expect(try shell.run().status == 2)
        #expect((try household.document(["ls"])["items"] as? [Any])?.isEmpty == true)
    }

    @Test func `a removal asks for confirmation, and looks up all names first`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "1")
        try household.set("b", "2")
        #expect(try household.keyfob(["rm", "a"]).status == 12)
        #expect(try household.keyfob(["rm", "a", "nonsense", "--yes"]).status == 3)
        #expect(try household.keyfob(["rm", "a", "--dry-run", "--yes"]).status == 0)
        #expect(try household.keyfob(["get", "a"]).output == "1\n")
        let kept = try household.keyfob(["rm", "a"], typing: ["n"], after: "] ").result
        #expect(kept.status == 130 && kept.error.contains("nothing was removed"), "\(kept.error)")
        // The confirmed item is removed, but the command does not succeed.
        try household.set("c", "3")
        let partly = try household.keyfob(["rm", "a", "c"], typing: ["n", "y"], after: "] ").result
        #expect(partly.status == 130 && partly.output == "Removed \"c\" from \"login\".\n", "\(partly)")
        #expect(partly.error.contains("\"a\" kept"), "\(partly.error)")
        // Without the list on standard output, the error says what is gone.
        try household.set("c", "3")
        let listed = try household.keyfob(["rm", "c", "a", "--json"], typing: ["y", "n"], after: "] ").result
        #expect(listed.status == 130 && listed.error.contains(#""removed":"c""#), "\(listed.error)")
        #expect(try household.keyfob(["rm", "a", "b", "--yes"]).status == 0)
        let gone = try household.keyfob(["rm", "a", "b", "a", "--if-exists", "--yes"])
        #expect(gone.status == 0, "\(gone.error)")
        #expect(gone.output == "Nothing to do: there is no item \"a\", \"b\" in \"login\".\n")
        #expect(try household.keyfob(["rm", "a", "--if-exists", "--yes", "--quiet"]).output.isEmpty)
        #expect((try household.document(["ls"])["items"] as? [Any])?.isEmpty == true)
    }

    @Test func `lists are filtered by prefix and kind, and sorted on demand`() throws {
        let household = try TestHome.unattended()
        for name in ["b/2", "a/1", "b/1"] { try household.set(name, "x") }
        try household.set("b.example.org", "x", ["--kind", "internet"])
        func names(_ arguments: [String]) throws -> [String] {
            try (household.document(["ls"] + arguments)["items"] as? [[String: Any]] ?? []).compactMap {
                $0["name"] as? String
            }
        }
        #expect(try names([]) == ["b/2", "a/1", "b/1", "b.example.org"])
        #expect(try names(["--sort", "name"]) == ["a/1", "b.example.org", "b/1", "b/2"])
        #expect(try names(["b/"]) == ["b/2", "b/1"])
        #expect(try names(["--kind", "internet"]) == ["b.example.org"])
        let tsv = try household.keyfob(["ls", "--format", "tsv", "a/"]).output.split(separator: "\n")
        #expect(tsv.count == 2 && tsv[1].hasPrefix("a/1\t"))
    }

    @Test func `an editor changes the value in a file that is removed afterwards`() throws {
        let household = try TestHome.unattended()
        try household.set("x", "old value")
        let script = try household.directory.write(
            Array("#!/bin/sh\nls -l \"$1\" > \(household.directory.file("seen"))\necho new value > \"$1\"\n".utf8),
            to: "editor")
        let edit = try household.keyfob(["secret", "edit", "x"], environment: ["EDITOR": "sh " + script])
        #expect(edit.status == 0, "\(edit.error)")
        #expect(try household.keyfob(["get", "x"]).output == "new value\n")
        let seen = String(decoding: try household.directory.read("seen"), as: UTF8.self)
        #expect(seen.hasPrefix("-rw-------"))
        let path = String(try #require(seen.split(separator: " ").last)).trimmingBlanks
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(!FileManager.default.fileExists(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path))
        #expect(
            MemoryFileSystem.holds(
                URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent().path))
        #expect(try household.failure(["secret", "edit", "x"], environment: ["EDITOR": "false"]).code == "failed")
        let unchanged = try household.keyfob(["secret", "edit", "x", "--json"], environment: ["EDITOR": "true"])
        #expect(unchanged.output.contains("\"changed\":false"))
    }

    @Test func `an editor's file never reaches a disk`() {
        #expect(throws: (any Error).self) { _ = try ScratchDirectory(candidates: ["/proc", "/nonexistent"]) }
        #expect(!MemoryFileSystem.holds("/proc"))
    }

    @Test func `generated secrets have the requested length and letters`() throws {
        let household = try TestHome.unattended()
        let printed = try household.keyfob(["secret", "generate", "x", "--length", "50", "--charset", "hex", "--print"])
            .output
        #expect(printed.trimmingBlanks.count == 50)
        #expect(printed.trimmingBlanks.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        #expect(try household.keyfob(["get", "x"]).output == printed)
        #expect(try household.keyfob(["secret", "generate", "y"]).output == "Stored y in \"login\".\n")
        #expect(try household.failure(["secret", "generate", "y"]).code == "item.exists")
        // A script that runs again gets the same secret, without a sentence.
        let again = ["secret", "generate", "x", "--if-missing", "--print"]
        #expect(try household.keyfob(again).output == printed)
        let document = try household.document(again)
        #expect(document["value"] as? String == printed.trimmingBlanks && document["changed"] as? Bool == false)
        #expect(try household.failure(["secret", "generate", "z", "--length", "0"]).status == 2)
    }

    @Test(arguments: Alphabet.allCases)
    func `all letters of an alphabet are equally frequent`(alphabet: Alphabet) throws {
        let perSymbol = 1000
        let bytes = try alphabet.text(length: alphabet.symbols.count * perSymbol).copyBytes()
        var counts: [UInt8: Int] = [:]
        for byte in bytes { counts[byte, default: 0] += 1 }
        #expect(Set(counts.keys) == Set(alphabet.symbols))
        // Mapping 256 values to 62 letters would make eight letters a quarter more frequent; the deviation here is
        // about 3 %.
        #expect(counts.values.allSatisfy { abs($0 - perSymbol) < perSymbol / 5 })
    }

    @Test func `a copy has the value and the attributes`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value", ["--user", "app", "--comment", "remark"])
        #expect(try household.keyfob(["secret", "copy", "a", "b"]).status == 0)
        let copy = try household.document(["secret", "show", "b", "--reveal"])
        #expect(copy["value"] as? String == "value")
        #expect(copy["user"] as? String == "app")
        #expect(copy["comment"] as? String == "remark")
        #expect(try household.failure(["secret", "copy", "a", "b"]).code == "item.exists")
        #expect(try household.failure(["secret", "copy", "a"]).status == 2)
        #expect(try household.failure(["secret", "copy", "a", "a", "--replace"]).hint == "Give the copy another name.")
    }

    @Test func `a password of a server is not copied under another label, and the hint gives a command`() throws {
        let household = try TestHome.unattended()
        try household.set("mail", "value", ["--server", "smtp.example.com", "--user", "me"])
        let failure = try household.failure(["secret", "copy", "mail", "my mail", "--replace"])
        #expect(failure.status == 2)
        #expect(failure.hint.contains("smtp.example.com"), "\(failure.hint)")
        #expect(failure.hint.hasSuffix("keyfob secret set 'my mail' --server HOST"), "\(failure.hint)")
        try household.set("my mail", "other", ["--server", "imap.example.com"])
        #expect(try household.keyfob(["get", "my mail"]).output == "other\n")
        #expect(try household.keyfob(["get", "mail"]).output == "value\n")
    }

    @Test func `the JWE of an item contains no plaintext`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "plaintext")
        let text = try household.keyfob(["secret", "show", "a", "--jwe"]).output
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(Set(object.keys).isSuperset(of: ["header", "encrypted_key", "iv", "ciphertext", "tag", "protected"]))
        #expect(!text.contains("plaintext"))
    }

    @Test func `completion offers names of an unlocked keychain, and asks nothing for a locked one`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        try household.set("db/prod", "x")
        let words = ["---completion", "get", "--", "positional@0", "1", "3", "keyfob", "get", "db"]
        let open = try household.keyfob(words)
        #expect(open.output.contains("db/prod"), "\(open.error)")
        #expect(try household.keyfob(["lock"]).status == 0)
        let locked = try household.keyfob(words)
        #expect(!locked.output.contains("db/prod"))
        #expect(locked.status == 0)
    }
}
