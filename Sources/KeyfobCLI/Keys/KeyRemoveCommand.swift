import ArgumentParser
import Keyfob
import OpenSSL

/// `keyfob key rm`: destroys a key.
struct KeyRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "Destroy a key on the token.",
        examples: Examples("keyfob key rm api", "keyfob key rm api --yes", "keyfob key rm api --dry-run"),
        discussion: "It cannot be brought back. Its certificate stays; keyfob identity rm removes both.")

    @Argument(help: "Name, fingerprint or PKCS#11 URI.")
    var name: ItemName

    @Flag(help: "Succeed where there is no such key.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        guard try !keychain.wrappingKeyNames().contains(name.text) else {
            throw KeychainError(
                .refused,
                "key \"\(name.text)\" seals keychain \"\(keychain.name)\": without it every password is lost.",
                hint: "Remove the whole keychain: keyfob keychain rm \(keychain.name)",
                details: ["key": name.text, "keychain": keychain.name])
        }
        let items: [KeyItem]
        do { items = try name.keys(in: keychain) } catch let error as KeychainError
            where ifExists && error.code == .itemNotFound
        {
            return try output.emit(
                .removal(of: name.text, isDone: false, isDryRun: global.dryRun),
                sentence: "Nothing to do: there is no such key.")
        }
        guard let key = items.first else { return }
        try requireMeant(key, in: keychain)
        let label = key.label ?? name.text
        let certificates = try keychain.publicCertificates().filter {
            key.keyClass == .private && key.publicKeyHash != nil
                && $0.attributes[.publicKeyHash]?.bytes == key.publicKeyHash
        }.compactMap(\.label)
        let consequence =
            certificates.isEmpty
            ? "" : " Certificate \(certificates.map { "\"\($0)\"" }.joined(separator: ", ")) is of no use without it."
        try RemovalPrompt(global).confirm(
            "Destroy key \"\(label)\" on token \"\(keychain.tokenLabel)\"?\(consequence)", typing: label)
        guard !global.dryRun else {
            return try output.emit(
                .removal(of: label, isDone: false, isDryRun: true),
                sentence: "Would destroy key \"\(Visible.text(label))\".\(Visible.text(consequence))")
        }
        for item in items { try keychain.delete(item) }
        try output.emit(
            .removal(of: label, isDone: true), sentence: "Destroyed key \"\(Visible.text(label))\".")
    }

    /// Refuses a key that another one may have been meant by: that of the identity of this name, which the other
    /// commands take. What bears the name itself is then the key of an earlier version.
    ///
    /// - Throws: `KeychainError.ambiguous`.
    private func requireMeant(_ key: KeyItem, in keychain: Keychain) throws {
        let identities = try keychain.find(.identity(label: name.text))
        guard let identity = identities.first,
            !identities.contains(where: { $0.key.publicKeyHash == key.publicKeyHash })
        else { return }
        let fingerprints = try [identity.key, key].map { key in
            try keychain.publicKey(of: key).map {
                "sha256:" + Digest.sha256($0.subjectPublicKeyInfo).lowercaseHexadecimal.prefix(16)
            } ?? "sha256:…"
        }
        throw KeychainError(
            .ambiguous, "identity \"\(name.text)\" has another key by now than the one that bears its name.",
            hint: "The identity's: keyfob key rm \(fingerprints[0])     The earlier: keyfob key rm \(fingerprints[1])",
            details: ["name": name.text])
    }
}
