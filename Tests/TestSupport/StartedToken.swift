import Foundation
import KeyfobPrimitives

/// A token that `Scripts/token` has started in a directory of its own; ended when the last reference is released.
public final class StartedToken: Sendable {
    private struct Exports: Codable {
        let module: String
        let label: String
        let pin: String
        let parameters: String
        let environment: [String: String]
    }

    private let kind: TokenKind
    private let directory: TemporaryDirectory
    private let exports: Exports

    /// The path of the module.
    public var module: String { exports.module }
    /// The parameters that the module takes when it starts; empty if it takes nothing.
    public var parameters: String { exports.parameters }
    /// The token's label.
    public var label: String { exports.label }
    /// The user's PIN.
    public var pin: String { exports.pin }
    /// The environment variables that the module reads when it is loaded.
    public var environment: [String: String] { exports.environment }

    /// Makes a token.
    ///
    /// - Throws: `RunError`, also if the token cannot be started; the error of reading the script's output.
    public init(_ kind: TokenKind) throws {
        self.kind = kind
        directory = try TemporaryDirectory()
        let started = try run(Self.script("token"), [kind.rawValue, "start", directory.file("token"), "--json"])
        guard started.status == 0 else {
            throw RunError.notStarted(executable: "Scripts/token \(kind.rawValue)", reason: started.stderr)
        }
        exports = try JSONDecoder().decode(Exports.self, from: Data(started.output))
    }

    deinit {
        // A failure cannot be handled here; the daemons then run on until the machine ends them.
        do { try act("stop") } catch { print("note: \(kind.rawValue) was not stopped: \(error)") }
    }

    /// Carries out an action of `Scripts/token`, such as `drop`, `pull`, `pause` or `resume`; `start` brings the token
    /// back.
    ///
    /// - Throws: `RunError`, also if the script fails.
    public func act(_ action: String) throws {
        let done = try run(Self.script("token"), [kind.rawValue, action, directory.file("token")])
        guard done.status == 0 else {
            throw RunError.notStarted(executable: "Scripts/token \(kind.rawValue) \(action)", reason: done.stderr)
        }
    }

    fileprivate static func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Scripts/\(name)").standardized.path
    }
}

extension TokenKind {
    /// Whether all packages of the kind are installed. Tests install none.
    public var isInstalled: Bool {
        // Without apt, Scripts/token cannot start the token either.
        (try? run(StartedToken.script("install-dependencies"), ["--dry-run", rawValue]).stdout
            .hasPrefix("Nothing to install")) == true
    }
}
