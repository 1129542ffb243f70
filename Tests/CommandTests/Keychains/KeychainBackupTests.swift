import Foundation
import TestSupport
import Testing

/// `keychain backup` and `keychain restore`.
@Suite struct KeychainBackupTests {
    /// A home with a password `a` and an identity `web`, and the path for its backup.
    private func household() throws -> (TestHome, file: String) {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let made = try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"])
        try #require(made.status == 0, "\(made.error)")
        return (household, household.directory.file("login.tar"))
    }

    /// Writes a backup, which must succeed.
    private func backUp(_ household: TestHome, _ file: String) throws {
        let made = try household.keyfob(["keychain", "backup", file])
        try #require(made.status == 0, "\(made.error)")
    }

    private func names(in file: String) throws -> [String] {
        let listed = try Tool("/usr/bin/env", ["tar", "-tf", file]).run()
        try #require(listed.status == 0, "\(listed.error)")
        return listed.output.split(separator: "\n").map(String.init)
    }

    @Test func `a keychain is restored on another machine with passwords, keys and PIN`() throws {
        let (household, file) = try household()
        let made = try household.keyfob(["keychain", "backup", file])
        #expect(made.status == 0 && made.output.contains("contains the token's PIN"), "\(made)")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let names = try names(in: file)
        #expect(Set(["keychain.json", "vault.sqlite", "pin", "SHA256SUMS"]).isSubset(of: names), "\(names)")
        #expect(try household.directories() == ["login"])

        let other = try TestHome()
        let restored = try other.document(["keychain", "restore", file])
        #expect(restored["keychain"] as? String == "login" && restored["changed"] as? Bool == true, "\(restored)")
        #expect(restored["contains_pin"] as? Bool == true && restored["contains_token"] as? Bool == true)
        #expect(restored["action"] as? String == "create")
        #expect(try other.directories() == ["login"])
        #expect(try other.keyfob(["get", "a"]).output == "value\n")
        #expect(try other.keyfob(["identity", "check", "web"]).status == 0)
        #expect(try other.keyfob(["keychain", "check", "--secrets"]).status == 0)
        #expect(try other.keyfob(["key", "generate", "k"]).status == 0)
    }

    @Test func `tar and sha256sum can check a backup`() throws {
        let (household, file) = try household()
        try backUp(household, file)
        let script = "mkdir x && cd x && tar -xf \"$1\" && sha256sum -c --quiet SHA256SUMS"
        let checked = try Tool(
            "/bin/sh", ["-c", "cd \"$2\" && " + script, "sh", file, household.directory.path]
        ).run()
        #expect(checked.status == 0, "\(checked)")
    }

    @Test func `a restored keychain opens with its passphrase`() throws {
        let household = try TestHome.withPassphrase("open sesame")
        let source = ["--pin-source", "env:PASS"], environment = ["PASS": "open sesame"]
        let set = try household.keyfob(
            ["set", "a", "--stdin"] + source, input: Data("value".utf8), environment: environment)
        try #require(set.status == 0, "\(set.error)")
        let file = household.directory.file("login.tar")
        let made = try household.keyfob(["keychain", "backup", file])
        #expect(made.status == 0 && !made.output.contains("PIN"), "\(made)")
        #expect(try !names(in: file).contains("pin"))
        let other = try TestHome()
        #expect(try other.keyfob(["keychain", "restore", file]).output == "Restored keychain \"login\".\n")
        #expect(try other.keyfob(["get", "a"] + source, environment: environment).output == "value\n")
        #expect(try other.failure(["get", "a"] + source, environment: ["PASS": "wrong"]).code != "")
    }

    @Test func `a damaged backup is refused without any change`() throws {
        let (household, file) = try household()
        try backUp(household, file)
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        let other = try TestHome()
        func expectRefusal(_ bytes: Data, _ what: String) throws {
            try bytes.write(to: URL(fileURLWithPath: file))
            for options in [[], ["--dry-run"]] {
                let refused = try other.failure(["keychain", "restore", file] + options)
                #expect(refused.code == "file.damaged" && refused.status == 9, "\(what): \(refused)")
            }
        }
        // The name, the size and the last byte of each file, unless it is empty.
        var header = 0
        while whole[header] != 0 {
            let digits = String(decoding: whole[header + 124..<header + 135], as: UTF8.self)
            let size = try #require(Int(digits, radix: 8))
            for position in [header, header + 134] + (size > 0 ? [header + 511 + size] : []) {
                var bytes = whole
                bytes[position] ^= 0x01
                try expectRefusal(bytes, "byte \(position)")
            }
            header += 512 + (size + 511) / 512 * 512
        }
        for count in [0, 1, 511, 512, whole.count / 2, whole.count - 1025] {
            try expectRefusal(whole.prefix(count), "first \(count) bytes")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.directory.file("home")).isEmpty)
        try whole.write(to: URL(fileURLWithPath: file))
        #expect(try other.keyfob(["keychain", "restore", file]).status == 0)
    }

    @Test func `an existing keychain is not replaced by its backup`() throws {
        let (household, file) = try household()
        try backUp(household, file)
        try household.set("b", "later")
        for options in [[], ["--name", "other"]] {
            let refused = try household.failure(["keychain", "restore", file] + options)
            #expect(refused.code == "keychain.exists" && refused.status == 4, "\(refused)")
        }
        #expect(try household.keyfob(["get", "b"]).output == "later\n")
        #expect(try household.directories() == ["login"])
        try #require(household.keyfob(["keychain", "rm", "login", "--yes"]).status == 0)
        #expect(try household.keyfob(["keychain", "restore", file, "--name", "other"]).status == 0)
        #expect(try household.keyfob(["get", "a", "-k", "other"]).output == "value\n")
        #expect(try household.keyfob(["get", "b", "-k", "other"]).status == 3)
        #expect(try household.keyfob(["identity", "check", "web", "-k", "other"]).status == 0)
    }

    @Test func `an existing token is used if it is that of the backup, and never replaced`() throws {
        let (household, file) = try household()
        try backUp(household, file)
        try FileManager.default.moveItem(atPath: household.keychain(), toPath: household.directory.file("away"))
        #expect(try household.keyfob(["keychain", "restore", file]).status == 0)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        try #require(household.keyfob(["key", "generate", "k"]).status == 0)
        try FileManager.default.removeItem(atPath: household.keychain())
        let refused = try household.failure(["keychain", "restore", file])
        #expect(refused.code == "token.ambiguous" && refused.hint.contains(household.data + "/tokens/"), "\(refused)")
        #expect(try household.directories().isEmpty)
    }

    @Test func `an existing file is replaced only with --force`() throws {
        let (household, file) = try household()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        for options in [[], ["--dry-run", "--force"]] {
            let result = try household.keyfob(["keychain", "backup", file] + options)
            #expect(result.status == (options.isEmpty ? 12 : 0), "\(result)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
        }
        #expect(try household.keyfob(["keychain", "backup", file, "--force"]).status == 0)
        #expect(try names(in: file).contains("vault.sqlite"))
        let left = try FileManager.default.contentsOfDirectory(atPath: household.directory.path)
        #expect(!left.contains { $0.hasSuffix(".new") }, "\(left)")
    }

    @Test func `a backup contains all changes reported before it began, while other processes write`() throws {
        let (household, file) = try household()
        let script = """
            cd "$1"
            : >done
            (for i in $(seq 200); do
                printf v | "$KEYFOB" set -q "n$i" --stdin && echo "n$i" >>done
                if [ $((i % 4)) = 0 ]; then "$KEYFOB" key generate -q "k$i" && echo "k$i" >>done; fi
            done) &
            for round in 1 2 3; do
                while [ "$(wc -l <done)" -lt $((round * 6)) ]; do sleep 0.02; done
                cp done "before$round"
                "$KEYFOB" keychain backup "$round.tar" --timeout 60s || exit 1
            done
            kill $!
            wait || true
            """
        let result = try Tool(
            "/bin/sh", ["-uc", script, "sh", household.directory.path],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(!result.error.contains("keyfob:"), "\(result)")
        for round in 1...3 {
            let other = try TestHome()
            let restored = try other.keyfob(["keychain", "restore", household.directory.file("\(round).tar")])
            #expect(restored.status == 0, "\(restored.error)")
            let checked = try other.keyfob(["keychain", "check", "--secrets"])
            #expect(checked.status == 0, "\(checked)")
            let before = String(decoding: try household.directory.read("before\(round)"), as: UTF8.self)
            for name in before.split(separator: "\n").map(String.init) {
                let command = name.hasPrefix("k") ? ["key", "pub", name] : ["get", name]
                #expect(try other.keyfob(command).status == 0, "\(name)")
            }
        }
        _ = file
    }

    @Test func `the keys of a token that keyfob did not make are not part of a backup`() throws {
        let (household, environment) = try TestHome.withCard()
        let source = ["--pin-source", "env:CARD_PIN"]
        let set = try household.keyfob(
            ["set", "a", "--stdin"] + source, input: Data("value".utf8), environment: environment)
        try #require(set.status == 0, "\(set.error)")
        let (name, file) = (try #require(try household.keychains().first), household.directory.file("card.tar"))
        let made = try household.keyfob(["keychain", "backup", file], environment: environment)
        #expect(made.status == 0 && made.output.contains("stay on the token"), "\(made)")
        #expect(try names(in: file) == ["keychain.json", "vault.sqlite", "SHA256SUMS"])
        try FileManager.default.moveItem(atPath: household.keychain(name), toPath: household.directory.file("away"))
        #expect(try household.keyfob(["keychain", "restore", file], environment: environment).status == 0)
        #expect(try household.keyfob(["get", "a"] + source, environment: environment).output == "value\n")
    }
}
