import ArgumentParser
import Foundation
import Keyfob

/// `keyfob otp ls`: lists one-time passwords.
struct OTPList: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List one-time passwords by name, without their codes.",
        examples: Examples(
            "keyfob otp ls",
            "keyfob otp ls work/",
            "keyfob otp ls --json"),
        aliases: ["list"])

    @Argument(help: "Only names that begin with this.", completion: NameCompletion.oneTimePasswords)
    var prefix: String?

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        var items: [Item] = []
        var damage: (any Error)?
        try keychain.forEachPassword(of: [.genericPassword], damaged: { damage = damage ?? $0 }) { item in
            if OneTimePasswordItem.isOne(item),
                item.oneTimePasswordName.utf8.starts(with: (prefix ?? "").utf8)
            {
                items.append(item)
            }
            return true
        }
        if items.isEmpty, damage == nil, output.isForPeople, prefix == nil {
            let command = Wording(keychain: keychain.name).keyfob("otp set NAME")
            StandardError.write("Keychain \"\(keychain.name)\" has no one-time passwords yet. Add one: \(command)\n")
        }
        try output.emit(
            Document([
                "keychain": keychain.name, "items": items.map(Self.members), "count": items.count,
            ]), table: Self.table(items))
        guard let damage else { return }
        throw KeychainError(
            .vaultDamaged, "items of keychain \"\(keychain.name)\" are damaged; the list may be incomplete.",
            remedies: [
                Remedy(
                    "Restore a backup. To see the damaged items, and what to do without a backup",
                    .checkKeychain(keychain.name))
            ],
            details: ["keychain": keychain.name], cause: damage)
    }

    private static func members(_ item: Item) -> Members {
        [
            "name": item.oneTimePasswordName, "user": item.userText,
            "created": item.attributes[.creationDate]?.date, "modified": item.modified,
        ] + item.referenceMembers
    }

    private static func table(_ items: [Item]) -> Table {
        var table = Table([.init("NAME", mayShrink: true), .init("USER", mayShrink: true), .init("UPDATED")])
        let now = Date()
        for item in items {
            table.add([
                .init(item.oneTimePasswordName), .init(item.userText),
                .init(item.modified.map { Plural.relative($0, to: now) } ?? ""),
            ])
        }
        return table
    }
}
