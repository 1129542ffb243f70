import ArgumentParser
import Foundation
import Keyfob
import PKCS11

/// `keyfob keychain ls`: lists keychains.
struct KeychainList: ParsableCommand {
    static let configuration = CommandConfiguration(
        "ls", "List keychains.",
        examples: Examples(
            "keyfob keychain ls",
            "keyfob keychain ls --json",
            "keyfob keychain ls --format tsv"),
        aliases: ["list"])

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychains = Keychains()
        let defaultName = try keychains.defaultName()
        let state = UnlockedState(directories: keychains.directories)
        var table = Table([.init("NAME"), .init("TOKEN"), .init("STATE"), .init("DEFAULT")])
        var list: [Value] = []
        let listing = try keychains.listing()
        for configuration in listing.keychains {
            let isDefault = configuration.name == defaultName
            let isUnlocked = try state.location(of: configuration.uuid.uuidString.lowercased()) != nil
            let condition: KeychainReport.State =
                isUnlocked ? .unlocked : configuration.opensUnasked ? .unattended : .locked
            let word = condition.rawValue
            let token = configuration.tokenLabel
            table.add([.init(configuration.name), .init(token), .init(word), .init(isDefault ? "yes" : "")])
            list.append(
                .object([
                    .init("name", .string(configuration.name)), .init("token", .string(token)),
                    .init("state", .string(word)), .init("default", .boolean(isDefault)),
                ]))
        }
        for (name, error) in listing.damaged {
            let isDefault = name == defaultName
            table.add([.init(name), .init("?"), .init("damaged", .bad), .init(isDefault ? "yes" : "")])
            list.append(
                .object([
                    .init("name", .string(name)), .init("token", .null), .init("state", .string("damaged")),
                    .init("default", .boolean(isDefault)), .init("problem", KeychainReport.problem(error)),
                ]))
        }
        try output.emit(Document(["keychains": .array(list)]), table: table)
        if list.isEmpty, !output.format.isMachineReadable, !output.isQuiet {
            StandardError.write("There is no keychain yet. Make one: keyfob init\n")
        }
    }
}
