import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL
import PKCS11

/// `keyfob identity ls`: lists the identities and their states.
struct IdentityListCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List the identities and their state.",
        examples: Examples(
            "keyfob identity ls", "keyfob identity ls --json", "keyfob identity ls --keychain site --format tsv"),
        aliases: ["list"])

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let now = Date()
        let identities = try keychain.find(.identities.ordered(by: .label)).map { identity in
            ListedCertificate(
                label: identity.label, certificate: try identity.certificate(),
                isReplaced: identity.nameOfVersion != nil,
                key: .init(token: keychain.tokenLabel, isExtractable: identity.key.isExtractable))
        }
        try output.emit(
            ListedCertificate.document(
                identities, as: "identities", on: now, ["keychain": keychain.name]),
            table: ListedCertificate.table(identities, hasKeys: true, on: now))
    }
}

/// `keyfob identity show`: shows one identity in full.
struct IdentityShowCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an identity in full.",
        examples: Examples(
            "keyfob identity show web", "keyfob identity show web --json", "keyfob identity show sha256:9a11"))

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let identity = try name.identity(in: keychain)
        let certificate = try identity.certificate()
        let chain = try keychain.certificates.chain(of: certificate)
        let uri = try keychain.objects.uri(of: identity).description
        let now = Date()
        let (policy, due) = (identity.renewalPolicy, try keychain.identities.renewalDate(of: identity))
        let isCurrent = identity.nameOfVersion == nil
        let above = chain.certificates.dropFirst().map(CertificatePhrases.subject)
        let document = Document(
            [
                "name": identity.label, "keychain": keychain.name, "token": keychain.tokenLabel, "uri": uri,
                "extractable": identity.key.isExtractable, "created": identity.creationDate, "chain_subjects": above,
                "chain_complete": chain.isComplete, "issuer_policy": policy?.issuer.description,
                "renews_key": policy?.renewsKey, "renewal_lifetime": policy?.lifetime.map { Int($0) },
                "renewal_due": isCurrent && policy != nil ? due : nil,
            ] + CertificatePhrases.members(certificate, on: now, isReplaced: identity.nameOfVersion != nil)
                + CertificatePhrases.details(certificate))
        var lines = [("name", identity.label ?? ""), ("token", keychain.tokenLabel)]
        lines += CertificatePhrases.lines(certificate, on: now)
        if !above.isEmpty { lines.append(("chain", above.joined(separator: ", "))) }
        if isCurrent {
            if let policy {
                lines.append(("renewed by", policy.issuer.description + (policy.renewsKey ? ", with a new key" : "")))
                if let lifetime = policy.lifetime { lines.append(("renewed for", Plural.duration(seconds: lifetime))) }
                let day = "\(RFC3339.localDay(of: due)) (\(Plural.relative(due, to: now)))"
                lines.append(("renewal due", due <= now ? "now" : day))
            } else {
                let command = Wording(keychain: keychain.name).command(
                    .renewIdentity(identity.label ?? "", [.namedIssuer]))
                lines.append(("renewed by", "nothing; to have it renewed: \(command)"))
            }
        }
        lines.append(("extractable", identity.key.isExtractable ? "yes" : "no"))
        lines.append(("uri", uri))
        try output.emit(document, text: Table.pairs(lines))
    }
}
