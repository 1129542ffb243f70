import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// `Scripts/quickstart`, with the command that was built for the tests.
@Suite(.enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed"))
struct QuickstartTests {
    private func quickstart(
        _ household: TestHome, _ arguments: String = "", environment: [String: String] = [:]
    ) throws -> Tool.Result {
        try Tool(
            "/bin/sh", ["-c", "exec \"$QUICKSTART\" \(arguments) </dev/null"],
            environment: household.environment.merging([
                "KEYFOB": Tool.keyfob([]).path, "QUICKSTART": Machine.script("quickstart"),
                "TMPDIR": household.directory.path,
            ]) { $1 }.merging(environment) { $1 }
        ).run()
    }

    /// All files and directories of the user, with their content and modification time.
    private func files(_ household: TestHome) throws -> String {
        try Tool(
            "/bin/sh",
            ["-c", "cd \"$1\" && find home run -printf '%p %T@ %m\\n' | sort && find home run -type f -exec sha256sum {} + | sort",
                "sh", household.directory.path]
        ).run().output
    }

    @Test(arguments: [[:], ["KEYFOB_KEYCHAIN": "login", "KEYFOB_FORMAT": "json", "KEYFOB_TOKEN": "login"]])
    func `the quickstart, run twice, does not change the user's own keychains`(
        variables: [String: String]
    ) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let before = try files(household)
        for _ in 0..<2 {
            let result = try quickstart(household, environment: variables)
            #expect(result.status == 0, "\(result.output)\(result.error)")
            #expect(result.output.contains("HTTP 200, certificate verified (0)"), "\(result.output)")
            #expect(try files(household) == before)
        }
        #expect(try household.keyfob(["keychain", "default"]).output == "login\n")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `after the quickstart init makes the first keychain`() throws {
        let household = try TestHome()
        let result = try quickstart(household)
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.directory.file("home")).isEmpty)
        #expect(!result.output.contains("keychain rm"), "\(result.output)")
        let made = try household.document(["init", "--pin-source", "cmd:echo opensesame"])
        #expect(made["changed"] as? Bool == true)
        #expect(made["keychain"] as? String == "login")
    }

    @Test(arguments: [
        ("bash", ".local/share/bash-completion/completions/keyfob"), ("zsh", ".local/share/zsh/site-functions/_keyfob"),
        ("fish", ".config/fish/completions/keyfob.fish"),
    ])
    func `completions are installed if the user agrees`(shell: String, file: String) throws {
        let household = try TestHome()
        let path = household.directory.file("home/" + file)
        let refused = try quickstart(household, environment: ["SHELL": "/bin/" + shell])
        #expect(refused.status == 0, "\(refused.output)\(refused.error)")
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(refused.output.contains("completion --help"), "\(refused.output)")
        let agreed = try quickstart(household, "--yes", environment: ["SHELL": "/bin/" + shell])
        #expect(agreed.status == 0, "\(agreed.output)\(agreed.error)")
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("keyfob"))
        // The command is not on PATH here.
        let directory = URL(fileURLWithPath: Tool.keyfob([]).path).deletingLastPathComponent().path
        #expect(agreed.output.contains((shell == "fish" ? "fish_add_path " : "export PATH=") + directory))
    }

    @Test func `the manual pages are installed if the user agrees`() throws {
        let household = try TestHome()
        let folder = household.directory.file("home/.local/share/man/man1")
        let refused = try quickstart(household)
        #expect(refused.output.contains("Scripts/manual " + folder), "\(refused.output)")
        #expect(!FileManager.default.fileExists(atPath: folder))
        let agreed = try quickstart(household, "--yes")
        #expect(agreed.status == 0, "\(agreed.output)\(agreed.error)")
        #expect(FileManager.default.fileExists(atPath: folder + "/keyfob-get.1"))
    }

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/share/bash-completion/bash_completion"),
            "bash-completion is not installed"))
    func `after the quickstart, bash completes a verb`() throws {
        let household = try TestHome()
        #expect(try quickstart(household, "--yes", environment: ["SHELL": "/bin/bash"]).status == 0)
        let terminal = try PseudoTerminal()
        let shell = try terminal.start(
            ["/bin/bash", "--norc", "--noprofile", "-i"],
            environment: household.environment.merging([
                "PATH": "\((Tool.commandPath as NSString).deletingLastPathComponent):/usr/bin:/bin", "PS1": "READY$ ",
                "TERM": "dumb", "HISTFILE": "",
            ]) { $1 })
        _ = terminal.output(until: "READY$ ")
        terminal.type(". /usr/share/bash-completion/bash_completion; PS1='LOADED$ '\n")
        _ = terminal.output(until: "LOADED$ ")
        terminal.type("keyfob id\t")
        #expect(terminal.output(until: "identity ").hasSuffix("keyfob identity "))
        terminal.type("\u{3}exit\n")
        _ = shell.wait(timeout: 60)
    }

    @Test func `a missing package that the quickstart cannot ask for is an error with a remedy`() throws {
        let household = try TestHome()
        let bin = household.directory.file("bin")
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: false)
        try household.directory.writeProgram("exit 1", to: "bin/dpkg-query")
        let result = try quickstart(household, environment: ["PATH": bin + ":/usr/bin:/bin"])
        #expect(result.status == 1)
        #expect(result.error.contains("--yes"), "\(result.error)")
        #expect(result.error.contains("Scripts/install-dependencies runtime quickstart"), "\(result.error)")
        #expect(!result.output.contains("1. A software token"), "\(result.output)")
    }

    @Test func `a wrong option or a wrong KEYFOB is refused`() throws {
        let household = try TestHome()
        #expect(try quickstart(household, "--no").error.contains("--yes"))
        let missing = try quickstart(household, environment: ["KEYFOB": "/no/such"])
        #expect(missing.status == 1)
        #expect(missing.error.contains("KEYFOB names no program: /no/such"), "\(missing.error)")
    }
}
