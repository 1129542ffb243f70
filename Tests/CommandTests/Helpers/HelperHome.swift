import Foundation
import Glibc
import TestSupport
import Testing

/// A user with an unattended keychain, in whose `PATH` the helpers are.
struct HelperHome: ScriptHome {
    let home: TestHome

    init() throws { self.init(try TestHome.unattended()) }

    init(_ home: TestHome) {
        self.home = home
    }

    /// The home directory of the user that runs the tests, for programs that are installed there.
    ///
    /// `HOME` is another directory in test runs.
    static let installations: String = {
        guard let user = unsafe getpwuid(getuid()) else { return "/root" }
        return unsafe String(cString: user.pointee.pw_dir)
    }()

    /// Makes the links by which other programs find the helpers.
    static func linked(_ home: TestHome? = nil) throws -> HelperHome {
        let helpers = try home.map { HelperHome($0) } ?? HelperHome()
        try FileManager.default.createDirectory(atPath: helpers.file("bin"), withIntermediateDirectories: false)
        for name in ["git-credential-keyfob", "docker-credential-keyfob", "cargo-credential-keyfob", "keyring"] {
            try FileManager.default.createSymbolicLink(
                atPath: helpers.file("bin/" + name), withDestinationPath: Tool.commandPath)
        }
        return helpers
    }

    /// The path of a file of the test.
    func file(_ name: String) -> String { home.directory.file(name) }

    /// The environment of programs that call helpers.
    var environment: [String: String] {
        home.environment.merging([
            "PATH": file("bin") + ":/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        ]) { $1 }
    }

    /// Runs a helper by the name under which other programs call it.
    func call(
        _ program: String, _ arguments: [String], _ input: String = "", environment more: [String: String] = [:]
    ) throws -> Tool.Result {
        try Tool(
            file("bin/" + program), arguments, environment: environment.merging(more) { $1 }, input: Data(input.utf8)
        ).run()
    }

    /// The accounts and addresses of all passwords.
    func accounts() throws -> [String] {
        let items = try home.document(["ls"])["items"] as? [[String: Any]] ?? []
        return items.map { "\($0["user"] ?? "")@\($0["name"] ?? "")" }.sorted()
    }
}
