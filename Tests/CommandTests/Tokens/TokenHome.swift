import Foundation
import TestSupport
import Testing

/// A token that `Scripts/token` has started, and a home for commands that use it.
final class TokenHome {
    let home: TestHome
    /// The path of a file with the PIN.
    let pin: String
    let token: StartedToken
    /// The variables of the module.
    private(set) var environment: [String: String]

    /// Starts a token.
    ///
    /// - Throws: `RunError` if the token cannot be started.
    init(_ kind: TokenKind) throws {
        home = try TestHome()
        token = try StartedToken(kind)
        environment = token.environment
        // The tests look at what the library writes.
        environment["TSS2_LOG"] = nil
        pin = try home.directory.write(Array(token.pin.utf8), to: "card.pin")
    }

    /// The options that select the token.
    var selection: [String] {
        ["--token", token.label, "--module", token.module]
            + (token.parameters.isEmpty ? [] : ["--module-parameters", token.parameters])
    }

    func keyfob(
        _ arguments: [String], input: String = "", environment more: [String: String] = [:]
    ) throws -> Tool.Result {
        try home.keyfob(arguments, input: Data(input.utf8), environment: environment.merging(more) { $1 })
    }

    /// Runs a command and returns its document, whatever its status.
    func document(_ arguments: [String]) throws -> (status: Int32, members: [String: Any]) {
        let result = try keyfob(arguments + ["--json"])
        let members = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.error)")
        return (result.status, members)
    }

    /// Makes a keychain `card` whose PIN comes from a file.
    @discardableResult
    func makeKeychain(_ options: [String] = []) throws -> Tool.Result {
        let made = try keyfob(["init", "--keychain", "card", "--pin-source", "file:" + pin] + selection + options)
        try #require(made.status == 0, "\(made.error)")
        return made
    }
}

extension TokenKind {
    /// The kinds that the tests of the command use, if they are installed.
    static let forCommands = [softhsm, nss, remote, tpm2, piv].filter(\.isInstalled)
}
