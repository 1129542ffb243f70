import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// The options that select a one-time password among those of one name.
struct OTPSelection: ParsableArguments {
    @Option(name: [.customShort("u"), .long], help: ArgumentHelp("The account.", valueName: "account"))
    var user: String?

    /// Refuses an empty name.
    ///
    /// - Throws: `UsageError`.
    func check(name: String) throws {
        guard !name.isEmpty else {
            throw UsageError(
                "a one-time password needs a name.", hint: "All of them: \(Wording.selected.keyfob("otp ls"))")
        }
    }

    /// Returns the one item with a name.
    ///
    /// - Throws: `KeychainError.itemNotFound`; `ambiguous` with the accounts.
    func one(_ name: String, in keychain: Keychain) throws -> Item {
        try Self.one(name, user: user, in: keychain)
    }

    /// Returns the one item with a name, and with an account if it is given.
    ///
    /// - Throws: `KeychainError.itemNotFound`; `ambiguous` with the accounts.
    static func one(_ name: String, user: String?, in keychain: Keychain) throws -> Item {
        let choice = PasswordChoice(user: user, kind: .generic)
        let found = try choice.find(OneTimePasswordItem.prefix + name, in: keychain).filter(OneTimePasswordItem.isOne)
        guard let item = found.first else {
            let account = user.map { " of \"\(TerminalSafe.text($0))\"" } ?? ""
            throw KeychainError(
                .itemNotFound,
                "no one-time password \"\(TerminalSafe.text(name))\"\(account) in keychain \"\(keychain.name)\".",
                hint: "All of them: " + Wording(keychain: keychain.name).keyfob("otp ls"),
                details: ["name": name, "keychain": keychain.name])
        }
        guard found.count == 1 else { throw PasswordChoice.ambiguity(name, found, in: keychain) }
        return item
    }
}

extension Item {
    /// The name of a one-time password, as the commands of `otp` take it.
    var oneTimePasswordName: String { OneTimePasswordItem.name(of: self) ?? nameText }

    /// Refuses a one-time password, for a command that would show or change its seed as if it were a password.
    ///
    /// - Throws: `KeychainError.refused`.
    func requireNoOneTimePassword(in keychain: Keychain) throws {
        guard OneTimePasswordItem.isOne(self) else { return }
        let wording = Wording(keychain: keychain.name)
        let name = ShellWord.operand(
            oneTimePasswordName, with: userText.isEmpty ? "" : " --user=\(ShellWord.quoted(userText))")
        throw KeychainError(
            .refused, "\"\(TerminalSafe.text(nameText))\" is a one-time password; its secret is the seed of its codes.",
            remedies: [
                Remedy("The code: " + wording.keyfob("otp get " + name)),
                Remedy("The seed: " + wording.keyfob("otp show --reveal " + name)),
                Remedy("Another seed: " + wording.keyfob("otp set --replace " + name)),
            ],
            details: ["name": nameText, "keychain": keychain.name])
    }
}
