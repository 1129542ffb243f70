import ArgumentParser
import Keyfob

/// `keyfob key rm`: destroys a key.
struct KeyRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "Destroy a key on the token.",
        examples: Examples("keyfob key rm api", "keyfob key rm api --yes", "keyfob key rm api --dry-run"),
        discussion: "It cannot be brought back. Its certificate stays; keyfob identity rm removes both.",
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint or PKCS#11 URI.")
    var name: ItemName

    @Flag(help: "Succeed where there is no such key.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let items: [KeyItem]
        do { items = try name.keys(in: keychain) } catch let error as KeychainError
            where error.code == .itemNotFound
        {
            // No search finds it. What is found under its name is another, such as one that was to seal a keychain.
            guard try !keychain.wrappingKeyNames().contains(name.text) else {
                throw KeychainError(
                    .refused,
                    "key \"\(name.text)\" seals keychain \"\(keychain.name)\": without it every password is lost.",
                    hint: "Remove the whole keychain: keyfob keychain rm \(keychain.name)",
                    details: ["key": name.text, "keychain": keychain.name])
            }
            guard ifExists else { throw error }
            return try output.emit(
                .removal(of: name.text, isDone: false, isDryRun: global.dryRun),
                sentence: "Nothing to do: there is no such key.")
        }
        guard let key = items.first else { return }
        try name.requireMeant(key, in: keychain)
        let label = key.label ?? name.text
        let certificates = try keychain.publicCertificates().filter {
            key.keyClass == .private && key.publicKeyHash != nil
                && $0.attributes[.publicKeyHash]?.bytes == key.publicKeyHash
        }.compactMap(\.label)
        let consequence =
            certificates.isEmpty
            ? "" : " Certificate \(certificates.map { "\"\($0)\"" }.joined(separator: ", ")) is of no use without it."
        try Confirmation(global).require(
            "Destroy key \"\(label)\" on token \"\(keychain.tokenLabel)\"?\(consequence)", typing: label)
        guard !global.dryRun else {
            return try output.emit(
                .removal(of: label, isDone: false, isDryRun: true),
                sentence: "Would destroy key \"\(Visible.text(label))\".\(Visible.text(consequence))")
        }
        guard try Removal.oneByOne(items, ifExists: ifExists, { try keychain.delete($0) }) else {
            return try output.emit(
                .removal(of: name.text, isDone: false), sentence: "Nothing to do: there is no such key.")
        }
        try output.emit(
            .removal(of: label, isDone: true), sentence: "Destroyed key \"\(Visible.text(label))\".")
    }
}
