import ArgumentParser
import Foundation
import Keyfob

/// `keyfob lock`: ends what `unlock` began.
struct LockCommand: ParsableCommand {
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

    func run() throws {
        let output = try global.output()
        if all, name != nil { throw UsageError("--all and a name exclude each other.", hint: "Give one of the two.") }
        let keychains = Keychains()
        let chosen = try all ? keychains.all() : [keychains.configuration(name ?? global.selectedKeychainName())]
        let state = UnlockedState(directories: keychains.directories)
        // The state is removed without opening the vault: a damaged one must be lockable, too.
        var locked: [String] = []
        for configuration in chosen {
            let key = configuration.uuid.uuidString.lowercased()
            let wasUnlocked = try global.dryRun ? state.location(of: key) != nil : state.remove(key)
            if wasUnlocked { locked.append(configuration.name) }
        }
        let names = locked.map { "\"\($0)\"" }.joined(separator: ", ")
        let sentence =
            locked.isEmpty ? "Nothing was unlocked." : (global.dryRun ? "Would lock \(names)." : "Locked \(names).")
        try output.emit(
            Document([
                "locked": .array(locked.map { .string($0) }), "changed": .boolean(!locked.isEmpty && !global.dryRun),
                "dry_run": .boolean(global.dryRun),
            ]), sentence: sentence)
    }
}
