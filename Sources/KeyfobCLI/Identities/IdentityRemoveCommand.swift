import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob identity rm`: destroys a key together with its certificate.
struct IdentityRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "Destroy a key together with its certificate.",
        examples: Examples(
            "keyfob identity rm web", "keyfob identity rm old --yes", "keyfob identity rm old --dry-run"),
        discussion:
            """
            The key stays while another certificate of the keychain needs it, such as that of an older version: keyfob \
            identity retire. Certificates of authorities stay.
            """,
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @Flag(help: "Succeed where there is no such identity.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let removal = Removal(
            kind: "identity", ifExists: ifExists, global: global, output: try global.output(),
            furtherOfNothing: IdentityRemainder().members)
        let keychain = try global.openKeychain()
        let found = try removal.find(name) { try name.own.identities(in: keychain) }
        guard let found else { return }
        let label = found.first?.label ?? name.text
        let remainder = try IdentityRemainder(of: found, in: keychain)
        let remark = remainder.remark(in: keychain)
        let loss = keychain.loss(of: found)
        try Confirmation(global).require(
            "Destroy identity \"\(label)\"\(remainder.keepsKey ? "" : " and its key") on token "
                + "\"\(keychain.tokenLabel)\"?\(loss)\(remark)", typing: label)
        guard !global.dryRun else {
            return try removal.tellOfDryRun(
                label: label, remark: Visible.text(loss + remark), further: remainder.members)
        }
        // Certificate and key are items of their own: with one pair of them others are gone.
        try removal.perform(
            found, of: name, label: label, remark: Visible.text(remark), further: remainder.members
        ) { try keychain.deleteUnrenamed($0) }
    }
}

extension Keychain {
    /// What others lose with identities of authorities, with a blank before it: who removes one may not know that it is
    /// trusted, or that what it issued is in use.
    fileprivate func loss(of items: [Identity]) -> String {
        do { try requireUnneeded(items) } catch let error as KeychainError where error.code == .refused {
            return " " + error.message
        } catch {
            // What is wrong besides keeps nobody from removing it, or is said by the removal.
        }
        return ""
    }
}

/// What is left of an identity after its removal.
private struct IdentityRemainder {
    /// What the certificates are called that have the key, which therefore stays.
    private(set) var sharers: [String] = []
    /// What its older versions are called, whichever key they have.
    private(set) var versions: [String] = []
    /// What `keyfob identity retire` is told for those.
    private var retirements: [String] = []

    /// Whether the key outlives the removal.
    var keepsKey: Bool { !sharers.isEmpty }

    /// The members of the removal's document.
    var members: [Value.Member] {
        [
            .init("key_kept", .boolean(keepsKey)), .init("key_kept_for", .array(sharers.map { .string($0) })),
            .init("kept", .array(versions.map { .string($0) })),
        ]
    }

    /// Nothing is left.
    init() {}

    /// - Parameter items: All items of the identity that are removed.
    /// - Throws: `KeychainError` where the keychain cannot be read.
    init(of items: [Identity], in keychain: Keychain) throws {
        let (hashes, labels) = (Set(items.compactMap(\.key.publicKeyHash)), items.map { $0.label ?? "" })
        // One certificate may be several items, of which those of another name stay.
        func isRemoved(_ der: Data, _ label: String?) -> Bool {
            items.contains { $0.der == der } && labels.contains { $0.isIdentical(to: label ?? "") }
        }
        var seen: Set<String> = []
        sharers = try keychain.find(.certificates).filter { item in
            guard let hash = item.attributes[.publicKeyHash]?.bytes, hashes.contains(hash) else { return false }
            return !isRemoved(item.der, item.label)
        }.map { $0.label ?? "" }.filter { seen.insert($0).inserted }
        guard let first = items.first, first.nameOfVersion == nil, let label = first.label else { return }
        seen = []
        // A certificate of somebody else's that cannot be read keeps nobody from removing this one.
        let older = ((try? keychain.versions(of: first)) ?? [])
            .filter { $0.nameOfVersion != nil && !isRemoved($0.der, $0.label) }
        versions = older.compactMap(\.label).filter { seen.insert($0).inserted }
        retirements = try keychain.retirementWords(for: older, of: label, besides: items)
    }

    /// What a person is told besides, with a blank before it; nothing where all of it goes.
    func remark(in keychain: Keychain) -> String {
        func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ", ") }
        var remark = keepsKey ? " Its key stays: \(list(sharers)) \(sharers.count == 1 ? "has" : "have") it" : ""
        let others = versions.filter { !sharers.contains($0) }
        if !others.isEmpty {
            let told = others.count == 1
                ? "An older version stays, with its own key: " : "Older versions stay, with keys of their own: "
            remark += (keepsKey ? ". " : " ") + told + list(others)
        }
        if !versions.isEmpty {
            let command = retirements.map { "keyfob identity retire \($0)" }.joined(separator: "; ")
            let object = versions.count == 1 ? "that" : "those"
            remark += " (to destroy \(object): \(HintedCommands.naming(keychain.name, in: command)))"
        }
        return remark.isEmpty ? "" : remark + "."
    }
}
