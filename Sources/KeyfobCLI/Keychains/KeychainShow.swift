import ArgumentParser
import Foundation
import Keyfob

/// `keyfob keychain show`: shows the settings of a keychain.
struct KeychainShow: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show where a keychain is and how it is opened.",
        examples: Examples(
            "keyfob keychain show",
            "keyfob keychain show site",
            "keyfob keychain show site --json"))

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let configuration = try keychains.configuration(global.selectedKeychainName(argument: name))
        let isDefault = try keychains.defaultName() == configuration.name
        let module =
            switch configuration.module {
            case .softHSM: TokenInventory.ownModule
            case .path(let path, _): path
            case .registered(let name): name
            }
        var parameters: String?
        if case .path(_, let text) = configuration.module { parameters = text }
        let lines: [(name: String, value: String)] = [
            ("name", configuration.name), ("default", isDefault ? "yes" : "no"),
            ("uuid", configuration.uuid.uuidString.lowercased()),
            ("token", configuration.tokenLabel), ("token_uri", configuration.shownTokenURI),
            ("module", module), ("module_parameters", parameters ?? ""), ("vault", configuration.vault),
            ("pin_source", configuration.pinSourceName ?? "prompt"), ("protection", configuration.protection),
            ("recovery_code", configuration.recoverySeal == nil ? "no" : "yes"),
            ("unlock_timeout", String(configuration.unlockTimeout)),
            ("unlock_on_use", configuration.unlocksOnUse ? "yes" : "no"),
            ("created", RFC3339.local(from: configuration.created)),
        ]
        var table = Table([.init("SETTING"), .init("VALUE")])
        for (name, value) in lines where name != "module_parameters" || parameters != nil {
            table.add([.init(name), .init(value)])
        }
        let typed: Members = [
            "default": isDefault, "module_parameters": parameters, "recovery_code": configuration.recoverySeal != nil,
            "created": configuration.created, "unlock_timeout": configuration.unlockTimeout,
            "unlock_on_use": configuration.unlocksOnUse,
        ]
        try output.emit(Document(Members(lines).replacing(typed)), table: table)
    }
}
