import ArgumentParser
import Foundation
import Keyfob

/// `keyfob lock`: locks keychains that `unlock` has opened.
struct LockCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "lock", "Lock a keychain, or all of them.",
        examples: Examples(
            "keyfob lock",
            "keyfob lock site",
            "keyfob lock --all"))

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Flag(help: "Lock all keychains.")
    var all = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        if all, name != nil || global.keychain != nil || global.token != nil {
            throw UsageError("--all and a name exclude each other.", hint: "Give one of the two.")
        }
        let keychains = Keychains()
        let listing = try all ? keychains.listing() : nil
        let chosen = try listing?.keychains ?? [keychains.configuration(global.selectedKeychainName(argument: name))]
        let state = UnlockedState(directories: keychains.directories)
        if !global.dryRun { ScratchDirectory.sweep() }
        // Only the state is removed and the vault is not opened, so that a keychain with a damaged vault can be locked
        // too.
        var locked: [String] = []
        var failures = listing?.damaged.map(\.error) ?? []
        for configuration in chosen {
            let key = configuration.uuid.uuidString.lowercased()
            do throws(KeychainError) {
                let wasUnlocked = try global.dryRun ? state.location(of: key) != nil : state.remove(key)
                if wasUnlocked { locked.append(configuration.name) }
            } catch {
                failures.append(error)
            }
        }
        // All other keychains are locked by now. A failure is the result of the command, even if some were locked.
        if let first = failures.first {
            throw first.replacing(
                message: "not every keychain could be locked: " + failures.map(\.message).joined(separator: " "),
                remedies: locked.isEmpty ? nil : [Remedy("Locked: " + locked.joined(separator: ", "))])
        }
        let names = locked.map { "\"\($0)\"" }.joined(separator: ", ")
        // Modules are loaded only if no keychain was locked, because that can take long. A keychain that was unlocked
        // with a PIN requires a login, so its token need not be asked.
        let asks = locked.isEmpty && !all && !output.isQuiet
        let open = chosen.compactMap { configuration -> (name: String, sentence: String)? in
            if configuration.opensUnasked { return (configuration.name, configuration.opennessThoughLocked) }
            guard asks, isWithoutLogin(configuration, keychains) else { return nil }
            return (configuration.name, configuration.opennessWithoutLogin)
        }
        let sentence =
            if !locked.isEmpty { global.dryRun ? "Would lock \(names)." : "Locked \(names)." } else if !open.isEmpty {
                "Nothing to lock."
            } else { Self.alreadyLocked(chosen.map(\.name)) }
        try output.emit(
            Document(
                global.effect(locked.isEmpty ? .none : .update), ["locked": locked, "open": open.map(\.name)]),
            sentence: ([sentence] + open.map(\.sentence)).joined(separator: "\n"))
    }

    private static func alreadyLocked(_ names: [String]) -> String {
        guard names.count == 1, let name = names.first else { return "No keychain is unlocked." }
        return "\"\(TerminalSafe.text(name))\" is already locked."
    }

    /// Whether the keychain's token requires no login, so that locking has no effect. A token that Keyfob made always
    /// requires one.
    private func isWithoutLogin(_ configuration: KeychainConfiguration, _ keychains: Keychains) -> Bool {
        guard configuration.module != .softHSM else { return false }
        // A keychain that cannot be opened is not open, and the error does not concern locking.
        return (try? keychains.open(configuration, options: global.keychainOptions()).wantsLogin()) == false
    }
}
