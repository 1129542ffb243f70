import ArgumentParser
import Keyfob

/// `keyfob key rm`: destroys a key.
struct KeyRemoveCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Destroy a key on the token.",
        examples: Examples("keyfob key rm api", "keyfob key rm api --yes", "keyfob key rm api --dry-run"),
        discussion: "The key cannot be restored. Its certificate stays; keyfob identity rm removes both.",
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.keysAlone)
    var name: ItemName

    @Flag(help: "Succeed if there is no such key.")
    var ifExists = false

    @OptionGroup var protection: ProtectionOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let removal = Removal(kind: "key", verb: .destroy, ifExists: ifExists, global: global, output: output)
        let keychain = try global.openKeychain()
        let found = try removal.find(name) {
            do { return try name.keys(in: keychain) } catch let error as KeychainError
                where error.code == .itemNotFound
            {
                try requireNoWrappingKey(in: keychain)
                throw error
            }
        }
        guard let items = found, let key = items.first else { return }
        try name.requireMeant(key, in: keychain)
        // An identity is protected by its certificate.
        let uses = try keychain.find(.certificates).filter {
            key.keyClass == .private && key.publicKeyHash != nil
                && $0.attributes[.publicKeyHash]?.bytes == key.publicKeyHash
        }
        try protection.check(items.map(\.item) + uses.map(\.item), in: keychain)
        let label = key.label ?? name.text
        let certificates = try keychain.certificates.publicCertificates().filter {
            key.keyClass == .private && key.publicKeyHash != nil
                && $0.attributes[.publicKeyHash]?.bytes == key.publicKeyHash
        }.compactMap(\.label)
        let consequence =
            certificates.isEmpty
            ? "" : " Certificate \(certificates.map { "\"\($0)\"" }.joined(separator: ", ")) cannot be used without it."
        try Confirmation(global).require(
            "Destroy key \"\(label)\" on token \"\(keychain.tokenLabel)\"?\(consequence)", typing: label)
        guard !global.dryRun else {
            return try removal.tellOfDryRun(label: label, remark: TerminalSafe.text(consequence))
        }
        try removal.perform(items, of: name, label: label) { item in
            for item in [item.item] + uses.map(\.item) { try protection.release(item, in: keychain) }
            try keychain.delete(item)
        }
    }

    /// Refuses the name of a key that seals the keychain.
    ///
    /// Searches do not find such keys. A key that is found under the name is a different one.
    ///
    /// - Throws: `KeychainError.refused`.
    private func requireNoWrappingKey(in keychain: Keychain) throws {
        guard try keychain.objects.wrappingKeyNames().contains(name.text) else { return }
        throw KeychainError(
            .refused, "key \"\(name.text)\" seals keychain \"\(keychain.name)\": without it every password is lost.",
            hint: "Remove the whole keychain: keyfob keychain rm \(keychain.name)",
            details: ["key": name.text, "keychain": keychain.name])
    }
}
