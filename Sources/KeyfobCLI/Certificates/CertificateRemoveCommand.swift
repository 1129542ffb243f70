import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `keyfob cert rm`: removes a certificate but not its key.
struct CertificateRemoveCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove a certificate; its key stays.",
        examples: Examples("keyfob cert rm old", "keyfob cert rm sha256:9a11 --yes", "keyfob cert rm old --dry-run"),
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.certificateNames)
    var name: ItemName

    @Flag(help: "Succeed if there is no such certificate.")
    var ifExists = false

    @OptionGroup var protection: ProtectionOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let removal = Removal(
            kind: "certificate", ifExists: ifExists, global: global, output: output,
            furtherOfNothing: Self.members(kept: []))
        let keychain = try global.openKeychain()
        let found = try removal.find(name) { try name.own.certificate(in: keychain) }
        guard let found else { return }
        // The certificate that was found may be that of the token alone, which does not show the mark.
        let copies = try keychain.find(.certificates).filter { $0.der == found.der }
        try protection.check(copies.map(\.item), in: keychain)
        let label = found.label ?? name.text
        // Trust belongs to one item. Another item with the same certificate may stay, without trust.
        let isAnchor = try keychain.trust.anchors().contains {
            $0.item.der == found.der && ($0.item.label ?? "").isIdentical(to: found.label ?? "")
        }
        let loss = isAnchor ? " It is trusted: certificates that it has issued will no longer be trusted." : ""
        try Confirmation(global).require(
            "Remove certificate \"\(label)\" from token \"\(keychain.tokenLabel)\"?\(loss)")
        // If the certificate is gone, another process has removed it.
        guard let (items, others) = try removal.find(name, { try name.certificates(of: found, in: keychain) }) else {
            return
        }
        let kept = others.map { $0.label ?? "" }
        let remark = kept.isEmpty
            ? "" : " It stays as \(kept.map { "\"\(TerminalSafe.text($0))\"" }.joined(separator: ", "))."
        let further = Self.members(kept: kept)
        guard !global.dryRun else {
            return try removal.tellOfDryRun(label: label, remark: loss + remark, further: further)
        }
        try removal.perform(
            items, of: name, label: label, remark: remark, further: further
        ) { item in
            try protection.release(item.item, in: keychain)
            try keychain.deleteUnrenamed(item)
        }
    }

    /// The members that report the remaining items.
    ///
    /// - Parameter kept: The other names under which the certificate stays.
    private static func members(kept: [String]) -> Members {
        ["kept": kept]
    }
}
