import Foundation
import TestSupport
import Testing

/// A token that `Scripts/token` has started, and a home for commands that use it.
final class StartedToken {
    /// The kinds of token that tests start.
    enum Kind: String, CaseIterable, Sendable {
        case softhsm, nss, remote, tpm2, piv

        /// Whether all packages of the kind are installed. The tests install none of them.
        var isInstalled: Bool {
            let script = Machine.script("install-dependencies")
            // Without apt, Scripts/token cannot start the token either.
            return (try? Tool(script, ["--dry-run", rawValue]).run().output.hasPrefix("Nothing to install")) == true
        }

        static let installed = allCases.filter(\.isInstalled)
    }

    let home: TestHome
    let kind: Kind
    let label: String
    let module: String
    /// What the module takes when it starts; empty if it takes nothing.
    let parameters: String
    /// The variables of the module.
    let environment: [String: String]
    /// The path of a file with the PIN.
    let pin: String

    init(_ kind: Kind) throws {
        home = try TestHome()
        self.kind = kind
        let started = try Tool(
            Machine.script("token"), [kind.rawValue, "start", home.directory.file("token"), "--json"],
            environment: ["HOME": home.directory.file("home")]
        ).run()
        try #require(started.status == 0, "\(started.error)")
        let exports = try #require(
            try JSONSerialization.jsonObject(with: Data(started.output.utf8)) as? [String: Any])
        label = try #require(exports["label"] as? String)
        module = try #require(exports["module"] as? String)
        parameters = try #require(exports["parameters"] as? String)
        var environment = try #require(exports["environment"] as? [String: String])
        // The tests look at what the library writes.
        environment["TSS2_LOG"] = nil
        self.environment = environment
        pin = try home.directory.write(Array(#require(exports["pin"] as? String).utf8), to: "card.pin")
    }

    deinit {
        do { _ = try tool("stop") } catch { print("note: \(kind.rawValue) was not stopped: \(error)") }
    }

    /// Runs an action of `Scripts/token`.
    @discardableResult
    func tool(_ action: String) throws -> Tool.Result {
        try Tool(Machine.script("token"), [kind.rawValue, action, home.directory.file("token")]).run()
    }

    /// The options that select the token.
    var selection: [String] {
        ["--token", label, "--module", module] + (parameters.isEmpty ? [] : ["--module-parameters", parameters])
    }

    func keyfob(_ arguments: [String]) throws -> Tool.Result { try home.keyfob(arguments, environment: environment) }

    /// Runs a command and returns its document, whatever its status.
    func document(_ arguments: [String]) throws -> (status: Int32, members: [String: Any]) {
        let result = try keyfob(arguments + ["--json"])
        let members = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.error)")
        return (result.status, members)
    }

    /// Makes a keychain `card` whose PIN comes from a file.
    func makeKeychain(_ options: [String] = []) throws {
        let made = try keyfob(["init", "--keychain", "card", "--pin-source", "file:" + pin] + selection + options)
        try #require(made.status == 0, "\(made.error)")
    }
}
