import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// `keyfob keychain ls`: lists keychains.
struct KeychainList: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List keychains.",
        examples: Examples(
            "keyfob keychain ls",
            "keyfob keychain ls --json",
            "keyfob keychain ls --format tsv"),
        discussion: """
            --keychain lists only that keychain, --token only those on that token; the variables for these options are \
            ignored.
            """,
        aliases: ["list"])

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let defaultName = try keychains.defaultName()
        let state = UnlockedState(directories: keychains.directories)
        var table = Table([.init("NAME"), .init("TOKEN"), .init("STATE"), .init("DEFAULT")])
        var list: [Members] = []
        let listing = try keychains.listing()
        let options = try global.keychainOptions()
        let wanted = try wanted(listing, in: keychains)
        for configuration in listing.keychains where wanted(configuration.name) {
            let isDefault = configuration.name == defaultName
            let isUnlocked = try state.location(of: configuration.uuid.uuidString.lowercased()) != nil
            let word = Self.state(configuration, isUnlocked: isUnlocked, keychains, options).rawValue
            let token = configuration.tokenLabel
            table.add([.init(configuration.name), .init(token), .init(word), .init(isDefault ? "yes" : "")])
            list.append([
                "name": configuration.name, "token": token, "state": word, "default": isDefault,
                "problem": Value.null,
            ])
        }
        for (name, error) in listing.damaged where wanted(name) {
            let isDefault = name == defaultName
            let word = KeychainReport.State.damaged.rawValue
            table.add([.init(name), .init("?"), .init(word, .bad), .init(isDefault ? "yes" : "")])
            list.append([
                "name": name, "token": Value.null, "state": word, "default": isDefault,
                "problem": KeychainReport.problem(error),
            ])
        }
        try output.emit(Document(["keychains": list]), table: table)
        if list.isEmpty, output.isForPeople {
            StandardError.write("There is no keychain yet. Make one: keyfob init\n")
        }
    }

    /// The state of a keychain. Only tokens of other modules are asked, because Keyfob's own tokens need a login.
    private static func state(
        _ configuration: KeychainConfiguration, isUnlocked: Bool, _ keychains: Keychains, _ options: Keychain.Options
    ) -> KeychainReport.State {
        let isForeign = configuration.module != .softHSM && !configuration.opensUnasked
        // `status` reports a token that does not answer, and an invalid source of the PIN.
        let token = isForeign ? try? keychains.tokenInfo(of: configuration, options: options) : nil
        let state = try? KeychainReport.State(
            configuration, isUnlocked: isUnlocked, options: options, token: token)
        return state ?? .locked
    }

    /// Returns a filter for the names that the options select; without options it accepts all.
    ///
    /// - Throws: `KeychainError.noSuchKeychain` if no keychain matches; `UsageError` if the two options contradict.
    private func wanted(_ listing: Keychains.Listing, in keychains: Keychains) throws -> (String) -> Bool {
        if let keychain = global.keychain {
            if let token = global.token { try GlobalOptions.require(keychain, onToken: token) }
            // For a missing keychain, this throws an error that lists the existing ones.
            if !listing.names.contains(where: { $0.isIdentical(to: keychain) }) {
                _ = try keychains.configuration(keychain)
            }
            return { $0.isIdentical(to: keychain) }
        }
        guard let token = global.token else { return { _ in true } }
        let uri = try TokenChoice.uri(token)
        let names = Set(listing.keychains.filter { GlobalOptions.isOn(uri, $0) }.map(\.name))
        // If there is none, this throws an error that explains how to create one.
        if names.isEmpty { _ = try GlobalOptions.keychainName(onToken: token) }
        return { names.contains($0) }
    }
}
