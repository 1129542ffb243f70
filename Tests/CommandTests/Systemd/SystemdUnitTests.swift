import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// The units that `keyfob systemd` prints.
@Suite struct SystemdUnitTests {
    private let home: IdentityHome

    private static let canVerify = FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")

    init() throws {
        home = try IdentityHome()
        try home.shell("mkdir units")
    }

    private func write(_ words: String...) throws {
        let written = try Tool.keyfob(
            ["systemd"] + words + ["-o", home.file("units")], environment: home.environment
        ).run()
        try #require(written.status == 0, "\(written.error)")
    }

    /// The settings of a unit with a name.
    private func settings(_ name: String, of unit: String) throws -> [String] {
        let text = try String(contentsOfFile: home.file("units/" + unit), encoding: .utf8)
        return text.split(separator: "\n").filter { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    @Test(.enabled(if: canVerify, "systemd-analyze is not installed"), arguments: [
        ["timer"], ["timer", "--user"],
        ["timer", "--exec", "echo \"$HOME\" 'a b' 100% \\; systemctl reload nginx", "--schedule", "*-*-* 04:00"],
        ["timer", "--pin-file", "/etc/keyfob/pin", "--write", "/srv/a b"],
        ["timer", "--encrypted-pin-file", "/etc/keyfob/pin.cred", "--pin-source", "credential:keyfob.pin"],
        ["unit", "--serve", "nginx.service/db-password=db/prod"],
        ["unit", "--user", "--serve", "app@.service/key=keyfob://a b?keychain=x"],
        ["unit", "--map", "/etc/keyfob/credentials"],
    ])
    func `systemd accepts the units`(words: [String]) throws {
        let written = try Tool.keyfob(
            ["systemd"] + words + ["-o", home.file("units")], environment: home.environment
        ).run()
        try #require(written.status == 0, "\(written.error)")
        let manager = words.contains("--user") ? "--user" : "--system"
        // It exits with 0 after most errors, and prints them.
        let output = try home.shell(
            "cd units; systemd-analyze verify \(manager) --man=no $(ls -d $PWD/* | grep -v @) 2>&1 || echo failed")
        #expect(output.isEmpty, "\(output)")
        let template = try home.shell(
            """
            cd units
            for file in *@*; do
                [ -e "$file" ] || continue
                mkdir one; cp "$file" "one/$(echo "$file" | sed s/@/@1/)"
                systemd-analyze verify \(manager) --man=no "$PWD"/one/* 2>&1 || echo failed
            done
            """)
        #expect(template.isEmpty, "\(template)")
    }

    @Test(.enabled(if: canVerify, "systemd-analyze is not installed"))
    func `the check of the units finds an error`() throws {
        try write("timer")
        let output = try home.shell(
            "cd units; sed -i s/ProtectSystem=strict/ProtectSystem=strictly/ *.service; "
                + "systemd-analyze verify --man=no $PWD/keyfob-renew.service 2>&1 || true")
        #expect(output.contains("strictly"), "\(output)")
    }

    @Test func `the units name this user's keychain, and the files that it needs`() throws {
        try write("timer", "--exec", "echo $HOME 100%", "--pin-file", "/etc/keyfob/pin")
        let service = "keyfob-renew.service"
        let keyfob = URL(fileURLWithPath: Tool.keyfob([]).path).resolvingSymlinksInPath().path
        #expect(
            try settings("ExecStart", of: service)
                == [
                    "\(keyfob) identity renew --all --exec \"echo $$HOME 100%%\" --keychain login "
                        + "--pin-source credential:keyfob.pin"
                ])
        #expect(try settings("User", of: service) == [try home.shell("id -un").trimmingCharacters(in: .newlines)])
        #expect(try settings("LoadCredential", of: service) == ["keyfob.pin:/etc/keyfob/pin"])
        #expect(try settings("Environment", of: service) == ["HOME=" + home.file("home")])
        #expect(
            try settings("ReadWritePaths", of: service)
                == ["-\(home.file("home/.local/share/keyfob")) -\(home.file("home/.local/state/keyfob"))"])
        #expect(try settings("OnCalendar", of: "keyfob-renew.timer") == ["hourly"])
        try write("unit", "--serve", "nginx.service/db-password=db/prod")
        #expect(
            try settings("ListenStream", of: "keyfob-credentials.socket") == ["/run/keyfob/credentials.sock"])
        #expect(try settings("Accept", of: "keyfob-credentials.socket") == ["yes"])
        #expect(try settings("SocketMode", of: "keyfob-credentials.socket") == ["0600"])
        #expect(
            try settings("ExecStart", of: "keyfob-credentials@.service")
                == [
                    "\(keyfob) systemd credential --serve nginx.service/db-password=db/prod --keychain login"
                ])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `the units of a user without an entry in the list of users name the user's number`() throws {
        let printed = try home.shell(
            """
            chmod 755 .; chown -R 54321 home run 2>/dev/null || chown -R 54321 home
            USER=root setpriv --reuid 54321 --clear-groups \(Tool.keyfob([]).path) systemd timer
            """)
        #expect(printed.contains("\nUser=54321\n"), "\(printed)")
    }

    @Test func `the units have a PIN source that the service can read`() throws {
        try write("timer", "--pin-source", "file:pin")
        let command = try settings("ExecStart", of: "keyfob-renew.service").first ?? ""
        #expect(command.hasSuffix("/pin") && command.contains(" --pin-source file:/"), "\(command)")
        for source in ["stdin", "env:PIN", "prompt", "pinentry"] {
            let refused = try home.keyfob("systemd", "timer", "--pin-source", source)
            #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
        }
        let both = try home.keyfob("systemd", "timer", "--pin-source", "file:/pin", "--pin-file", "/pin")
        #expect(both.status == 2, "\(both)")
        #expect(try home.keyfob("systemd", "timer", "--write", "").status == 2)
        #expect(try home.keyfob("systemd", "unit", "--map", "-").status == 2)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a file system read-only"))
    func `a renewal and a secret need no other files than those that the units make writable`() throws {
        try home.shell("printf hunter2 > value; \(Tool.keyfob([]).path) set db/prod --from-file value > /dev/null")
        let made = try home.keyfob("identity", "create", "own", "--cn", "own", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        try write("timer")
        try write("unit", "--serve", "a.service/b=db/prod")
        for (unit, command) in [
            ("keyfob-renew.service", "identity renew --all --force"), ("keyfob-credentials@.service", "get db/prod"),
        ] {
            let paths = try #require(settings("ReadWritePaths", of: unit).first).replacing("-/", with: "/")
            let output = try home.shell(
                """
                unshare -m sh -euc '
                    mount --make-rprivate /
                    for path in \(paths); do mount --bind $path $path; done
                    mount -o remount,ro,bind /
                    if touch \(home.file("home/x")) 2> /dev/null; then exit 9; fi
                    unset XDG_RUNTIME_DIR
                    \(Tool.keyfob([]).path) \(command)' 2>&1
                """)
            #expect(output.contains("installed; old") || output == "hunter2\n", "\(output)")
        }
    }

    @Test func `units are printed unless a directory is given, and written again only if they differ`() throws {
        let printed = try home.keyfob("systemd", "timer")
        #expect(printed.status == 0, "\(printed.error)")
        #expect(printed.output.hasPrefix("# /etc/systemd/system/keyfob-renew.service\n[Unit]\n"), "\(printed.output)")
        #expect(printed.output.contains("\n# /etc/systemd/system/keyfob-renew.timer\n"))
        let words = ["systemd", "timer", "-o", home.file("units"), "--json"]
        func isChanged() throws -> Bool? {
            try IdentityHome.json(Tool.keyfob(words, environment: home.environment).run())["changed"] as? Bool
        }
        #expect(try isChanged() == true)
        #expect(try isChanged() == false)
        #expect(try home.shell("stat -c %a units/keyfob-renew.timer") == "644\n")
        let installed = try home.keyfob("systemd", "timer", "--user", "--install")
        #expect(installed.status == 0, "\(installed.error)")
        #expect(installed.output.contains("systemctl --user enable --now keyfob-renew.timer"))
        #expect(try home.shell("ls home/.config/systemd/user") == "keyfob-renew.service\nkeyfob-renew.timer\n")
    }

    @Test(arguments: [
        ["timer", "--schedule", "a\nb"], ["timer", "--install", "-o", "/tmp"], ["unit"],
        ["timer", "--pin-file", "a%b"], ["timer", "--pin-file", "a", "--encrypted-pin-file", "b"],
        ["unit", "--serve", "nginx"],
    ])
    func `options that make no units are refused`(words: [String]) throws {
        #expect(try Tool.keyfob(["systemd"] + words, environment: home.environment).run().status == 2)
    }

    @Test(arguments: [
        ("a", "a"), ("a b", "\"a b\""), ("100%", "100%%"), ("a\"b", "\"a\\\"b\""), ("", "\"\""), (";", "\";\""),
        ("a\nb", "\"a\\nb\""),
    ])
    func `a word of a setting is quoted as systemd reads it`(text: String, word: String) {
        #expect(UnitFile.word(text) == word)
    }
}
