/// The purpose of a PIN or passphrase: the texts of the prompt and of the errors.
public struct PINPurpose: Sendable, Hashable {
    /// The prompt on a terminal, without the colon.
    public private(set) var prompt: String

    /// Whether it is a new secret, which is asked for twice.
    public let confirms: Bool

    /// The message and hint of the error if the secret cannot be asked for.
    private(set) var absence: String
    private(set) var remedies: [Remedy]
    /// The name of the secret, and the remedy if a source is empty.
    private(set) var secretName = "PIN"
    private(set) var remedyOfEmptiness: Remedy?
    /// Whether the secret is all that a file or command gives, and not only the first line.
    private(set) var mayHaveLines = false
    /// The remedies if a named source fails.
    private(set) var remediesOfFailure: [Remedy] = []

    private init(prompt: String, confirms: Bool = false, absence: String, remedies: [Remedy]) {
        self.prompt = prompt
        self.confirms = confirms
        self.absence = absence
        self.remedies = remedies
    }

    /// The PIN that unlocks a keychain.
    public static func unlock(keychain: String) -> PINPurpose {
        var purpose = PINPurpose(
            prompt: "PIN for keychain \"\(keychain)\"",
            absence: "keychain \"\(keychain)\" is locked and there is no terminal to ask for its PIN.",
            remedies: [giveSource(.pinSource), Remedy("Or unlock first", .unlock(keychain: keychain))])
        purpose.remediesOfFailure = [typing("PIN", keychain)]
        return purpose
    }

    /// A remedy that bypasses the keychain's own source, which unlocking would otherwise read again.
    private static func typing(_ secret: String, _ keychain: String) -> Remedy {
        Remedy("To type the \(secret)", .unlock(keychain: keychain, .typing))
    }

    private static func giveSource(_ setting: Remedy.Setting) -> Remedy {
        Remedy("Give a source", .change(setting))
    }

    /// The passphrase that seals a keychain's PIN.
    public static func passphrase(keychain: String) -> PINPurpose {
        var purpose = PINPurpose(
            prompt: "Passphrase for keychain \"\(keychain)\"",
            absence: "keychain \"\(keychain)\" is locked and there is no terminal to ask for its passphrase.",
            remedies: [giveSource(.pinSource), Remedy("Or unlock first", .unlock(keychain: keychain))])
        purpose.secretName = "passphrase"
        purpose.remediesOfFailure = [typing("passphrase", keychain)]
        return purpose
    }

    /// The recovery code of a keychain.
    public static func recoveryCode(keychain: String) -> PINPurpose {
        var purpose = PINPurpose(
            prompt: "Recovery code of keychain \"\(keychain)\"",
            absence: "the recovery code of keychain \"\(keychain)\" is needed and there is no terminal to ask for it.",
            remedies: [giveSource(.pinSource)])
        purpose.secretName = "recovery code"
        return purpose
    }

    /// The same purpose after a wrong answer.
    var afterWrongAnswer: PINPurpose {
        var purpose = self
        let remark = "Wrong \(secretName). "
        if !prompt.hasPrefix(remark) { purpose.prompt = remark + prompt }
        return purpose
    }

    /// The same purpose for changing the protection of a keychain, which may be unlocked.
    func forChange(ofKeychain name: String) -> PINPurpose {
        var purpose = self
        purpose.absence = "changing how keychain \"\(name)\" opens takes its \(secretName), and there is no terminal "
            + "to ask for it."
        purpose.remedies = [Self.giveSource(.pinSource)]
        return purpose
    }

    /// The same purpose for a keychain that is unlocked and is to be unlocked again.
    func anew(keychain: String) -> PINPurpose {
        var purpose = self
        purpose.absence = "keychain \"\(keychain)\" is unlocked; to unlock it anew takes its \(secretName), "
            + "and there is no terminal to ask for it."
        purpose.remedies = [Self.giveSource(.pinSource)]
        return purpose
    }

    /// A new passphrase for a keychain, asked for twice.
    public static func newPassphrase(keychain: String) -> PINPurpose {
        var purpose = PINPurpose(
            prompt: "New passphrase for keychain \"\(keychain)\"", confirms: true,
            absence: "keychain \"\(keychain)\" needs a new passphrase and there is no terminal to ask for it.",
            remedies: [giveSource(.pinSource)])
        purpose.secretName = "passphrase"
        return purpose
    }

    /// The user PIN of a token that is named directly.
    public static func token(_ label: String) -> PINPurpose {
        PINPurpose(
            prompt: "PIN for token \"\(label)\"",
            absence: "token \"\(label)\" is locked and there is no terminal to ask for its PIN.",
            remedies: [giveSource(.pinSource)])
    }

    /// The security officer's PIN (PUK) of a token.
    public static func securityOfficer(token: String) -> PINPurpose {
        PINPurpose(
            prompt: "SO PIN (PUK) for token \"\(token)\"",
            absence: "the SO PIN of token \"\(token)\" is needed and there is no terminal to ask for it.",
            remedies: [giveSource(.securityOfficerPINSource)])
    }

    /// A new user PIN for a token, asked for twice.
    public static func newPIN(token label: String) -> PINPurpose {
        PINPurpose(
            prompt: "New PIN for token \"\(label)\"", confirms: true,
            absence: "the new PIN of token \"\(label)\" is required, and without a terminal it cannot be asked for.",
            remedies: [giveSource(.newPINSource)])
    }

    /// A new SO PIN for a token that was never initialised, asked for twice.
    public static func newSecurityOfficer(token label: String) -> PINPurpose {
        PINPurpose(
            prompt: "New SO PIN (PUK) for token \"\(label)\"", confirms: true,
            absence: "a new SO PIN for token \"\(label)\" is required, and without a terminal it cannot be asked for.",
            remedies: [giveSource(.securityOfficerPINSource)])
    }

    /// The passphrase of a file that is read or, with `isNew`, written.
    public static func file(_ name: String, isNew: Bool = false) -> PINPurpose {
        var purpose = PINPurpose(
            prompt: isNew ? "New passphrase for \(name)" : "Passphrase for \(name)", confirms: isNew,
            absence: "\(name) needs a passphrase and there is no terminal to ask for it.",
            remedies: [giveSource(.passphraseSource)])
        purpose.secretName = "passphrase"
        if !isNew {
            purpose.remedyOfEmptiness = Remedy("If \(name) has no passphrase", .change(.noPassphrase))
        }
        return purpose
    }

    /// The HMAC key of the user's account with a certificate authority.
    public static func externalAccount(_ keyIdentifier: String) -> PINPurpose {
        PINPurpose(
            prompt: "HMAC key of the external account \"\(keyIdentifier)\"",
            absence: "the HMAC key of the external account is needed and there is no terminal to ask for it.",
            remedies: [giveSource(.externalAccountKeySource)])
    }

    /// The value of a secret that is to be stored. It may have several lines.
    package static func value(of name: String) -> PINPurpose {
        var purpose = PINPurpose(
            prompt: "Value for \(name)", absence: "\"\(name)\" needs a value and there is no terminal to ask for it.",
            remedies: [])
        purpose.secretName = "value"
        purpose.remedyOfEmptiness = "Put the value there, or name another source."
        purpose.mayHaveLines = true
        return purpose
    }

    /// The error for this purpose if no person can be asked.
    var required: KeychainError { KeychainError(.pinRequired, absence, remedies: remedies) }
}
