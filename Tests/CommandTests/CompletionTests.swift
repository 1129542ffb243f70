import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Names that the shells complete.
@Suite struct CompletionTests {
    /// Asks bash, with the script of the command under test, for the words that may follow `words`.
    private func bash(_ household: TestHome, _ words: [String]) throws -> [String] {
        let script = """
            cd "$HOME" && PATH=${KEYFOB%/*}:$PATH && source <(keyfob completion bash) || exit 9
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
            _keyfob keyfob "${@: -1}" "${@: -2:1}"
            [ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
            """
        let tool = Tool(
            "/bin/bash", ["--norc", "-c", script, "bash"] + words,
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path]) { $1 })
        let result = try tool.run()
        try #require(result.status == 0, "\(result.error)")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test func `a shell that completes a name never runs it`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        let names = ["$(touch ran)x", "`touch ran`", "with space", "it's", "back\\slash", "git/https://a", "a;b", "~"]
        for name in names { try household.set(name, "x") }
        try household.set("two\nlines", "x")
        try household.set("-option", "x")
        let offered = names.filter { !$0.contains("touch") }
        #expect(try bash(household, ["keyfob", "get", ""]).sorted() == offered.sorted())
        #expect(try bash(household, ["keyfob", "get", "with\\ s"]) == ["with space"])
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("home/ran")))
    }

    @Test func `an option before the verb is recognised, and its value is not a verb`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        try household.set("one", "x")
        for line in [["-k"], ["--keychain"], ["secret", "-k"], ["--json", "get", "-k"]] {
            #expect(try bash(household, ["keyfob"] + line + ["lo"]) == ["login"], "\(line)")
        }
        for line in [["-k", "login", "get"], ["--json", "get"], ["secret", "--quiet", "get"]] {
            #expect(try bash(household, ["keyfob"] + line + ["o"]) == ["one"], "\(line)")
        }
        #expect(try bash(household, ["keyfob", "-k", "login", "loc"]) == ["lock"])
        #expect(try bash(household, ["keyfob", "--col"]) == ["--color"])
        // If a verb is expected and no hyphen was typed, twenty options would only be noise.
        let verbs = try bash(household, ["keyfob", ""])
        #expect(verbs.contains("init") && !verbs.contains { $0.hasPrefix("-") })
    }

    /// The content of `home/got` after a line with a tab was typed at a prompt of bash, and the screen.
    private func got(
        _ household: TestHome, typing line: String, after setup: String = ":"
    ) throws -> (got: String, screen: String) {
        let start = "PS1='> '; source <(keyfob completion bash); \(setup)\n"
        try household.directory.write(Array(start.utf8), to: "home/rc")
        let terminal = try PseudoTerminal()
        let typist = terminal.type([line + " | cat > got\n", "exit\n"], after: "> ")
        let script = "cd \"$HOME\" && exec setsid --ctty --wait bash --noprofile --rcfile rc -i <$0 >$0 2>$0"
        let path = URL(fileURLWithPath: Tool.keyfob([]).path).deletingLastPathComponent().path + ":/usr/bin:/bin"
        let result = try Tool(
            "/bin/sh", ["-c", script, terminal.path],
            environment: household.environment.merging(["PATH": path, "TERM": "dumb"]) { $1 }
        ).run()
        #expect(result.status == 0, "\(result.error)")
        let screen = typist.wait()
        return (String(decoding: try household.directory.read("home/got"), as: UTF8.self), screen)
    }

    /// `COMPREPLY` is not everything: readline puts it into the command line, and omits the quotes of some names.
    @Test(arguments: ["n`./made`", "n$(touch ran)", "n${IFS}", "n(o)", "n;touch ran", "n >(touch ran)", "n!!", "no"])
    func `a completion at a prompt is the name, or nothing`(name: String) throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        try household.set(name, "value")
        let made = try household.directory.write(Array("#!/bin/sh\ntouch ran\n".utf8), to: "home/made")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: made)
        let (got, screen) = try got(household, typing: "keyfob get n\t")
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("home/ran")), "\(screen)")
        #expect(got == (name.contains { "$`".contains($0) } ? "" : "value\n"), "\(screen)")
    }

    /// readline ends a word at these characters.
    @Test(arguments: [
        ("keyfob get git/https:\t", "git/https://a\n"), ("keyfob get git/https://\t", "git/https://a\n"),
        ("keyfob get git\t", "git/https://a\n"), ("keyfob get git/https\\:\t", "git/https://a\n"),
        ("keyfob get k=\t", "k=v=w\n"), ("keyfob get k=v=\t", "k=v=w\n"), ("keyfob -k login get a:b\t", "a:b c\n"),
        ("keyfob get a:b' '\t", "a:b c\n"), ("keyfob get --keychain=login a:\t", "a:b c\n"),
        ("keyfob get --keychain=log\t k=v=w", "k=v=w\n"), ("keyfob get --format=jso\t a:b\\ c | wc -l", "1\n"),
        // With any quotes, and in the middle of a word nothing is changed.
        ("keyfob get x\\ y:\t", "x y:z w\n"), ("keyfob get 'x y':\t", "x y:z w\n"),
        ("keyfob get git/https://a" + String(repeating: "\u{2}", count: 8) + "\t\u{5}", "git/https://a\n"),
        ("keyfob -k login get k=v=w >/dev/null; keyfob get git/https:\t", "git/https://a\n"),
    ])
    func `a name with colons and equals signs is completed after any of them`(line: String, got: String) throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        for name in ["git/https://a", "k=v=w", "a:b c", "x y:z w", "q=git:hub"] { try household.set(name, name) }
        let answer = try self.got(household, typing: line)
        #expect(answer.got == got, "\(answer.screen)")
    }

    @Test func `the shell's settings stay as they were, and an error of its completion does not end it`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        try household.set("db:x", "value")
        let line = "keyfob get db:\t && trap -p RETURN && set -o | grep errexit"
        let answer = try got(household, typing: "{ " + line + "; }", after: "trap 'echo mine' RETURN; set -e")
        let words = answer.got.split(whereSeparator: \.isWhitespace)
        #expect(words == ["value", "trap", "--", "'echo", "mine'", "RETURN", "errexit", "on"], "\(answer)")
    }

    @Test func `a name is offered completely if no character in it ends a word`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        try household.set("q=git:hub", "value")
        let setup = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}"
        let answer = try got(household, typing: "keyfob get q=git:\t", after: setup)
        #expect(answer.got == "value\n", "\(answer.screen)")
    }

    @Test func `identities, certificates and keys are offered for arguments that take one`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        #expect(try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        #expect(try household.keyfob(["key", "generate", "api", "--type", "ec"]).status == 0)
        let authority = try household.directory.write(
            household.keyfob(["cert", "export", "web"]).output.utf8, to: "web.pem")
        try #require(household.keyfob(["identity", "rm", "web", "--yes"]).status == 0)
        try #require(household.keyfob(["cert", "import", authority, "--name", "ca"]).status == 0)
        #expect(try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        #expect(try bash(household, ["keyfob", "identity", "show", "w"]) == ["web"])
        #expect(try bash(household, ["keyfob", "uri", ""]).sorted() == ["api", "ca", "web"])
        for (line, offered) in [
            ("identity check", ["web"]), ("identity retire", ["web"]), ("cert show", ["ca", "web"]),
            ("cert rm", ["ca", "web"]), ("key pub", ["api", "web"]), ("key rm", ["api", "web"]),
        ] {
            let words = ["keyfob"] + line.split(separator: " ").map(String.init) + [""]
            #expect(try bash(household, words).sorted() == offered, "\(line)")
        }
        try #require(household.keyfob(["cert", "rm", "ca", "--yes"]).status == 0)
        #expect(try household.keyfob(["lock"]).status == 0)
        #expect(try bash(household, ["keyfob", "identity", "check", ""]) == ["web"])
        #expect(try bash(household, ["keyfob", "key", "rm", ""]).isEmpty)
        #expect(try bash(household, ["keyfob", "cert", "export", ""]) == ["web"])
        #expect(try household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        try household.set("inother", "x", ["-k", "other"])
        for options in [["--token", "other"], ["--token=other"], ["-k", "other"], ["-k=other"], ["-kother"]] {
            #expect(try bash(household, ["keyfob", "get"] + options + ["i"]) == ["inother"], "\(options)")
            #expect(try bash(household, ["keyfob", "cert", "export"] + options + ["w"]).isEmpty, "\(options)")
        }
    }

    @Test func `the values of an option or an argument are offered`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        #expect(try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        try household.directory.write(Array("x".utf8), to: "home/web.pem")
        try household.directory.write(Array("x".utf8), to: "home/$(touch ran).pem")
        let table: [(line: String, offered: [String])] = [
            ("ls --format y", ["yaml"]), ("ls --format p", []), ("--format j", ["json"]),
            ("cert export web --format p", ["pem"]), ("identity export web --format p", ["pkcs12"]),
            ("-k login key pub web --format s", ["ssh"]),
            ("cert verify web --usage ser", ["server"]), ("trust add web --for cl", ["client"]),
            ("identity import we", ["web.pem"]), ("identity import --key we", ["web.pem"]),
            ("identity import --cert we", ["web.pem"]), ("identity import --chain we", ["web.pem"]),
            ("identity install web --cert we", ["web.pem"]), ("cert import we", ["web.pem"]),
            ("cert chain w", ["web", "web.pem"]), ("cert verify w", ["web", "web.pem"]),
            ("trust add w", ["web", "web.pem"]), ("trust rm w", ["web", "web.pem"]), ("cert verify $", []),
            ("identity retire w", ["web"]), ("token show lo", ["login"]), ("token mechanisms lo", ["login"]),
            ("get --token lo", ["login"]), ("--token lo", ["login"]), ("identity export web -o we", ["web.pem"]),
            ("cert export web -o we", ["web.pem"]), ("trust export --output we", ["web.pem"]),
            ("key csr web -o we", ["web.pem"]), ("key pub web -o we", ["web.pem"]),
        ]
        for (line, offered) in table {
            let words = ["keyfob"] + line.split(separator: " ").map(String.init)
            #expect(try bash(household, words).sorted() == offered, "\(line)")
        }
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("home/ran")))
    }

    @Test func `each shell gets a name in the form that it takes literally`() {
        #expect(NameCompletion.candidates(["it's:(x)", "$(x)", "`x`"], for: .bash) == ["'it'\\''s:(x)'"])
        #expect(NameCompletion.candidates(["a:b\\c"], for: .zsh) == ["a\\:b\\\\c"])
        #expect(NameCompletion.candidates(["a:b\\c"], for: .fish) == ["a:b\\c"])
        #expect(NameCompletion.candidates(["a\tb", "a\nb", "-x", "a"], for: .fish) == ["a"])
        // A mark with an accent after it is another character to Swift, but not to a shell.
        let accented = ["it'\u{301}s", "$\u{301}(x)", "`\u{301}x`", "-\u{301}x"]
        #expect(NameCompletion.candidates(accented, for: .bash) == ["'it'\\''\u{301}s'"])
        #expect(NameCompletion.candidates(["a:\u{301}b"], for: .zsh) == ["a\\:\u{301}b"])
    }
}
