import ArgumentParser
import Keyfob

/// `keyfob keychain default`: shows or sets the default keychain.
struct KeychainDefault: OutputCommand {
    static let configuration = CommandConfiguration(
        "default", "Show or set the default keychain.",
        examples: Examples(
            "keyfob keychain default",
            "keyfob keychain default site",
            "keyfob keychain default --json"))

    @Argument(help: "The keychain that becomes the default.", completion: NameCompletion.keychains)
    var name: String?

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let current = try keychains.defaultName()
        guard let name else {
            // Without a chosen default, there may still be a keychain that is used by default.
            let used = try current ?? keychains.configuration().name
            return try output.emit(Document(global.effect(.none), ["keychain": used, "previous": current]), text: used)
        }
        _ = try keychains.configuration(global.selectedKeychainName(argument: name))
        let isChanged = current != name
        if isChanged, !global.dryRun { try keychains.setDefault(name) }
        let sentence =
            isChanged
            ? (global.dryRun ? "Would make" : "Made") + " \"\(name)\" the default keychain."
            : "Unchanged: \"\(name)\" is the default keychain."
        try output.emit(
            Document(
                global.effect(isChanged ? .update : .none), ["keychain": name, "previous": current]),
            sentence: sentence)
    }
}
