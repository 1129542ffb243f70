import ArgumentParser
import Foundation
import Keyfob
import OpenSSL

/// `keyfob identity renew`: the next certificate under the same name.
struct IdentityRenewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "renew", "Get the next certificate of an identity.",
        examples: Examples(
            """
            keyfob identity renew --all \\
                  --exec 'keyfob uri web --for nginx --write /etc/nginx/tls &&
                      systemctl reload nginx'
            """,
            "keyfob identity renew api",
            "keyfob identity renew api --new-key --force"),
        discussion: """
            A renewal is due when 66% of the lifetime have passed. The issuer is the one that the identity was made \
            with, unless another is named; the version before is kept as NAME@DAY until keyfob identity retire. With \
            --all, every identity that is due and whose issuer is known. The command of --exec is run by a shell, \
            once, after something was renewed; where it fails or is interrupted, the next renew runs it again. It is \
            given no variable that holds a secret, and none of KEYFOB_…: name the keychain there, with -k.
            """)

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.")
    var name: ItemName?

    @Flag(help: "Every identity whose renewal is due and whose issuer is known.")
    var all = false

    @Flag(help: "Renew although it is not due yet.")
    var force = false

    @Flag(help: "A new key for the next certificate.")
    var newKey = false

    @Flag(help: "The same key for the next certificate.")
    var sameKey = false

    @OptionGroup(title: "Who issues it") var issuance: IssuerOptions
    @OptionGroup(title: "The new key") var key: NewKeyOptions

    @Option(help: ArgumentHelp("What to run after a renewal, as keyfob uri NAME --for PROGRAM prints it.", valueName: "command"))
    var exec: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard all == (name == nil) else { throw ValidationError("Name an identity, or give --all.") }
        if newKey || key.isGiven, sameKey { throw ValidationError("--new-key and --same-key exclude each other.") }
        if all, issuance.selfSigned || issuance.issuer != nil {
            throw ValidationError("--all renews each identity with its own issuer.")
        }
    }

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let now = Date()
        var identities: [Identity]
        if let name {
            identities = [try name.identity(in: keychain)]
        } else {
            // One that several access groups see is several items, and one certificate.
            var seen: Set<Data> = []
            identities = try keychain.find(.identities.ordered(by: .label)).filter {
                $0.nameOfVersion == nil && $0.renewalPolicy != nil && seen.insert($0.der).inserted
            }
        }
        var documents: [Value] = []
        var failures: [any Error] = []
        var renewed = 0
        let pending = PendingHooks(keychain)
        var waiting: [String] = []
        if exec != nil { waiting = try identities.compactMap(\.label).filter { try pending.contains($0) } }
        for identity in identities {
            do {
                let (document, isRenewed) = try renew(identity, keychain, output, now, pending)
                documents.append(document)
                if isRenewed { renewed += 1 }
            } catch where all {
                // One issuer that is away must not keep the others from being renewed.
                failures.append(error)
                StandardError.write(Failure(error).text(verbose: false))
            }
        }
        var hook: Value = .null
        if renewed == 0, !waiting.isEmpty, exec != nil {
            let names = Visible.text(waiting.joined(separator: ", "))
            try output.say(
                "\(names): renewed before, but the command after it did not end well; "
                    + (global.dryRun ? "it would be run again" : "running it again"))
        }
        if renewed > 0 || !waiting.isEmpty, !global.dryRun, let exec {
            let status = try Waiting.notice("the command after the renewal", isShown: global.showsProgress) {
                try RenewalHook.run(exec)
            }
            hook = .integer(Int64(status))
            try output.say("  ran: \(Visible.text(exec)) (\(status == 0 ? "ok" : "status \(status)"))")
            if status == 0 { for name in identities.compactMap(\.label) { try pending.remove(name) } }
            if status != 0 {
                failures.append(
                    KeychainError(
                        .failed, "the certificate was renewed, but the command after it ended with status \(status).",
                        hint: "The next renew runs it again. By hand: \(exec)", details: ["status": String(status)]))
            }
        }
        if all, identities.isEmpty { try output.say("Nothing to do: no identity has an issuer that is known.") }
        if output.format.isMachineReadable {
            try output.emit(
                Document([
                    "changed": .boolean(renewed > 0), "dry_run": .boolean(global.dryRun),
                    "keychain": .string(keychain.name),
                    "identities": .array(documents), "hook_status": hook,
                ]), sentence: "")
        }
        if let failure = failures.first { throw failure }
    }

    private func renew(
        _ identity: Identity, _ keychain: Keychain, _ output: Output, _ now: Date, _ pending: PendingHooks
    ) throws -> (Value, isRenewed: Bool) {
        let label = Visible.text(identity.label ?? "")
        let percent = Int((try identity.lifetimeUsed(on: now) * 100).rounded(.down))
        guard let description = try issuance.description() ?? identity.renewalPolicy?.issuer else {
            throw KeychainError(
                .invalidArgument, "nobody has said who renews identity \"\(identity.label ?? "")\".",
                hint: "Give --self-signed or --issuer once; it is kept.", details: ["name": identity.label ?? ""])
        }
        let isDue = Double(percent) >= RenewalPolicy.dueAfter * 100
        guard isDue || force else {
            try output.say(
                "Nothing to do: \(label) is at \(max(0, percent))% of its lifetime; renewal starts at "
                    + "\(Int(RenewalPolicy.dueAfter * 100))%. Use --force to renew now.")
            let document = try IdentityPhrases.document(
                identity, isChanged: false, keychain, isDryRun: global.dryRun)
            return (document.value, false)
        }
        let wanted: RenewalKey? = newKey || key.isGiven
            ? .new(key.isGiven ? key.specification : nil) : sameKey ? .same : nil
        let renewsKey = try keychain.renewsKey(of: identity, wanted)
        try output.say(
            "\(label): \(max(0, percent))% of its lifetime used, renewing (issuer: "
                + "\(Visible.text(description.description)), new key: \(renewsKey ? "yes" : "no"))")
        guard !global.dryRun else {
            try output.say("  nothing was done (--dry-run)")
            return (try IdentityPhrases.document(identity, isChanged: false, keychain, isDryRun: true).value, false)
        }
        let issuer = try description.resolved(for: keychain, global, issuance)
        let steps = RenewalSteps()
        // Before the certificate is there: whoever is killed after that must be followed by somebody who knows.
        let isFirst = try exec != nil && !pending.contains(identity.label ?? "")
        if isFirst { try pending.add(identity.label ?? "") }
        let made: IdentityInstallation
        do {
            made = try Waiting.notice("issuer \(description.description)", isShown: global.showsProgress) {
                try keychain.renewIdentity(
                    identity, key: wanted, lifetime: issuance.seconds, issuer: issuer
                ) { steps.add($0) }
            }
        } catch {
            // Where nothing was renewed there is nothing to do after it; where that cannot be told, there may be.
            let now = try? keychain.only(.identity(label: identity.label ?? "")).der
            if isFirst, now == identity.der { try pending.remove(identity.label ?? "") }
            // Of two timers one comes second, and has nothing to complain of.
            if !force, (error as? KeychainError)?.code == .vaultBusy, let now, now != identity.der {
                try output.say("  nothing to do: \(label) was renewed by another process meanwhile")
                let current = try keychain.only(.identity(label: identity.label ?? ""))
                return (try IdentityPhrases.document(current, isChanged: false, keychain).value, false)
            }
            throw error
        }
        let end = RFC3339.day(of: try made.identity.certificate().notAfter)
        try output.say("  " + (steps.all + ["certificate valid until \(end)"]).joined(separator: ", "))
        try output.say("  installed" + made.kept.map { "; old certificate kept as \(Visible.text($0))" }.joined())
        return (
            try IdentityPhrases.document(made.identity, isChanged: true, keychain, kept: made.kept, chain: made.chain)
                .value, true
        )
    }
}
