import Foundation
import TestSupport
import Testing

/// The credential helper of git, as gitcredentials(7) and git-credential(1) describe it.
@Suite struct GitHelperTests {
    private let helpers: HelperHome

    init() throws { helpers = try .linked() }

    @discardableResult
    private func git(_ operation: String, _ lines: String...) throws -> String {
        let result = try helpers.call("git-credential-keyfob", [operation], lines.map { $0 + "\n" }.joined())
        #expect(result.status == 0, "\(result.error)")
        #expect(result.error.isEmpty)
        return result.output
    }

    private func store(_ user: String, _ password: String, _ more: String...) throws {
        let lines = ["protocol=https", "host=example.org", "username=" + user, "password=" + password] + more
        let result = try helpers.call("git-credential-keyfob", ["store"], lines.map { $0 + "\n" }.joined())
        try #require(result.status == 0, "\(result.error)")
        try #require(result.output.isEmpty)
    }

    // MARK: The real git

    @Test func `git clones with the password that it stored, and erases it once it is wrong`() throws {
        let server = try AuthenticatedServer(helpers)
        try helpers.shell(
            """
            git config --global credential.helper keyfob
            git init -q work && git -C work commit -q --allow-empty -m first
            git clone -q --bare work www/repo.git && git -C www/repo.git update-server-info
            printf '%s\\n' '\(AuthenticatedServer.basic("al", "first"))' > allowed
            """)
        try helpers.home.directory.writeProgram("case $1 in User*) echo al ;; *) echo first ;; esac\n", to: "answers")
        // With nothing stored, git asks the person, and stores the answer.
        let url = "http://\(server.host)/repo.git"
        #expect(try helpers.run("git clone -q \(url) none").status != 0)
        try helpers.shell("git clone -q \(url) one", environment: ["GIT_ASKPASS": helpers.file("answers")])
        #expect(try helpers.accounts() == ["al@\(server.host)"])
        // Nothing answers questions now.
        try helpers.shell("git clone -q \(url) two && git -C two log --format=%s | grep -qx first")
        // The server's password changes; another user's stays stored.
        try helpers.shell(
            """
            printf 'protocol=http\\nhost=\(server.host)\\nusername=bo\\npassword=second\\n' | git credential approve
            printf '%s\\n' '\(AuthenticatedServer.basic("al", "other"))' > allowed
            """)
        #expect(try helpers.run("git ls-remote http://al@\(server.host)/repo.git").status != 0)
        #expect(try helpers.accounts() == ["bo@\(server.host)"])
    }

    @Test func `git with useHttpPath uses the password of each repository`() throws {
        let fill = "printf 'url=https://example.org/%s\\n' \"$1\" | git -c credential.helper=keyfob -c credential.useHttpPath=true credential"
        for name in ["one", "two"] {
            try helpers.shell(
                "set -- \(name).git; printf 'url=https://al:pass-\(name)@example.org/%s\\n' \"$1\" | git -c credential.helper=keyfob -c credential.useHttpPath=true credential approve"
            )
        }
        #expect(try helpers.accounts() == ["al@example.org/one.git", "al@example.org/two.git"])
        #expect(try helpers.shell("set -- two.git; \(fill) fill").contains("password=pass-two\n"))
        #expect(try helpers.run("set -- three.git; \(fill) fill").status != 0)
    }

    // MARK: The protocol

    @Test func `a password is an internet password that other commands find`() throws {
        #expect(try git("get", "protocol=https", "host=example.org").isEmpty)
        try store("al", "p a=s's", "capability[]=authtype", "wwwauth[]=Basic realm=\"x\"", "unknown=x")
        #expect(try git("get", "protocol=https", "host=example.org") == "username=al\npassword=p a=s's\n")
        #expect(try helpers.home.keyfob(["get", "example.org", "--protocol", "https", "--user", "al"]).output == "p a=s's\n")
        // The other direction.
        try helpers.home.set("git.example.net", "t0ken", ["--kind", "internet", "--protocol", "https", "--user", "ci"])
        #expect(try git("get", "protocol=https", "host=git.example.net") == "username=ci\npassword=t0ken\n")
    }

    @Test func `the server of a password that another command stored may have capitals`() throws {
        try helpers.home.set("GitHub.com", "t0ken", ["--kind", "internet", "--protocol", "https", "--user", "ci"])
        #expect(try git("get", "protocol=https", "host=github.com") == "username=ci\npassword=t0ken\n")
        // It is replaced, not doubled.
        try git("store", "protocol=https", "host=github.com", "username=ci", "password=new")
        #expect(try helpers.home.keyfob(["get", "GitHub.com"]).output == "new\n")
        // Another account has an item in lower case, and the first one is still found.
        try git("store", "protocol=https", "host=github.com", "username=al", "password=other")
        #expect(try git("get", "protocol=https", "host=github.com", "username=ci").hasSuffix("password=new\n"))
        try git("erase", "protocol=https", "host=github.com", "username=ci", "password=new")
        #expect(try helpers.accounts() == ["al@github.com"])
    }

    @Test func `a request with another protocol, host, port or path gets nothing`() throws {
        try store("al", "secret")
        for lines in [
            ["protocol=http", "host=example.org"], ["protocol=https", "host=example.net"],
            ["protocol=https", "host=sub.example.org"], ["protocol=https", "host=example.org:8443"],
            ["protocol=https", "host=example.org", "path=repo.git"], ["protocol=https", "host=example.org", "username=bo"],
        ] {
            let result = try helpers.call("git-credential-keyfob", ["get"], lines.joined(separator: "\n"))
            #expect(result.status == 0 && result.output.isEmpty, "\(lines): \(result.output)")
        }
        #expect(try git("get", "protocol=HTTPS", "host=Example.org:443").hasSuffix("password=secret\n"))
    }

    @Test func `a request without a path prefers the password of the whole server`() throws {
        try store("al", "of the server")
        try store("al", "of the repository", "path=repo.git")
        #expect(try git("get", "protocol=https", "host=example.org").hasSuffix("password=of the server\n"))
        #expect(try git("get", "protocol=https", "host=example.org", "path=repo.git").hasSuffix("of the repository\n"))
        try git("erase", "protocol=https", "host=example.org", "password=of the server")
        #expect(try git("get", "protocol=https", "host=example.org").hasSuffix("password=of the repository\n"))
    }

    @Test func `several users of a server have passwords of their own`() throws {
        try store("al", "one")
        try store("bo", "two")
        try store("", "no user")
        #expect(try git("get", "protocol=https", "host=example.org", "username=al").hasSuffix("password=one\n"))
        #expect(try git("get", "protocol=https", "host=example.org", "username=bo").hasSuffix("password=two\n"))
        #expect(try git("get", "protocol=https", "host=example.org", "username=") == "username=\npassword=no user\n")
        // Without a user, the one that was stored last.
        try store("al", "three")
        #expect(try git("get", "protocol=https", "host=example.org") == "username=al\npassword=three\n")
        #expect(try helpers.accounts().count == 3)
    }

    @Test func `erase removes the password that git sent and no other`() throws {
        try store("al", "right")
        try store("bo", "other")
        try git("erase", "protocol=https", "host=example.org", "username=al", "password=wrong")
        #expect(try helpers.accounts().count == 2)
        try git("erase", "protocol=https", "host=example.org", "username=bo", "password=right")
        #expect(try helpers.accounts().count == 2)
        try git("erase", "protocol=https", "host=example.org", "username=al", "password=right")
        #expect(try helpers.accounts() == ["bo@example.org"])
        try git("erase", "protocol=https", "host=example.org", "username=al", "password=right")
        try store("cy", "third")
        try git("erase", "protocol=https", "host=example.org")
        #expect(try helpers.accounts().isEmpty)
    }

    @Test func `an expiry date and a refresh token come back with the password`() throws {
        try store("al", "token", "password_expiry_utc=4102444800", "oauth_refresh_token=fresh")
        let lines = "username=al\npassword=token\npassword_expiry_utc=4102444800\noauth_refresh_token=fresh\n"
        #expect(try git("get", "protocol=https", "host=example.org") == lines)
        // The password alone is compared.
        try git("erase", "protocol=https", "host=example.org", "password=token", "password_expiry_utc=1")
        #expect(try helpers.accounts().isEmpty)
        try store("al", "token", "oauth_refresh_token=fresh")
        try store("al", "plain")
        #expect(try git("get", "protocol=https", "host=example.org") == "username=al\npassword=plain\n")
    }

    @Test func `the same password is not written again`() throws {
        try store("al", "same")
        let before = try Data(contentsOf: URL(fileURLWithPath: helpers.home.vault()))
        try store("al", "same")
        #expect(try Data(contentsOf: URL(fileURLWithPath: helpers.home.vault())) == before)
    }

    @Test func `what is not a password, or valid once only, is not stored`() throws {
        try git("store", "protocol=https", "host=example.org", "authtype=Bearer", "credential=abc")
        try git("store", "protocol=https", "host=example.org", "username=al", "password=x", "ephemeral=1")
        #expect(try helpers.accounts().isEmpty)
    }

    @Test(arguments: ["capability", "frobnicate", "GET"])
    func `an unknown operation does nothing`(operation: String) throws {
        #expect(try git(operation, "garbage").isEmpty)
    }

    @Test func `options of the helper's line in git's configuration select the keychain`() throws {
        #expect(try helpers.home.keyfob(["keychain", "create", "work", "--unattended"]).status == 0)
        try helpers.shell(
            "printf 'url=https://al:x@example.org\\n' | git -c credential.helper='keyfob -k work' credential approve")
        #expect(try helpers.accounts().isEmpty)
        #expect(try helpers.home.keyfob(["get", "example.org", "-k", "work"]).output == "x\n")
    }

    // MARK: Bad input

    @Test(arguments: [
        "protocol", "protocol=https", "host=example.org", "path=x", "", "protocol=ht<NUL>tps\nhost=example.org",
        "protocol=https\nhost=example.org\r", "protocol=https\nhost=example.org:99999", "protocol=https\nhost=a b",
        "protocol=https\nhost=a/b", "protocol=ht:tps\nhost=example.org", "protocol=https\nhost=example.org\npath=a\u{1}b",
        "protocol=https\nhost=example.org\nusername=al", "protocol=https\nhost=example.org\npassword=x",
        "protocol=https\nhost=example.org\nusername=al\npassword=x\npassword_expiry_utc=soon",
        "protocol=https\nhost=example.org\nusername=al\npassword=x\npassword_expiry_utc=1<NUL>",
    ])
    func `a malformed request is one line of error and changes nothing`(request: String) throws {
        try store("keep", "kept")
        // The log of the tests ends at a NUL.
        let request = request.replacing("<NUL>", with: "\u{0}")
        let result = try helpers.call("git-credential-keyfob", ["store"], request + "\n")
        #expect(result.status == 2 && result.output.isEmpty, "\(result.output)")
        #expect(result.error.hasPrefix("keyfob: ") && result.error.count(where: { $0 == "\n" }) == 1, "\(result.error)")
        #expect(result.error.contains("nothing was changed"))
        #expect(try helpers.accounts() == ["keep@example.org"])
    }

    @Test func `input without an end is bounded`() throws {
        let result = try helpers.call("git-credential-keyfob", ["get"], String(repeating: "a", count: 3 << 20))
        #expect(result.status == 12 && result.output.isEmpty)
        #expect(result.error.contains("1.0 MiB"), "\(result.error)")
    }

    @Test func `a stored value cannot forge lines of the protocol`() throws {
        let options = ["--kind", "internet", "--protocol", "https"]
        for (name, value, user) in [
            ("one.example", "x\nhost=evil.example", "al"), ("two.example", "x\rquit=1", "al"), ("three.example", "x\ny", "al"),
            ("four.example", "x", "al\npassword=forged"), ("five.example", "x\noauth_refresh_token=a\rb", "al"),
        ] {
            try helpers.home.set(name, value, options + ["--user", user])
            let result = try helpers.call("git-credential-keyfob", ["get"], "protocol=https\nhost=\(name)\n")
            #expect(result.status == 9 && result.output.isEmpty, "\(name): \(result.output)")
            #expect(result.error.contains("line break") && !result.error.contains("evil"), "\(result.error)")
        }
    }

    @Test func `a locked keychain is an error without a question, also at a terminal`() throws {
        let locked = try HelperHome.linked(.withPassphrase("correct horse battery"))
        let request = "protocol=https\nhost=example.org\n"
        try locked.home.directory.write(request.utf8, to: "request")
        let terminal = try PseudoTerminal()
        let script = "exec setsid --ctty --wait sh -c '\"$0\" helper git get < \"$1\"' \"$@\" < \(terminal.path)"
        let result = try Tool(
            "/bin/sh", ["-c", script, "sh", Tool.commandPath, locked.file("request")],
            environment: locked.home.environment
        ).run()
        #expect(result.status == 6 && result.output.isEmpty)
        #expect(result.error.count(where: { $0 == "\n" }) == 1 && result.error.contains("locked"), "\(result.error)")
    }
}
