import Foundation
import TestSupport
import Testing

/// A user with a separate home directory, without the keychains of other tests and of the machine.
final class TestHome: Sendable {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["home", "run"] {
            try FileManager.default.createDirectory(
                atPath: directory.file(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700]
            )
        }
    }

    deinit {
        // The unlocked state is in the kernel's keyring, which stays when the directory is removed.
        do { _ = try keyfob(["lock", "--all"]) } catch {}
    }

    /// A home whose keychain opens without asking.
    static func unattended() throws -> TestHome {
        let household = try TestHome()
        let result = try household.keyfob(["init", "--unattended"])
        try #require(result.status == 0, "\(result.error)")
        return household
    }

    /// A home whose keychain is locked, with a passphrase that seals its PIN.
    static func withPassphrase(_ passphrase: String) throws -> TestHome {
        let household = try TestHome()
        let made = try household.keyfob(["init", "--pin-source", "env:PASS"], environment: ["PASS": passphrase])
        try #require(made.status == 0, "\(made.error)")
        let locked = try household.keyfob(["lock"])
        try #require(locked.status == 0, "\(locked.error)")
        return household
    }

    var environment: [String: String] {
        ["HOME": directory.file("home"), "XDG_RUNTIME_DIR": directory.file("run"), "LC_ALL": "C.UTF-8"]
    }

    /// The directory of keychains and tokens.
    var data: String { directory.file("home/.local/share/keyfob") }

    /// The only vault.
    func vault() throws -> String {
        try keychain(#require(keychains().first)) + "/vault.sqlite"
    }

    /// The directory of a keychain.
    func keychain(_ name: String = "login") -> String { data + "/keychains/" + name }

    /// The names of all keychains, sorted.
    func keychains() throws -> [String] { try directories().filter { !$0.hasPrefix(".") } }

    /// The names of all directories beside the keychains, sorted.
    func directories() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: data + "/keychains").sorted()
    }

    /// Runs the command, which cannot ask questions.
    func keyfob(_ arguments: [String], input: Data = Data(), environment more: [String: String] = [:]) throws
        -> Tool.Result
    {
        let all = environment.merging(["KEYFOB_NO_INPUT": "1"].merging(more) { $1 }) { $1 }
        return try Tool.keyfob(arguments, environment: all, input: input).run()
    }

    /// Runs the command and returns its document.
    func document(_ arguments: [String], input: Data = Data()) throws -> [String: Any] {
        let result = try keyfob(arguments + ["--json"], input: input)
        try #require(result.status == 0, "\(result.error)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    /// Stores a value, which must succeed.
    func set(_ name: String, _ value: String, _ options: [String] = []) throws {
        let result = try keyfob(["set"] + options + ["--stdin", "--", name], input: Data(value.utf8))
        try #require(result.status == 0, "\(result.error)")
    }

    /// Runs a command that fails with `--json`, and returns code, status and hint of the error.
    func failure(_ arguments: [String], input: Data = Data(), environment: [String: String] = [:]) throws -> (
        code: String, status: Int32, hint: String
    ) {
        let result = try keyfob(["--json"] + arguments, input: input, environment: environment)
        let line = result.error.split(separator: "\n").last.map(String.init) ?? ""
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        let error = try #require(object?["error"] as? [String: Any])
        return (error["code"] as? String ?? "", result.status, error["hint"] as? String ?? "")
    }

    /// Runs the command at a terminal and types `lines`, one after each prompt.
    ///
    /// - Parameter prompt: The end of each prompt.
    func keyfob(
        _ arguments: [String], typing lines: [String], after prompt: String = ": ",
        environment more: [String: String] = [:]
    ) throws -> (result: Tool.Result, screen: String) {
        let terminal = try PseudoTerminal()
        let typist = terminal.type(lines.map { $0 + "\n" }, after: prompt)
        let script = "exec setsid --ctty --wait \"$@\" < \(terminal.path)"
        let tool = Tool(
            "/bin/sh", ["-c", script, "sh", Tool.keyfob([]).path] + arguments,
            environment: environment.merging(more) { $1 })
        let result = try tool.run()
        return (result, typist.wait())
    }
}
