import Foundation
import Keyfob
import KeyfobOpenSSL
import PKCS11

/// The result of importing one identity, or the plan of a dry run.
struct IdentityImportReport {
    let name: String?
    let certificate: Certificate
    let isUnchanged: Bool
    let isExtractable: Bool
    /// The number of issuer certificates that were stored.
    let addedCertificates: Int
    /// The number of issuer certificates that were stored before.
    let knownCertificates: Int
    /// The new labels of the identities that had the name before.
    let kept: [String]
    /// The chain, including the certificates of the files.
    let chain: CertificateChain
    /// Whether the chain of the stored certificates is complete.
    let isComplete: Bool
    /// The URI of the key for other programs; `nil` in a plan, because it is not known in advance.
    let uri: String?
    /// Whether this is the plan of a dry run.
    let isPlan: Bool

    /// Describes a completed import.
    ///
    /// - Throws: `KeychainError` if the token or the vault cannot be read.
    init(_ made: IdentityImport, in keychain: Keychain) throws {
        name = made.identity.label
        certificate = try made.identity.certificate()
        isUnchanged = made.isUnchanged
        isExtractable = made.identity.key.isExtractable
        addedCertificates = made.addedCertificates.count
        knownCertificates = made.knownCertificates
        kept = made.kept
        chain = made.chain
        isComplete = try keychain.certificates.chain(of: certificate).isComplete
        uri = try keychain.objects.uri(of: made.identity).description
        isPlan = false
    }

    /// Describes a plan.
    init(_ plan: IdentityImportPlan, _ certificate: Certificate) {
        name = plan.name
        self.certificate = certificate
        isUnchanged = plan.isUnchanged
        isExtractable = plan.isExtractable
        addedCertificates = plan.addedCertificates.count
        knownCertificates = plan.knownCertificates
        kept = plan.kept
        chain = plan.chain
        isComplete = plan.isComplete
        uri = nil
        isPlan = true
    }

    /// The action of the import.
    var action: Effect.Action { isUnchanged ? .none : kept.isEmpty ? .create : .update }

    /// The members of the identity in a document.
    func members(on now: Date) -> Members {
        let members: Members = [
            "name": name, "extractable": isExtractable,
            "certificates_added": addedCertificates, "certificates_known": knownCertificates,
            "chain_complete": isComplete, "kept": kept, "uri": uri,
        ]
        return Effect(action, isDryRun: isPlan).members + members + CertificatePhrases.members(certificate, on: now)
    }

    /// The lines about several identities, after a summary of the files.
    ///
    /// - Throws: `KeychainError` if the token or the vault cannot be read.
    static func lines(
        _ reports: [IdentityImportReport], _ summary: String, _ keychain: Keychain, on now: Date
    ) throws -> [String] {
        let lines = try reports.flatMap { try $0.lines(keychain, on: now) }
        return reports.contains { !$0.isUnchanged } ? [TerminalSafe.text(summary)] + lines : lines
    }

    private func lines(_ keychain: Keychain, on now: Date) throws -> [String] {
        let name = TerminalSafe.text(name ?? "")
        guard !isUnchanged else {
            return ["Unchanged: identity \"\(name)\" already has this key and certificate."]
        }
        let algorithm = certificate.publicKey.algorithm.description
        let subject = TerminalSafe.text(CertificatePhrases.subject(certificate))
        let width = max(algorithm.count, DisplayWidth.of(subject))
        func padded(_ text: String) -> String {
            text + String(repeating: " ", count: width - DisplayWidth.of(text))
        }
        let token = TerminalSafe.text(keychain.tokenLabel)
        let usage = certificate.extendedKeyUsage.map { ", \($0)" }.joined()
        let lines = [
            "  key     \(padded(algorithm))   -> token \"\(token)\", "
                + (isExtractable ? "extractable" : "not extractable"),
            "  leaf    \(padded(subject))   \(CertificatePhrases.validity(certificate, on: now))\(usage)",
            "  chain   \(TerminalSafe.text(try chainPhrase(keychain)))",
        ]
        let end = isPlan ? "Would import identity \"\(name)\"." : "Identity \"\(name)\" is ready."
        return lines + kept.map { keptPhrase($0, keychain) } + [end]
    }

    private func keptPhrase(_ old: String, _ keychain: Keychain) -> String {
        guard !isPlan else { return "  kept    the current one, as \(TerminalSafe.text(old))" }
        let command = TerminalSafe.text(Wording(keychain: keychain.name).command(.retireIdentity(old)))
        return "  kept    the old one, as \(TerminalSafe.text(old))   (remove it: \(command))"
    }

    private func chainPhrase(_ keychain: Keychain) throws -> String {
        var parts: [String] = []
        if addedCertificates > 0 {
            parts.append("\(Plural.counted(addedCertificates, "intermediate")) \(isPlan ? "to be stored" : "stored")")
        }
        if knownCertificates > 0 {
            parts.append("\(Plural.counted(knownCertificates, "intermediate")) known already")
        }
        if chain.isComplete, let root = chain.certificates.last {
            parts.append(try chain.certificates.count > 1 ? rootPhrase(root, keychain) : "self-signed")
        } else if parts.isEmpty {
            // The files have no issuer certificate, but the keychain may.
            let above = try keychain.certificates.chain(of: certificate).certificates.dropFirst()
            let count = above.count { !$0.isSelfSigned }
            if count > 0 { parts.append("\(Plural.counted(count, "intermediate")) known already") }
            if count < above.count { parts.append("root known already") }
        }
        if parts.isEmpty {
            parts.append("no issuer certificate (issuer \(CertificatePhrases.issuer(certificate)))")
        }
        return parts.joined(separator: ", ")
    }

    /// Describes the root. Imports never store one, but it may have been stored before.
    private func rootPhrase(_ root: Certificate, _ keychain: Keychain) throws -> String {
        if try keychain.trust.anchors().contains(where: { $0.certificate == root }) { return "root already trusted" }
        let isKnown = try keychain.certificates.publicCertificates().contains { $0.der == root.der }
        return isKnown ? "root known already" : "root not stored"
    }
}
