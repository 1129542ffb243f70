import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// The options that select a password, as a `PasswordChoice`.
struct SecretSelection: ParsableArguments {
    @Option(name: [.customShort("u"), .long], help: ArgumentHelp("The account.", valueName: "account"))
    var user: String?

    @Option(help: ArgumentHelp("generic, or internet for a password of a server.", valueName: "kind"))
    var kind: PasswordChoice.Kind?

    @Option(
        help: ArgumentHelp("The server of an internet password; NAME by default for a new one.", valueName: "host"))
    var server: String?

    @Option(
        name: .customLong("protocol"), help: ArgumentHelp("Its protocol, such as https or ssh.", valueName: "scheme"))
    var scheme: String?

    @Option(help: ArgumentHelp("Its port.", valueName: "number"))
    var port: Int?

    @Option(help: ArgumentHelp("Its path.", valueName: "path"))
    var path: String?

    /// Whether no option is set, so that every password matches.
    var isEmpty: Bool { user == nil && kind == nil && server == nil && scheme == nil && port == nil && path == nil }

    /// The choice that the options describe.
    var choice: PasswordChoice {
        PasswordChoice(user: user, kind: kind, server: server, scheme: scheme, port: port, path: path)
    }

    /// Refuses contradictory options.
    ///
    /// - Throws: `UsageError`.
    func check(name: String) throws {
        guard !name.isEmpty else {
            throw UsageError("an item needs a name.", hint: "All items: \(Wording.selected.keyfob("ls"))")
        }
        try choice.check()
    }

    /// Refuses a new name that starts like a reference to an item, because no command would find the item.
    ///
    /// - Throws: `UsageError`.
    static func requireNoReference(_ name: String) throws {
        guard SecretReference.isReference(name) else { return }
        throw UsageError(
            "names that begin with \"\(SecretReference.scheme)\" are reserved for references to items.",
            hint: "Leave that out, and name the keychain with -k.")
    }

    /// Refuses a name that lists show for a one-time password.
    ///
    /// - Throws: `UsageError`.
    static func requireNoOneTimePassword(_ name: String) throws {
        guard let other = name.dropping(prefix: OneTimePasswordItem.prefix) else { return }
        throw UsageError(
            "names that begin with \"\(OneTimePasswordItem.prefix)\" are those of one-time passwords.",
            hint: "For a one-time password: "
                + Wording.selected.keyfob("otp set " + (other.isEmpty ? "NAME" : ShellWord.operand(other))))
    }

    /// Refuses a new name that commands could not find, or would take for an item of another kind.
    ///
    /// - Throws: `UsageError`.
    static func requireUsable(_ name: String, for item: Item) throws {
        try requireNoReference(name)
        guard OneTimePasswordItem.isOne(item) else { return try requireNoOneTimePassword(name) }
        guard name.dropping(prefix: OneTimePasswordItem.prefix)?.isEmpty != false else { return }
        throw UsageError(
            "the name of a one-time password begins with \"\(OneTimePasswordItem.prefix)\".",
            hint: "Use \(ShellWord.quoted(OneTimePasswordItem.prefix + name))")
    }

    /// Refuses a name that would not be stored. With a server, the name becomes the label, unless `--label` gives
    /// another one.
    ///
    /// - Throws: `UsageError`.
    static func requireOneName(_ name: String, server: String, label: String?) throws {
        guard let label, !label.isIdentical(to: name), !server.isIdentical(to: name) else { return }
        throw UsageError(
            "the name of a password with a separate server is its label.",
            hint: "Leave out --label, or give the label as the name.")
    }
}
