import Foundation
import Keyfob
import TestSupport
import Testing

/// Keychains whose removal or creation was interrupted, or whose files are damaged.
@Suite struct KeychainRemovalTests {
    @Test func `a failed removal leaves the keychain whole`() throws {
        guard geteuid() == 0 else { return }
        let directory = try TemporaryDirectory()
        let home = directory.file("home")
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        func shell(_ script: String) throws -> Tool.Result {
            try Tool("/bin/sh", ["-c", script], environment: ["KEYFOB": Tool.keyfob([]).path, "HOME": home]).run()
        }
        // Runs as another user, because root is not restricted by permissions.
        func keyfob(_ arguments: String) throws -> Tool.Result {
            try shell(
                "cd / && exec /usr/bin/setpriv --reuid 65534 --clear-groups env XDG_RUNTIME_DIR=\"$HOME\" KEYFOB_NO_INPUT=1 "
                    + "\"$KEYFOB\" \(arguments)")
        }
        #expect(try shell("chmod 711 \"$HOME/..\"; chown 65534 \"$HOME\"").status == 0)
        let made = try keyfob("init --unattended")
        try #require(made.status == 0, "\(made.error)")
        #expect(try keyfob("secret generate a").status == 0)
        #expect(try shell("chmod 500 \"$HOME/.local/share/keyfob/keychains\"").status == 0)
        #expect(try keyfob("keychain rm login --yes").status == 12)
        #expect(try keyfob("get a").status == 0)
        #expect(try shell("chmod 700 \"$HOME/.local/share/keyfob/keychains\"").status == 0)
        let removed = try keyfob("keychain rm login --yes")
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try keyfob("get a").status == 3)
    }

    @Test(arguments: ["keyfob-pins/card.pin", "keyfob/card.pin", "keyfob/keychains/card.pin"])
    func `a PIN file of the user stays when the keychain is removed`(place: String) throws {
        let household = try TestHome()
        let environment = try household.makeCard()
        let file = URL(fileURLWithPath: household.directory.file("home/.local/share/" + place))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try #require(
            FileManager.default.createFile(
                atPath: file.path, contents: Data("1234\n".utf8), attributes: [.posixPermissions: 0o600]))
        let made = try household.keyfob(
            [
                "init", "-k", "site1", "--token", "card", "--module", TestToken.modulePath, "--pin-source",
                "file:" + file.path,
            ], environment: environment)
        try #require(made.status == 0, "\(made.error)")
        // The PIN source is unchanged.
        let shown = try household.keyfob(["keychain", "show", "site1", "--json"], environment: environment)
        #expect(shown.output.contains(file.lastPathComponent), "\(shown)")
        let removed = try household.keyfob(["keychain", "rm", "site1", "--yes"], environment: environment)
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try Data(contentsOf: file) == Data("1234\n".utf8))
    }

    @Test(arguments: ["keychain rm site --yes", "keychain create site --unattended", "keychain create other --unattended"])
    func `the remains of a killed removal are removed by the next creation or removal of a keychain`(
        command: String
    ) throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("keychain", "create", "site", "--unattended").status == 0)
        #expect(try home.keyfob("keychain", "default", "site").status == 0)
        // The state after a kill following the first step.
        try home.shell("cd home/.local/share/keyfob/keychains && mv site .site.1.removed")
        #expect(try !home.keyfob("keychain", "ls").output.contains("site"))
        let told = try home.keyfob("get", "a", "-k", "site")
        #expect(told.status == 3 && told.error.contains("keyfob keychain rm site"), "\(told.error)")
        let words = command.split(separator: " ").map(String.init)
        let result = try Tool.keyfob(words, environment: home.environment).run()
        #expect(result.status == 0, "\(result.error)")
        #expect(try home.shell("ls -A home/.local/share/keyfob/keychains | grep '^[.]' || true") == "")
        let tokens = try home.keyfob("token", "ls", "--format", "tsv").output.split(separator: "\n")
        #expect(tokens.filter { $0.hasPrefix("site\t") }.count == (command.contains("create site") ? 1 : 0))
        #expect(try home.keyfob("get", "nothing", "-k", "login").status == 3)
        #expect(try home.keyfob("keychain", "rm", "site", "--yes").status == (command.contains("create site") ? 0 : 3))
    }

    @Test(arguments: ["keychain create other --unattended", "keychain rm other --yes"])
    func `a keychain restored beside its interrupted removal keeps its token`(command: String) throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("keychain", "create", "site", "--unattended").status == 0)
        if command.contains("rm") { #expect(try home.keyfob("keychain", "create", "other", "--unattended").status == 0) }
        try home.shell("printf value | '\(Tool.keyfob([]).path)' set a -k site -q")
        try home.shell("cd home/.local/share/keyfob/keychains && cp -Rp site .site.1.removed")
        let words = command.split(separator: " ").map(String.init)
        #expect(try Tool.keyfob(words, environment: home.environment).run().status == 0)
        #expect(try home.keyfob("get", "a", "-k", "site").output == "value\n")
        if command.contains("create") {
            #expect(try home.shell("ls -A home/.local/share/keyfob/keychains | grep '^[.]site' || true") == "")
        }
        // It can be removed like any other keychain.
        #expect(try home.keyfob("keychain", "rm", "site", "--yes").status == 0)
        #expect(try home.keyfob("keychain", "rm", "site", "--yes").status == 3)
    }

    @Test func `a removal that was killed at any moment can be finished`() throws {
        let home = try IdentityHome()
        for round in 0..<8 {
            let name = "k\(round)"
            #expect(try home.keyfob("keychain", "create", name, "--unattended").status == 0)
            let time = String(format: "%.3f", 0.008 * Double(round + 1))
            _ = try Tool(
                "/usr/bin/timeout", ["-s", "KILL", time, Tool.keyfob([]).path, "keychain", "rm", name, "--yes"],
                environment: home.environment
            ).run()
            let listed = try home.keyfob("keychain", "ls")
            #expect(listed.status == 0 && !listed.output.contains("damaged"), "\(listed.output)\(listed.error)")
            // The keychain is whole, or no command sees it.
            if listed.output.contains(name) { #expect(try home.keyfob("get", "x", "-k", name).status == 3) }
            let again = try home.keyfob("keychain", "rm", name, "--yes")
            #expect([0, 3].contains(again.status), "\(again.error)")
        }
        #expect(try home.shell("ls -A home/.local/share/keyfob/keychains") == "login\n")
        #expect(try home.shell("ls home/.local/share/keyfob/tokens | grep -c -- -") == "1\n")
    }

    @Test func `the remains of killed creations are removed by the next creation of any keychain`() throws {
        let home = try IdentityHome()
        for round in 0..<10 {
            let time = String(format: "%.3f", 0.015 * Double(round + 1))
            let command = [Tool.keyfob([]).path, "keychain", "create", "k\(round)", "--unattended"]
            _ = try Tool("/usr/bin/timeout", ["-s", "KILL", time] + command, environment: home.environment).run()
        }
        // A creation that was killed while it wrote a file.
        try home.shell(
            """
            umask 077
            mkdir home/.local/share/keyfob/keychains/.gone.1.making
            : >home/.local/share/keyfob/keychains/.gone.1.making/pin.42.new
            """)
        let last = try home.keyfob("keychain", "create", "last", "--unattended")
        #expect(last.status == 0, "\(last.error)")
        func lines(_ script: String) throws -> [Substring] { try home.shell(script).split(separator: "\n") }
        let names = try lines("ls -A home/.local/share/keyfob/keychains")
        #expect(!names.contains { $0.hasPrefix(".") }, "\(names)")
        #expect(try home.keyfob("keychain", "ls", "--format", "tsv").output.split(separator: "\n").count == names.count + 1)
        // Each keychain is whole; a token without a keychain stays, and is reported.
        for name in names { #expect(try home.keyfob("keychain", "check", String(name)).status == 0, "\(name)") }
        // The token file of a creation that was killed while SoftHSM wrote it is not one.
        let store = SoftHSMDirectory(root: URL(filePath: home.file("home/.local/share/keyfob"), directoryHint: .isDirectory))
        let tokens = try store.tokens().count
        let checked = try home.keyfob("keychain", "check").output
        #expect(checked.components(separatedBy: "no keychain uses token").count - 1 == max(0, tokens - names.count), "\(checked)")
    }

    @Test func `a token of keyfob's own is not reported as absent`() throws {
        let home = try IdentityHome()
        let result = try home.keyfob("keychain", "create", "b", "--token", "login")
        #expect(result.status == 12 && result.error.contains("keychain \"login\""), "\(result.error)")
    }

    @Test(arguments: ["", "{", "{\"schema\":\"keyfob/keychain/v9\"}", "\u{0}\u{0}\u{0}\u{0}"])
    func `a damaged configuration affects no other keychain`(content: String) throws {
        let home = try IdentityHome()
        let file = "home/.local/share/keyfob/keychains/bad/keychain.json"
        try home.shell("umask 077; cd home/.local/share/keyfob/keychains; mkdir bad; cp login/keychain.json bad")
        try Data(content.utf8).write(to: URL(fileURLWithPath: home.file(file)))
        #expect(try home.keyfob("unlock").status == 0)

        let list = try home.keyfob("keychain", "ls")
        #expect(
            list.status == 0 && list.output.contains("damaged") && list.output.contains("unattended"), "\(list.error)")
        #expect(try !home.keyfob("status", "--json").output.contains("\"location\":null"))
        let status = try home.keyfob("status")
        #expect(status.status == 0 && status.output.contains("damaged"), "\(status.error)")
        #expect(try home.keyfob("status", "--exit-code").status == 10)
        for command in [
            ["init", "--unattended"], ["token", "ls"], ["ls", "--token", "login"],
            ["keychain", "create", "c", "--unattended"],
            ["keychain", "rm", "c", "--yes"],
        ] {
            let result = try Tool.keyfob(command, environment: home.environment).run()
            #expect(result.status == 0, "\(command): \(result.error)")
        }
        // The others are locked first.
        let locked = try home.keyfob("lock", "--all", "--json")
        #expect(locked.status == 9)
        #expect(try IdentityHome.code(locked) == "configuration.invalid")
        #expect(try home.keyfob("status", "--json").output.contains("\"location\":null"))

        #expect(try home.keyfob("get", "x", "-k", "bad").status == 9)
        #expect(try home.keyfob("keychain", "create", "bad", "--unattended").status == 4)
        let removed = try home.keyfob("keychain", "rm", "bad", "--yes")
        #expect(removed.status == 0 && removed.output.contains("stay"), "\(removed.error)")
        #expect(try !home.keyfob("keychain", "ls").output.contains("damaged"))
        #expect(try home.keyfob("get", "x").status == 3)
    }

    @Test func `a check notices that the wrapping key is gone`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("secret", "generate", "a").status == 0)
        #expect(try home.keyfob("unlock").status == 0)
        #expect(try home.keyfob("keychain", "check").status == 0)
        try home.shell(
            """
            eval "$("$KEYFOB" uri --env)"
            pkcs11-tool --module "$PKCS11_MODULE_PATH" --token-label login --login \
                --pin "$(cat home/.local/share/keyfob/keychains/login/pin)" --delete-object --type secrkey --label keyfob-wrap-1 >&2
            """, environment: ["KEYFOB": Tool.keyfob([]).path])
        let checked = try home.keyfob("keychain", "check")
        #expect(checked.status == 9, "\(checked.output)")
        #expect(checked.output.contains("keyfob-wrap-1"))
    }
}
