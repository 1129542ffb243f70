import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob identity rm`: destroys a key and its certificate.
struct IdentityRemoveCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Destroy a key together with its certificate.",
        examples: Examples(
            "keyfob identity rm web", "keyfob identity rm old --yes", "keyfob identity rm old --dry-run"),
        discussion:
            """
            The key is kept if another certificate of the keychain needs it, such as that of an older version (keyfob \
            identity retire). Certificates of authorities are kept.
            """,
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @Flag(help: "Succeed if there is no such identity.")
    var ifExists = false

    @OptionGroup var protection: ProtectionOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let removal = Removal(
            kind: "identity", ifExists: ifExists, global: global, output: output,
            furtherOfNothing: IdentityRemainder().members)
        let keychain = try global.openKeychain()
        let found = try removal.find(name) { try name.own.identities(in: keychain) }
        guard let found else { return }
        try protection.check(found.map(\.item), in: keychain)
        let label = found.first?.label ?? name.text
        let remainder = try IdentityRemainder(of: found, in: keychain)
        let remark = remainder.remark(in: keychain)
        let loss = keychain.loss(of: found)
        try Confirmation(global).require(
            "Destroy identity \"\(label)\"\(remainder.keepsKey ? "" : " and its key") on token "
                + "\"\(keychain.tokenLabel)\"?\(loss)\(remark)", typing: label)
        guard !global.dryRun else {
            return try removal.tellOfDryRun(
                label: label, remark: TerminalSafe.text(loss + remark), further: remainder.members)
        }
        // Certificate and key are separate items. Removing one pair removes the other pairs of this identity too.
        try removal.perform(
            found, of: name, label: label, remark: TerminalSafe.text(remark), further: remainder.members
        ) { item in
            try protection.release(item.item, in: keychain)
            try keychain.deleteUnrenamed(item)
        }
    }
}

extension Keychain {
    /// The consequences of removing authorities, with a leading space: the user may not know that they are trusted or
    /// have issued certificates in use.
    fileprivate func loss(of items: [Identity]) -> String {
        do { try identities.requireUnneeded(items) } catch let error as KeychainError where error.code == .refused {
            return " " + error.message
        } catch {
            // Other errors do not prevent the removal, or the removal reports them.
        }
        return ""
    }
}

/// What remains of an identity after its removal.
private struct IdentityRemainder {
    /// The labels of other certificates with the same key, which therefore stays.
    private(set) var sharers: [String] = []
    /// The labels of the older versions, whether or not they have the same key.
    private(set) var versions: [String] = []
    /// The names by which the older versions are retired.
    private var retirements: [String] = []

    /// Whether the key remains after the removal.
    var keepsKey: Bool { !sharers.isEmpty }

    /// The members of the document about the removal.
    var members: Members {
        ["key_kept": keepsKey, "key_kept_for": sharers, "kept": versions]
    }

    /// Nothing remains.
    init() {}

    /// Determines what remains.
    ///
    /// - Parameter items: All items of the identity that will be removed.
    /// - Throws: `KeychainError` if the keychain cannot be read.
    init(of items: [Identity], in keychain: Keychain) throws {
        let (hashes, labels) = (Set(items.compactMap(\.key.publicKeyHash)), items.map { $0.label ?? "" })
        // One certificate may be stored as several items; items with another name stay.
        func isRemoved(_ der: Data, _ label: String?) -> Bool {
            items.contains { $0.der == der } && labels.contains { $0.isIdentical(to: label ?? "") }
        }
        sharers = try keychain.find(.certificates).filter { item in
            guard let hash = item.attributes[.publicKeyHash]?.bytes, hashes.contains(hash) else { return false }
            return !isRemoved(item.der, item.label)
        }.map { $0.label ?? "" }.distinct
        guard let first = items.first, first.nameOfVersion == nil, let label = first.label else { return }
        // An unreadable certificate in another access group must not prevent the removal.
        let older = ((try? keychain.identities.versions(of: first)) ?? [])
            .filter { $0.nameOfVersion != nil && !isRemoved($0.der, $0.label) }
        versions = older.compactMap(\.label).distinct
        retirements = try keychain.identities.retirementWords(for: older, of: label, besides: items)
    }

    /// A note about what remains, with a leading space; empty if nothing remains.
    func remark(in keychain: Keychain) -> String {
        func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ", ") }
        var remark = keepsKey ? " Its key stays: \(list(sharers)) \(sharers.count == 1 ? "uses" : "use") it" : ""
        let others = versions.filter { !sharers.contains($0) }
        if !others.isEmpty {
            let told = others.count == 1
                ? "An older version stays, with its own key: " : "Older versions stay, with their own keys: "
            remark += (keepsKey ? ". " : " ") + told + list(others)
        }
        if !versions.isEmpty {
            let wording = Wording(keychain: keychain.name)
            let command = retirements.map { wording.command(.retireIdentity($0)) }.joined(separator: "; ")
            let object = versions.count == 1 ? "that" : "those"
            remark += " (to destroy \(object): \(command))"
        }
        return remark.isEmpty ? "" : remark + "."
    }
}
