import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob unlock`: unlocks a keychain for the following commands.
struct UnlockCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "unlock", "Unlock a keychain for the commands that follow.",
        examples: Examples(
            "keyfob unlock",
            "keyfob unlock site --for 8h",
            "keyfob unlock --recovery --pin-source file:/media/usb/keyfob-recovery-login.txt"))

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long it stays unlocked, such as 8h; 0 means until it is locked.", valueName: "duration"))
    var span: TimeSpan?

    @Flag(help: "Use the recovery code instead of the passphrase.")
    var recovery = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func validate() throws { try span?.requireUnit(for: "--for", probably: "h") }

    func run(_ output: Output) throws {
        let seconds = try span.map { span in
            let seconds = Int(span.duration.components.seconds)
            guard seconds > 0 || span.duration == .zero else {
                throw UsageError("the time to stay unlocked must be at least one second.", hint: "Example: --for 8h")
            }
            guard seconds <= UnlockedState.longestTimeout else {
                throw UsageError(
                    "the time to stay unlocked must be at most ten years.", hint: "Until it is locked: --for 0")
            }
            return seconds
        }
        let keychain = try Keychain.open(
            global.selectedKeychainName(argument: name),
            options: global.keychainOptions())
        if global.dryRun {
            let isOpen = try !keychain.wantsLogin()
            return try output.emit(
                document(keychain, isOpen ? .unattended : .unlocked, isChanged: false),
                sentence: isOpen
                    ? "Nothing to unlock. " + keychain.configuration.opennessWithoutLogin
                    : "Would unlock \"\(keychain.name)\".")
        }
        let location: UnlockedState.Location
        if recovery {
            location = try keychain.unlockForSession(
                timeout: seconds, with: recoveryCode(keychain), isRecoveryCode: true)
        } else {
            location = try keychain.unlockForSession(timeout: seconds)
        }
        guard try keychain.wantsLogin() else {
            _ = try keychain.unlockedState.remove(keychain.stateName)
            return try output.emit(
                document(keychain, .unattended, isChanged: false),
                sentence: "Nothing to unlock. " + keychain.configuration.opennessWithoutLogin)
        }
        let expiry = try keychain.unlockedState.expiry(of: keychain.stateName)
        let until =
            expiry.map { "until \(RFC3339.string(from: $0)) (\(Plural.relative($0, to: Date())))" }
            ?? "until it is locked"
        try output.emit(
            document(keychain, .unlocked, until: expiry, location: location, isChanged: true),
            sentence: "Unlocked \"\(keychain.name)\" \(until).")
    }

    private func document(
        _ keychain: Keychain, _ state: KeychainReport.State, until expiry: Date? = nil,
        location: UnlockedState.Location? = nil, isChanged: Bool
    ) -> Document {
        Document([
            "keychain": keychain.name, "state": state.rawValue, "until": expiry, "location": location?.name,
            "changed": isChanged, "dry_run": global.dryRun,
        ])
    }

    private func recoveryCode(_ keychain: Keychain) throws -> SecretBytes {
        guard keychain.configuration.recoverySeal != nil else {
            throw KeychainError(.refused, "keychain \"\(keychain.name)\" has no recovery code.")
        }
        let prompt = "Recovery code of keychain \"\(keychain.name)\""
        let typed: SecretBytes
        if let source = try global.explicitPINSource, source != .prompt {
            let environment = global.pinEnvironment(noInput: !global.terminal.mayAsk)
            typed = try source.read(.passphrase(keychain: keychain.name), from: environment)
        } else {
            typed = try global.terminal.readSecret(prompt + ": ", hint: "Give its source: --pin-source file:…")
        }
        return try RecoveryCode(parsing: typed).text
    }
}

extension UnlockedState.Location {
    /// A stable name for documents.
    var name: String {
        switch self {
        case .kernelKeyring: "kernel-keyring"
        case .runtimeFile: "runtime-file"
        }
    }

    /// A phrase for people.
    var phrase: String {
        switch self {
        case .kernelKeyring: "in the kernel's keyring"
        case .runtimeFile(let url): "in \(HomePath.shown(url.path))"
        }
    }
}
