import ArgumentParser
import Foundation
import Keyfob

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
        let seconds = try span?.secondsUnlocked(of: "--for")
        let keychain = try Keychain.open(
            global.selectedKeychainName(argument: name),
            options: global.keychainOptions())
        if global.dryRun {
            let isOpen = try !keychain.wantsLogin()
            let document = try document(keychain, wantsLogin: !isOpen)
            return try output.emit(
                document,
                sentence: isOpen
                    ? "Nothing to unlock. " + keychain.configuration.opennessWithoutLogin
                    : "Would unlock \"\(keychain.name)\".")
        }
        let location = try keychain.unlockForSession(timeout: seconds, isRecoveryCode: recovery)
        guard try keychain.wantsLogin() else {
            _ = try keychain.unlockedState.remove(keychain.stateName)
            let document = try document(keychain, wantsLogin: false)
            return try output.emit(
                document,
                sentence: "Nothing to unlock. " + keychain.configuration.opennessWithoutLogin)
        }
        let expiry = try keychain.unlockedState.expiry(of: keychain.stateName)
        let until =
            expiry.map { "until \(RFC3339.local(from: $0)) (\(Plural.relative($0, to: Date())))" }
            ?? "until it is locked"
        let document = try document(keychain, wantsLogin: true, until: expiry, location: location)
        try output.emit(
            document,
            sentence: "Unlocked \"\(keychain.name)\" \(until).")
    }

    private func document(
        _ keychain: Keychain, wantsLogin: Bool, until expiry: Date? = nil, location: UnlockedState.Location? = nil
    ) throws -> Document {
        let state = try KeychainReport.State(
            keychain.configuration, isUnlocked: true, options: global.keychainOptions(),
            token: wantsLogin ? nil : keychain.tokenInfo())
        return Document(
            global.effect(wantsLogin ? .update : .none),
            ["keychain": keychain.name, "state": state.rawValue, "until": expiry, "location": location?.name])
    }
}

extension TimeSpan {
    /// The seconds that a keychain stays unlocked; 0 until it is locked.
    ///
    /// - Parameter option: The option with the time, for the hints.
    /// - Throws: `UsageError` for a time below one second or of more than ten years.
    func secondsUnlocked(of option: String) throws -> Int {
        let seconds = Int(duration.components.seconds)
        guard seconds > 0 || duration == .zero else {
            throw UsageError("the time to stay unlocked must be at least one second.", hint: "Example: \(option) 8h")
        }
        guard seconds <= UnlockedState.longestTimeout else {
            throw UsageError(
                "the time to stay unlocked must be at most ten years.", hint: "Until it is locked: \(option) 0")
        }
        return seconds
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
