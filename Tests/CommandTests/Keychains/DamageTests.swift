import Foundation
import TestSupport
import Testing

@Suite struct DamageTests {
    private func sqlite(_ path: String, _ sql: String) throws {
        let result = try Tool(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.commit()", path,
                sql,
            ]
        ).run()
        try #require(result.status == 0, "\(result.error)")
    }

    @Test func `a missing token is named, and works again when it is back`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let (tokens, away) = (household.data + "/tokens", household.data + "/away")
        let copies = household.data + "/token-copies"
        try FileManager.default.moveItem(atPath: tokens, toPath: away)
        try FileManager.default.moveItem(atPath: copies, toPath: away + "-copies")
        for arguments in [["get", "a"], ["init"], ["set", "b"], ["unlock"]] {
            let failure = try household.failure(arguments, input: Data("x".utf8))
            #expect(failure.code == "token.absent", "\(arguments)")
            // The hint is not to insert the token, because it consists of files.
            #expect(failure.hint.contains(tokens) && failure.hint.contains("backup"), "\(failure.hint)")
            #expect(failure.status == 7, "\(arguments)")
        }
        let status = try household.document(["status"])
        #expect(status["token"] as? String == "login" && status["token_present"] as? Bool == false)
        #expect((status["problem"] as? [String: Any])?["code"] as? String == "token.absent")
        #expect(try household.keyfob(["status", "--exit-code"]).status == 10)
        for (path, back) in [(tokens, away), (copies, away + "-copies")] {
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
            try FileManager.default.moveItem(atPath: back, toPath: path)
        }
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test(arguments: [true, false], [["--unattended"], ["--pin-source", "env:P"]])
    func `a home directory may be moved or copied, and a copy does not affect the original`(
        isCopied: Bool, options: [String]
    ) throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init"] + options, environment: ["P": "open sesame"]).status == 0)
        try household.set("a", "value")
        // The unlocked state belongs to the keychain, wherever its directory is. Without it, the file with the PIN is
        // needed.
        #expect(try household.keyfob(["lock"]).status == 0)
        let (old, new) = (household.directory.file("home"), household.directory.file("new"))
        try FileManager.default.copyItem(atPath: old, toPath: new)
        if !isCopied { try FileManager.default.removeItem(atPath: old) }
        let source = options[0] == "--unattended" ? [] : options
        func there(_ arguments: [String]) throws -> Tool.Result {
            try household.keyfob(
                arguments + source, input: Data("x".utf8), environment: ["HOME": new, "P": "open sesame"])
        }
        #expect(try there(["get", "a"]).output == "value\n")
        #expect(try there(["set", "b"]).status == 0)
        #expect(try there(["keychain", "check"]).status == 0)
        #expect(try there(["keychain", "show"]).output.contains(new + "/.local/share"))
        #expect(try there(["keychain", "rm", "login", "-y"]).status == 0)
        for name in ["keychains", "tokens"] {
            let path = new + "/.local/share/keyfob/" + name
            guard FileManager.default.fileExists(atPath: path) else { continue }
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty, "\(name)")
        }
        guard isCopied else { return #expect(!FileManager.default.fileExists(atPath: old)) }
        let names = try household.keyfob(["ls", "--format", "tsv"] + source, environment: ["P": "open sesame"]).output
        #expect(names.split(separator: "\n").count == 2, "\(names)")
        #expect(try household.keyfob(["get", "a"] + source, environment: ["P": "open sesame"]).output == "value\n")
    }

    @Test func `the vault of another keychain is reported as damage, not as an empty vault`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try #require(try household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        let own = try vault("login", household)
        try FileManager.default.moveItem(atPath: own, toPath: own + ".away")
        try FileManager.default.copyItem(atPath: try vault("other", household), toPath: own)
        for arguments in [["get", "a"], ["ls"], ["set", "b"], ["rm", "-y", "a"]] {
            let failure = try household.failure(arguments, input: Data("x".utf8))
            #expect(failure.code == "db.damaged" && failure.status == 9, "\(arguments)")
            #expect(failure.hint.contains(own), "\(arguments)")
        }
        #expect(try household.document(["status"])["problem"] != nil)
        // It cannot be unlocked either.
        #expect(try household.keyfob(["lock"]).status == 0)
        #expect(try household.keyfob(["ls"]).status == 7)
        try FileManager.default.removeItem(atPath: own)
        try FileManager.default.moveItem(atPath: own + ".away", toPath: own)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    private func vault(_ name: String, _ household: TestHome) throws -> String {
        let shown = try household.document(["keychain", "show", name])
        return try #require(shown["vault"] as? String, "\(shown)")
    }

    @Test(arguments: [["tokens"], ["tokens", "token-copies"]])
    func `a keychain whose token is missing is removed only with --without-token`(
        missing: [String]
    ) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        for name in missing {
            try FileManager.default.moveItem(
                atPath: household.data + "/" + name, toPath: household.directory.file(name))
        }
        for arguments in [["--yes"], ["--yes", "--dry-run"]] {
            let refused = try household.failure(["keychain", "rm", "login"] + arguments)
            #expect(refused.code == "token.absent" && refused.status == 7)
            #expect(refused.hint.contains("--without-token"), "\(refused.hint)")
        }
        // The token works again once its directories are back.
        for name in missing {
            let place = household.data + "/" + name
            if FileManager.default.fileExists(atPath: place) { try FileManager.default.removeItem(atPath: place) }
            try FileManager.default.moveItem(atPath: household.directory.file(name), toPath: place)
        }
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        for name in missing { try FileManager.default.removeItem(atPath: household.data + "/" + name) }
        let removed = try household.keyfob(["keychain", "rm", "login", "--yes", "--without-token"])
        #expect(removed.status == 0 && removed.output.contains("not found and is not removed"), "\(removed)")
        #expect(try household.failure(["status"]).code == "keychain.not_initialized")
    }

    @Test(arguments: [
        "drop table vault", "drop table wrapping_key", "drop table item", "drop table recipient", "drop table term",
        "drop table row_tree", "alter table item drop column modified",
        "drop table row_tree; create view row_tree as select 1 as number",
    ])
    func `a vault that lacks a table or column is reported as damaged`(damage: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try sqlite(household.vault(), damage)
        let failure = try household.failure(["set", "b", "--stdin"], input: Data("x".utf8))
        #expect(failure.code == "db.damaged" && failure.status == 9, "\(failure)")
        #expect(try failure.hint.contains("from a backup") && failure.hint.contains(household.vault()), "\(failure.hint)")
        let check = try household.keyfob(["keychain", "check"])
        #expect(check.status == 9, "\(check)")
        #expect((check.output + check.error).contains("backup"), "\(check)")
    }

    @Test func `a check names each missing table and column of a vault`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try sqlite(household.vault(), "drop table token_object; drop table term; alter table item drop column created")
        let check = try household.keyfob(["keychain", "check", "--json"])
        #expect(check.status == 9, "\(check.error)")
        let document = try JSONSerialization.jsonObject(with: Data(check.output.utf8)) as? [String: Any]
        let findings = document?["findings"] as? [[String: Any]] ?? []
        #expect(findings.allSatisfy { $0["code"] as? String == "file.damaged" })
        #expect(
            findings.compactMap { $0["text"] as? String } == [
                "column \"created\" of table \"item\" is missing", "table \"term\" is missing",
                "table \"token_object\" is missing",
            ], "\(check.output)")
    }

    @Test func `a damaged row affects no other row`() throws {
        let household = try TestHome.unattended()
        for name in ["a", "b", "c"] { try household.set(name, name) }
        try sqlite(household.vault(), "update item set attributes_ciphertext = x'00' where id = 2")
        let list = try household.keyfob(["ls", "--format", "tsv"])
        #expect(list.status == 9)
        #expect(list.output.split(separator: "\n").dropFirst().map { $0.prefix(1) } == ["a", "c"])
        #expect(try household.keyfob(["ls", "--skip-damaged"]).status == 0)
        #expect(try household.document(["ls", "--skip-damaged"])["damaged"] as? Int == 1)
        #expect(try household.failure(["get", "b"]).code == "db.damaged")
        #expect(try household.keyfob(["get", "c"]).output == "c\n")
    }

    /// Each way to damage key `b`: its row in the vault, its public point, its private key, or its certificate.
    @Test(arguments: ["row", "point", "private", "certificate"])
    func `a damaged key hides no other key`(damage: String) throws {
        let household = try TestHome.unattended()
        func objects() throws -> Set<String> {
            let tokens = household.data + "/tokens"
            let files = try FileManager.default.subpathsOfDirectory(atPath: tokens).filter { $0.hasSuffix(".object") }
            return Set(files.map { tokens + "/" + $0 })
        }
        var files: Set<String> = []
        for name in ["a", "b", "c"] {
            let before = try objects()
            try #require(household.keyfob(["identity", "create", name, "--cn", name, "--self-signed"]).status == 0)
            if name == "b" { files = try objects().subtracting(before) }
        }
        if damage == "row" {
            try sqlite(household.vault(), "update item set attributes_ciphertext = x'00' where id in (3, 4)")
        }
        for file in files {
            var data = try Data(contentsOf: URL(fileURLWithPath: file))
            // An uncompressed point of P-256 in its octet string; CKO_PRIVATE_KEY and CKO_CERTIFICATE as CKA_CLASS.
            let point = data.firstRange(of: Data([0x04, 0x41, 0x04]))
            let object = data.firstRange(of: Data([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]))?.upperBound
            let objectClass = object.map { data[data.index($0, offsetBy: 7)] }
            switch damage {
            case "point":
                guard let point else { continue }
                data.replaceSubrange(point.upperBound..<point.upperBound + 8, with: Data(repeating: 0xFF, count: 8))
            case "private" where objectClass == 3, "certificate" where objectClass == 1:
                data = data.prefix(data.count / 2)
            default: continue
            }
            try data.write(to: URL(fileURLWithPath: file))
        }
        for command in [["key", "ls"], ["identity", "ls"], ["cert", "ls"], ["cert", "ls", "--all"]] {
            let list = try household.keyfob(command)
            #expect(list.status == 0, "\(list.error)")
            #expect(list.output.contains("\na ") && list.output.contains("\nc "), "\(command) \(list.output)")
        }
        for name in ["a", "c"] { #expect(try household.keyfob(["identity", "check", name]).status == 0) }
    }

    @Test func `a check with --secrets finds a damaged secret, which can be replaced by its name`() throws {
        let household = try TestHome.unattended()
        for name in ["a", "b"] { try household.set(name, name) }
        #expect(
            try household.keyfob(["keychain", "check", "--secrets"]).output
                == "Keychain \"login\" is sound, and every secret in it opens.\n")
        try sqlite(household.vault(), "update item set secret_ciphertext = zeroblob(length(secret_ciphertext)) where id = 1")
        let failure = try household.failure(["get", "a"])
        #expect(failure.status == 9)
        #expect(try household.keyfob(["keychain", "check"]).status == 0)
        let result = try household.keyfob(["keychain", "check", "--secrets"])
        #expect(result.status == 9 && result.output.contains("\"a\"") && !result.output.contains("\"b\""))
        let document = try household.keyfob(["keychain", "check", "--secrets", "--json"])
        #expect(document.output.contains("secret.damaged"))
        try household.set("a", "again", ["--replace"])
        #expect(try household.keyfob(["keychain", "check", "--secrets"]).status == 0)
        #expect(try household.keyfob(["get", "a"]).output == "again\n")
    }

    @Test
    func `a check reports changes by other programs, and accepts them with --accept`() throws {
        let household = try TestHome.unattended()
        for name in ["a", "b", "c"] { try household.set(name, name) }
        #expect(try household.keyfob(["keychain", "check"]).output == "Keychain \"login\" is sound. Its secrets were not opened (--secrets).\n")
        #expect(try household.document(["keychain", "check", "login"])["ok"] as? Bool == true)
        func check(_ options: [String] = []) throws -> (status: Int32, isSound: Bool, isChanged: Bool) {
            let result = try household.keyfob(["keychain", "check", "--json"] + options)
            let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            let findings = try #require(object?["findings"] as? [[String: Any]])
            #expect((object?["ok"] as? Bool) == findings.isEmpty)
            return (result.status, findings.isEmpty, object?["changed"] as? Bool ?? false)
        }
        // An item was removed. --accept updates the record of the vault, and everything that refers to the item.
        try sqlite(household.vault(), "delete from item where id = 3")
        #expect(try check() == (9, false, false))
        #expect(try household.keyfob(["keychain", "check"]).output.contains("--accept"))
        #expect(try check(["--accept", "--dry-run"]) == (9, false, false))
        #expect(try household.failure(["keychain", "check", "--accept"]).status == 12)
        #expect(try check() == (9, false, false))
        #expect(try check(["--accept", "--yes"]) == (0, true, true))
        #expect(try check(["--accept", "--yes"]) == (0, true, false))
        #expect(try household.keyfob(["get", "a"]).output == "a\n")
        // An item was damaged. --accept cannot repair it.
        try sqlite(household.vault(), "update item set attributes_ciphertext = x'00' where id = 2")
        #expect(try check().status == 9)
        #expect(try check(["--accept", "--yes"]).status == 9)
        #expect(try household.failure(["keychain", "check", "nobody"]).status == 3)
    }

    /// The findings of `keychain check`, by code and item.
    private func findings(_ household: TestHome, _ options: [String] = []) throws -> (
        codes: [String], removed: Int, isChanged: Bool, status: Int32
    ) {
        let result = try household.keyfob(["keychain", "check", "--json"] + options)
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let findings = try #require(object?["findings"] as? [[String: Any]])
        for finding in findings where (finding["code"] as? String)?.hasPrefix("item.") == true {
            #expect((finding["id"] as? String)?.count == 32 && finding["text"] is String)
        }
        return (
            findings.compactMap { $0["code"] as? String }, (object?["removed"] as? [Any])?.count ?? -1,
            object?["changed"] as? Bool ?? false, result.status
        )
    }

    /// Ways to damage the second item itself; another program would not write such an item.
    @Test(arguments: [
        "attributes_iv = zeroblob(12)", "attributes_tag = zeroblob(16)", "attributes_ciphertext = x'00'",
        "class = x'0000000000000000'",
    ])
    func `a damaged item stays damaged with --accept, and is removed with --remove-damaged`(
        damage: String
    ) throws {
        let household = try TestHome.unattended()
        for name in ["a", "b", "c"] { try household.set(name, name) }
        try sqlite(household.vault(), "update item set \(damage) where id = 2")
        #expect(try findings(household) == (["item.damaged"], 0, false, 9))
        // There is nothing to accept.
        #expect(try findings(household, ["--accept", "--yes"]) == (["item.damaged"], 0, false, 9))
        let advice = try household.keyfob(["keychain", "check"]).output
        #expect(advice.contains("keyfob keychain check login --remove-damaged") && !advice.contains("--accept"))
        // Accepting another finding does not change this one.
        try sqlite(household.vault(), "delete from item where id = 3")
        #expect(try findings(household, ["--accept", "--yes"]) == (["item.damaged"], 0, true, 9))
        // Removal requires the option and a confirmation.
        #expect(try findings(household, ["--remove-damaged", "--dry-run"]) == (["item.damaged"], 0, false, 9))
        #expect(try household.failure(["keychain", "check", "--remove-damaged"]).status == 12)
        let removal = try household.keyfob(["keychain", "check", "--remove-damaged", "--yes"])
        #expect(removal.status == 0, "\(removal.output)\(removal.error)")
        #expect(removal.output.contains("Removed 1 damaged item from keychain \"login\". What is lost: 1 "))
        #expect(try findings(household) == ([], 0, false, 0))
        try household.set("b", "again")
        #expect(try household.keyfob(["ls", "--format", "tsv"]).output.split(separator: "\n").count == 3)
        #expect(try household.keyfob(["get", "a"]).output == "a\n")
        #expect(try household.keyfob(["get", "b"]).output == "again\n")
    }

    @Test func `a damaged row of an interrupted change stops changes until it is removed`() throws {
        let household = try TestHome.unattended()
        try #require(household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        try sqlite(
            household.vault(),
            """
            insert into item (identity, class, state, primary_key, version, created, modified, attributes_iv,
                attributes_ciphertext, attributes_tag)
            values (zeroblob(16), zeroblob(8), 1, zeroblob(32), 1, 0, 0, zeroblob(12), x'00', zeroblob(16))
            """)
        for command in ["identity", "cert", "key"] {
            let list = try household.keyfob([command, "ls"])
            #expect(list.status == 0, "\(command) \(list.error)")
            #expect(list.output.contains("\nweb "), "\(command) \(list.output)")
        }
        #expect(try findings(household) == (["item.damaged"], 0, false, 9))
        for change in [["key", "generate", "k"], ["identity", "rm", "web", "--yes"]] {
            let failure = try household.failure(change)
            #expect(failure.code == "db.damaged")
            #expect(failure.status == 9)
            #expect(failure.hint.contains("keychain check"), "\(failure.hint)")
        }
        try household.set("a", "value")
        let removal = try household.keyfob(["keychain", "check", "--remove-damaged", "--yes"])
        #expect(removal.status == 0, "\(removal.output)\(removal.error)")
        #expect(try findings(household) == ([], 0, false, 0))
        #expect(try household.keyfob(["key", "generate", "k"]).status == 0)
    }

    @Test func `an old item does not count as damaged, and the hint names the keychain`() throws {
        let household = try TestHome()
        try #require(household.keyfob(["init", "-k", "site", "--unattended"]).status == 0)
        for name in ["a", "b", "c"] { try household.set(name, name, ["-k", "site"]) }
        try sqlite(household.vault(), "create table kept as select * from item where id = 1")
        try household.set("a", "new", ["-k", "site", "--replace"])
        try sqlite(
            household.vault(),
            """
            pragma foreign_keys = off;
            delete from item where id = 1; insert into item select * from kept; drop table kept;
            update item set attributes_iv = zeroblob(12) where id = 2
            """)
        #expect(try Set(findings(household, ["site"]).codes) == ["item.replayed", "item.damaged"])
        let failure = try household.failure(["get", "b", "-k", "site"])
        #expect(failure.hint.contains("keyfob keychain check site --remove-damaged"), "\(failure.hint)")
        let list = try household.failure(["ls", "-k", "site"])
        // It is not the default keychain, so the command names it.
        #expect(list.hint.contains("keyfob keychain check site\n"))
        #expect(list.hint.hasSuffix("keyfob -k site ls --skip-damaged"))
        let removed = try findings(household, ["site", "--remove-damaged", "--yes"])
        #expect(removed == (["item.replayed"], 1, true, 9))
        #expect(try household.failure(["get", "a", "-k", "site"]).code == "db.damaged")
    }

    @Test func `a check asks one question, below the findings`() throws {
        let household = try TestHome.unattended()
        for name in ["a", "b"] { try household.set(name, name) }
        try sqlite(household.vault(), "delete from item where id = 2")
        let (result, screen) = try household.keyfob(
            ["keychain", "check", "--accept"], typing: ["y"], after: "[y/N] ")
        #expect(result.status == 0, "\(result.error)")
        let lines = screen.split(whereSeparator: \.isNewline)
        #expect(lines.contains("    1 row was removed by another program"), "\(screen)")
        #expect(lines.contains { $0.hasPrefix("Accept the items as they are? [y/N]") }, "\(screen)")
        #expect(!screen.contains("\\n"), "\(screen)")
    }

    @Test func `a secret whose ciphertext was exchanged is an error, never a wrong secret`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try household.set("b", "other")
        try sqlite(
            household.vault(),
            """
            update item set secret_iv = (select secret_iv from item where id = 2),
                secret_ciphertext = (select secret_ciphertext from item where id = 2),
                secret_tag = (select secret_tag from item where id = 2) where id = 1
            """)
        let failure = try household.failure(["get", "a"])
        #expect(failure.code == "db.damaged")
        #expect(failure.status == 9)
        #expect(try household.keyfob(["get", "b"]).output == "other\n")
    }

    @Test func `a vault of a newer version is refused`() throws {
        let household = try TestHome.unattended()
        try sqlite(household.vault(), "pragma user_version = 99")
        for arguments in [["get", "a"], ["ls"], ["init"], ["rm", "a", "--yes"]] {
            let failure = try household.failure(arguments)
            #expect(failure.code == "db.too_new", "\(arguments)")
            #expect(failure.status == 9)
        }
    }

    @Test(arguments: [0, 1, 100, 5000])
    func `a truncated vault is reported as damaged`(length: Int) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let path = try household.vault()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        try whole.prefix(length).write(to: URL(fileURLWithPath: path))
        for arguments in [["get", "a"], ["ls"], ["init"]] {
            let failure = try household.failure(arguments)
            #expect(failure.code == "db.damaged", "\(arguments)")
            #expect(failure.status == 9, "\(arguments)")
        }
        #expect(try household.keyfob(["status"]).status == 0)
    }

    @Test func `a vault of random bytes is reported as damaged, and a missing one is named`() throws {
        let household = try TestHome.unattended()
        let path = try household.vault()
        try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 5) }).write(to: URL(fileURLWithPath: path))
        // SQLite would apply a journal beside the file to the restored file.
        let restored = "Restore \(path) from a backup while no program uses it, and remove \(path)-journal"
        let damaged = try household.failure(["get", "a"])
        #expect(damaged.code == "db.damaged" && damaged.hint.contains(restored), "\(damaged)")
        try FileManager.default.removeItem(atPath: path)
        let missing = try household.failure(["get", "a"])
        #expect(missing.code == "db.unavailable" && missing.hint.contains(restored), "\(missing)")
    }

    @Test func `a configuration that cannot be read is reported, and other keychains still work`() throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        let file = URL(fileURLWithPath: household.keychain("site") + "/keychain.json")
        try Data("{".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        #expect(try household.failure(["get", "a", "-k", "site"]).code == "configuration.invalid")
        try household.set("a", "value")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `a PIN file that other users can read is refused without --insecure-file`() throws {
        let household = try TestHome()
        let pass = try household.directory.write(Array("open sesame".utf8), to: "pass")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: pass)
        let failure = try household.failure(["init", "--pin-source", "file:" + pass])
        #expect(failure.code == "file.unsafe")
        #expect(failure.status == 12)
        #expect(try household.keyfob(["init", "--pin-source", "file:" + pass, "--insecure-file"]).status == 0)
    }

    @Test func `a missing token, a PIN in a URI and an invalid module are refused`() throws {
        let household = try TestHome()
        #expect(try household.failure(["init", "--token", "no-such-token"]).code == "token.absent")
        #expect(try household.failure(["init", "--token", "pkcs11:token=x?pin-value=1234"]).status == 2)
        #expect(try household.failure(["init", "--token", "pkcs11:token"]).status == 2)
        #expect(try household.failure(["init", "--token", "x", "--module", "/etc/passwd"]).code == "module.not_loaded")
        #expect(
            try household.failure(["init", "--token", "x", "--module", "no-such-module"]).code == "module.not_loaded")
    }
}
