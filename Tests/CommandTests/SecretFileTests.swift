import Foundation
import TestSupport
import Testing

/// Secrets passed to editors, files and streams.
@Suite struct SecretFileTests {
    private func store(_ value: String, in home: IdentityHome) throws {
        let result = try Tool.keyfob(
            ["set", "a", "--stdin"], environment: home.environment, input: Data(value.utf8)
        ).run()
        #expect(result.status == 0, "\(result.error)")
    }

    private func edit(_ home: IdentityHome, _ editor: String) throws -> Tool.Result {
        try Tool.keyfob(
            ["secret", "edit", "a"], environment: home.environment.merging(["EDITOR": editor]) { $1 }
        ).run()
    }

    @Test func `an editor does not undo a change that another process stored in the meantime`() throws {
        let home = try IdentityHome()
        try store("one", in: home)
        try home.shell(
            """
            cat >editor <<'SCRIPT'
            printf two | '\(Tool.keyfob([]).path)' set a --stdin --replace -q
            printf three >"$1"
            SCRIPT
            """)
        let result = try edit(home, "sh '\(home.file("editor"))'")
        #expect(result.status == 13, "\(result.error)")
        #expect(try home.keyfob("get", "a").output == "two\n")
        // No other process this time.
        try home.shell("printf 'printf four >\"$1\"' >editor")
        #expect(try edit(home, "sh '\(home.file("editor"))'").status == 0)
        #expect(try home.keyfob("get", "a").output == "four\n")
    }

    @Test(arguments: ["false", "/nonexistent/editor"])
    func `an editor that fails is a failure with a remedy, not an interrupt`(editor: String) throws {
        let home = try IdentityHome()
        try store("one", in: home)
        let result = try edit(home, editor)
        #expect(result.status == 1)
        #expect(result.error.contains("$VISUAL") && result.error.contains("$EDITOR"))
        #expect(try home.keyfob("get", "a").output == "one\n")
    }

    @Test func `a dash for a file is standard output`() throws {
        let home = try IdentityHome()
        try store("one", in: home)
        #expect(try home.shell("\"$KEYFOB\" get a -o -; ls -- - 2>/dev/null || true", environment: ["KEYFOB": Tool.keyfob([]).path]) == "one")
        let text = try home.shell(
            """
            "$KEYFOB" keychain create site --pin-source env:PHRASE --recovery-file - >out
            test ! -e ./-
            chmod 600 out
            "$KEYFOB" lock site -q
            "$KEYFOB" unlock site --recovery --pin-source file:out
            """, environment: ["KEYFOB": Tool.keyfob([]).path, "PHRASE": "correct horse"])
        #expect(text.hasPrefix("Unlocked \"site\""), "\(text)")
        let both = try Tool.keyfob(
            ["keychain", "create", "s2", "--pin-source", "env:PHRASE", "--recovery-file", "-", "--json"],
            environment: home.environment.merging(["PHRASE": "x"]) { $1 }
        ).run()
        #expect(both.status == 2 && both.output.isEmpty)
    }

    @Test(arguments: ["ends in CR\r", "in CR LF\r\n", "in LF\n", "\n", "", "two\r\nlines"])
    func `an editor that changes nothing leaves the value as it is`(value: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", value, ["--keep-newline", "--allow-empty"])
        let edit = try household.keyfob(["secret", "edit", "a"], environment: ["EDITOR": "true"])
        #expect(edit.status == 0 && edit.output == "Unchanged: a exists in \"login\".\n", "\(edit.output)\(edit.error)")
        #expect(try household.keyfob(["get", "a", "--raw"]).output == value)
    }

    @Test(arguments: ["one\r", "one\r\nand one\r", "one\n"])
    func `characters before the newline of an editor stay`(value: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", value, ["--keep-newline"])
        let edit = try household.keyfob(["secret", "edit", "a"], environment: ["EDITOR": "sed -i s/one/two/"])
        #expect(edit.status == 0, "\(edit.error)")
        #expect(try household.keyfob(["get", "a", "--raw"]).output == value.replacing("one", with: "two"))
    }

    @Test(arguments: ["rm \"$1\"; mkfifo", "rm \"$1\"; mkdir", "rm", "rm \"$1\"; ln -s /etc/passwd"])
    func `an editor's file that is not a regular file is neither waited for nor followed`(commands: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "one")
        let editor = try household.directory.write(Array((commands + " \"$1\"\n").utf8), to: "editor")
        let edit = try household.failure(["secret", "edit", "a"], environment: ["EDITOR": "sh \(editor)"])
        #expect(edit.code == "file.unavailable")
        #expect(try household.keyfob(["get", "a"]).output == "one\n")
    }

    @Test(arguments: ["--stdin", "--from-fd 3 3<&0 </dev/null"], ["--if-missing", "--replace --dry-run"])
    func `a pipe with a value that is not needed is read to its end`(source: String, options: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "one")
        func set(_ producer: String) throws -> Tool.Result {
            let script = "set -o pipefail; \(producer) | \"$0\" set a \(options) \(source)"
            return try Tool("/bin/bash", ["-c", script, Tool.keyfob([]).path], environment: household.environment).run()
        }
        // More than a pipe holds.
        let whole = try set("head -c 1000000 /dev/zero")
        #expect(whole.status == 0, "\(whole.output)\(whole.error)")
        // But not more than could be stored, which a dry run refuses like the run.
        let endless = try set("{ yes || :; }")
        #expect(endless.status == (options == "--if-missing" ? 0 : 12), "\(endless.output)\(endless.error)")
        #expect(try household.keyfob(["get", "a"]).output == "one\n")
    }

    @Test func `a file that is written has its document`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "one")
        for (options, written) in [(["--dry-run"], false), ([], true)] {
            let document = try household.document(["get", "a", "-o", household.directory.file("out")] + options)
            #expect(document["written"] as? Bool == written)
            #expect(document["file"] as? String == household.directory.file("out"))
            #expect(document["value"] == nil)
        }
        #expect(try household.directory.read("out") == Array("one".utf8))
    }

    @Test(arguments: [
        ["get", "a", "-o", "FILE", "--dry-run"], ["key", "pub", "k", "-o", "FILE", "--dry-run"],
        ["uri", "web", "--for", "gnutls", "--write", "FILE", "--dry-run"],
        ["identity", "use", "web", "--service", "https://example.org", "--dry-run"],
    ])
    func `a dry run writes nothing and does not claim to have written`(command: [String]) throws {
        let home = try IdentityHome()
        try store("one", in: home)
        #expect(try home.keyfob("key", "generate", "k").status == 0)
        #expect(try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        let words = command.map { $0 == "FILE" ? home.file("file") : $0 }
        let result = try Tool.keyfob(words, environment: home.environment).run()
        #expect(result.status == 0, "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: home.file("file")))
        for claim in ["Wrote", "is preferred"] { #expect(!result.output.contains(claim), "\(result.output)") }
        let document = try Tool.keyfob(words + ["--json"], environment: home.environment).run()
        #expect(document.status == 0 && !document.output.contains("\"written\":true"), "\(document.error)")
        #expect(!FileManager.default.fileExists(atPath: home.file("file")))
    }
}
