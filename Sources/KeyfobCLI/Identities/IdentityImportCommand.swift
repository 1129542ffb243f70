import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL
import PKCS11

/// `keyfob identity import`: moves a key and its certificates from files onto the token.
struct IdentityImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "import", "Move a key and its certificates from files onto the token.",
        examples: Examples(
            "keyfob identity import web.p12 --name web --pass-source file:/run/keys/web.pass",
            "keyfob identity import privkey.pem fullchain.pem --name web",
            "keyfob identity import --key api.key --cert api.crt --chain chain.pem --name api --replace"),
        discussion: """
            Files are PKCS#12, PEM or DER, told apart by their content. The key's file stays where it is: delete it \
            once the identity works (keyfob identity check). Importing the same again changes nothing.
            """)

    @Argument(help: "PKCS#12, PEM or DER files; - is standard input.")
    var files: [FileArgument] = []

    @Option(
        name: [.customLong("name")], help: "The name of the identity; without one, the file's or the certificate's.")
    var label: String?

    @Option(help: ArgumentHelp("The file of the private key.", valueName: "file"))
    var key: FileArgument?

    @Option(help: ArgumentHelp("The file of the certificate.", valueName: "file"))
    var cert: FileArgument?

    @Option(help: ArgumentHelp("The file of the certificates above it.", valueName: "file"))
    var chain: FileArgument?

    @OptionGroup var passphrase: PassphraseOptions

    @Flag(help: "Let the key leave the token again, as a PKCS#12 file.")
    var extractable = false

    @OptionGroup var legacy: LegacyOptions

    @Flag(help: "Import a certificate that has expired, or is not valid yet.")
    var allowExpired = false

    @Flag(help: "Take the name over from another identity, which is kept as an older version.")
    var replace = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !files.isEmpty || key != nil else {
            throw ValidationError("Name a file, such as web.p12, or --key and --cert.")
        }
        if let label { try NewName.check(label) }
    }

    func run() throws {
        let output = try global.output()
        try passphrase.check(reading: files + [key, cert, chain].compactMap { $0 })
        let read = passphrase.reading(global)
        var contents = IdentityFiles(
            allowsLegacy: legacy.allowsLegacy, hasPassphraseSource: passphrase.passSource != nil,
            showsProgress: global.showsProgress
        ) { try read(.file($0)) }
        try passphrase.naming {
            for file in files { try contents.add(file) }
            if let key { try contents.addKey(key, isAlone: files.isEmpty && cert == nil) }
            for file in [cert, chain].compactMap({ $0 }) { try contents.addCertificates(file) }
        }
        let pairs = try contents.pairs()
        let now = Date()
        for pair in pairs where !allowExpired {
            let name = label ?? CertificatePhrases.subject(pair.certificate)
            if let failure = CertificatePhrases.failure(
                pair.certificate, name: name, on: now,
                remark: "Continue anyway: --allow-expired")
            {
                throw failure
            }
        }
        let keychain = try global.openKeychain()
        let fileNames = ListOfNames(contents.keys.map(\.fileName) + contents.certificates.map(\.fileName)).text
        let summary =
            "\(fileNames): \(Phrases.counted(contents.keys.count, "private key")), "
            + Phrases.counted(contents.certificates.count, "certificate")
            + (contents.isIntegrityChecked.map { $0 ? ", integrity ok" : ", without an integrity check" } ?? "")
        let wanted = pairs.enumerated().map { index, _ in label.map { pairs.count == 1 ? $0 : "\($0)-\(index + 1)" } }
        for (pair, name) in zip(pairs, wanted) {
            try refuse(pair, named: name, isAlone: pairs.count == 1, in: keychain)
        }
        let names = try label == nil
            ? keychain.names(ofImported: pairs.map { ($0.friendlyName, $0.certificate) }) : wanted
        try keychain.requireNames(zip(names, pairs).map { ($0, $1.certificate) }, isReplacing: replace)
        if global.dryRun {
            let keys = try keychain.find(.keys.keyClass(.private))
            let identities = try zip(names, pairs).map { name, pair -> Value in
                // One that is there stays as it is.
                let known = keys.first { $0.publicKeyHash == pair.key.publicKey.identifier }
                return try value(
                    pair.certificate, named: name, isExtractable: known?.isExtractable ?? extractable, nil,
                    keychain, now)
            }
            return try output.emit(
                document(identities, isChanged: false, keychain),
                sentence: "\(summary)\nNothing was imported (--dry-run).")
        }
        var imports: [IdentityImport] = []
        for (pair, name) in zip(pairs, names) {
            do {
                imports.append(
                    try keychain.importIdentity(
                        key: pair.key, certificate: pair.certificate, chain: contents.certificates.map(\.certificate),
                        label: name, isExtractable: extractable, isReplacing: replace))
            } catch let error as KeychainError {
                let isNameTaken = error.code == .duplicateItem && error.details["taken"] == nil
                let done = imports.map { "\"\($0.identity.label ?? "")\"" }
                throw KeychainError(
                    error.code,
                    error.message + (done.isEmpty ? "" : " Imported before that: \(done.joined(separator: ", "))."),
                    hint: isNameTaken ? "Replace it: add --replace. Keep both: --name OTHER" : error.hint,
                    details: error.details, cause: error.cause)
            }
        }
        let identities = try imports.map { made -> Value in
            try value(
                made.identity.certificate(), named: made.identity.label,
                isExtractable: made.identity.key.isExtractable, made, keychain, now)
        }
        let document = self.document(identities, isChanged: imports.contains { !$0.isUnchanged }, keychain)
        let left = [
            (contents.keysWithoutCertificate, "without a certificate"),
            (contents.unreadableKeys.count, "of a kind that cannot be read"),
        ].filter { $0.0 > 0 }
        let lines = try sentences(imports, summary, keychain, now)
            + left.map { "Not imported: \(Phrases.counted($0.0, "private key")) \($0.1)." }
        try output.emit(document, sentence: lines.joined(separator: "\n"))
        if imports.contains(where: { !$0.isUnchanged }) { try OpenSSLEngine.warn(of: keychain, output) }
        for made in imports {
            try ExtractionNote.warn(of: made.identity.key, in: keychain, output)
            try StrengthNote.warn(of: made.identity, in: keychain, output)
        }
    }

    /// Refuses what would be left as it is although it was asked for otherwise: another name, or a key that may leave.
    ///
    /// - Parameter isAlone: Whether the files have no other pair: --name gives each of several a name of its own.
    private func refuse(
        _ pair: IdentityFiles.Pair, named name: String?, isAlone: Bool, in keychain: Keychain
    ) throws {
        if let name {
            let known = try keychain.find(.certificates).first { $0.der == pair.certificate.der }
            if let known, let label = known.label, !label.isIdentical(to: name) {
                let word = ShellWord.operand(label)
                // Of an identity `cert rm` would leave the key behind.
                let noun = try keychain.find(.identity(label: label)).isEmpty ? "cert" : "identity"
                let removal = "or remove it first: keyfob \(noun) rm \(word)"
                // No import gives a version the name back, whatever it is told to call it.
                let remedy = known.nameOfVersion != nil && noun == "identity"
                    ? "Put it back into use: keyfob identity use \(word)"
                    : isAlone ? "Use that name: \(ShellWord.option("--name", label))" : "Leave out --name"
                throw KeychainError(
                    .duplicateItem,
                    "the certificate of \(pair.certificateFileName) is in the keychain already, as \"\(label)\"; "
                        + "nothing was imported as \"\(name)\".",
                    hint: "\(remedy)     \(removal)",
                    details: ["keychain": keychain.name, "name": label])
            }
        }
        guard extractable else { return }
        let identifier = pair.key.publicKey.identifier
        let known = try keychain.find(.keys.keyClass(.private)).first { $0.publicKeyHash == identifier }
        if let known, !known.isExtractable {
            let label = known.label ?? ""
            // The key's own label is no identity's, where it was made or brought in for a later version.
            let identities = try keychain.find(.identities).filter { $0.key.publicKeyHash == identifier }
            let identity = identities.first { $0.nameOfVersion == nil } ?? identities.first
            let fingerprint = Digest.sha256(pair.key.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
            let removal = identity?.label.map { "identity rm \(ShellWord.operand($0))" }
                ?? "key rm sha256:\(fingerprint)"
            throw KeychainError(
                .duplicateItem,
                "the key of \(pair.fileName) is on the token already, as \"\(label)\", and not extractable; "
                    + "nothing was imported.",
                hint: "Leave out --extractable, or remove it first: keyfob \(removal)",
                details: ["keychain": keychain.name, "name": label])
        }
    }

    /// What the document says of one identity.
    ///
    /// - Parameter made: `nil` where nothing was imported.
    private func value(
        _ certificate: Certificate, named name: String?, isExtractable: Bool, _ made: IdentityImport?,
        _ keychain: Keychain, _ now: Date
    ) throws -> Value {
        let isComplete = try made.map { _ in try keychain.chain(of: certificate).isComplete }
        let uri = try made.map { try keychain.uri(of: $0.identity).description }
        let members: [Value.Member] = [
            .init("name", .optional(name)),
            .init("changed", .boolean(made.map { !$0.isUnchanged } ?? false)),
            .init("extractable", .boolean(isExtractable)),
            .init("certificates_added", made.map { .count($0.addedCertificates.count) } ?? .null),
            .init("certificates_known", made.map { .count($0.knownCertificates) } ?? .null),
            .init("chain_complete", isComplete.map { .boolean($0) } ?? .null),
            .init("kept", made.map { .array($0.kept.map { .string($0) }) } ?? .null),
            .init("uri", .optional(uri)),
        ]
        return .object(members + CertificatePhrases.members(certificate, on: now))
    }

    private func document(_ identities: [Value], isChanged: Bool, _ keychain: Keychain) -> Document {
        Document([
            "changed": .boolean(isChanged), "dry_run": .boolean(global.dryRun), "keychain": .string(keychain.name),
            "identities": .array(identities),
        ])
    }

    private func sentences(
        _ imports: [IdentityImport], _ summary: String, _ keychain: Keychain, _ now: Date
    ) throws -> [String] {
        guard imports.contains(where: { !$0.isUnchanged }) else {
            return imports.map {
                "Unchanged: identity \"\(Visible.text($0.identity.label ?? ""))\" already has this key and certificate."
            }
        }
        var lines = [Visible.text(summary)]
        for item in imports {
            let name = Visible.text(item.identity.label ?? "")
            guard !item.isUnchanged else {
                lines.append("Unchanged: identity \"\(name)\" already has this key and certificate.")
                continue
            }
            let certificate = try item.identity.certificate()
            let algorithm = certificate.publicKey.algorithm.description
            let subject = Visible.text(CertificatePhrases.subject(certificate))
            let width = max(algorithm.count, DisplayWidth.of(subject))
            func padded(_ text: String) -> String {
                text + String(repeating: " ", count: width - DisplayWidth.of(text))
            }
            let token = Visible.text(keychain.tokenLabel)
            let usage = certificate.extendedKeyUsage.map { ", \($0)" }.joined()
            lines.append(
                "  key     \(padded(algorithm))   -> token \"\(token)\", "
                    + (item.identity.key.isExtractable ? "extractable" : "not extractable"))
            lines.append("  leaf    \(padded(subject))   \(CertificatePhrases.validity(certificate, on: now))\(usage)")
            lines.append("  chain   \(Visible.text(try chainPhrase(item, certificate, keychain)))")
            lines += item.kept.map { old in
                let command = HintedCommands.naming(
                    keychain.name, in: "keyfob identity retire \(Visible.text(ShellWord.operand(old)))")
                return "  kept    the old one, as \(Visible.text(old))   (remove it: \(command))"
            }
            lines.append("Identity \"\(name)\" is ready.")
        }
        return lines
    }

    /// No import stores a root; it may have been there before.
    private func rootPhrase(_ root: Certificate, _ keychain: Keychain) throws -> String {
        if try keychain.trustAnchors().contains(where: { $0.certificate == root }) { return "root already trusted" }
        let isKnown = try keychain.publicCertificates().contains { $0.der == root.der }
        return isKnown ? "root known already" : "root not stored"
    }

    private func chainPhrase(
        _ item: IdentityImport, _ certificate: Certificate, _ keychain: Keychain
    ) throws -> String {
        var parts: [String] = []
        if !item.addedCertificates.isEmpty {
            parts.append("\(Phrases.counted(item.addedCertificates.count, "intermediate")) stored")
        }
        if item.knownCertificates > 0 {
            parts.append("\(Phrases.counted(item.knownCertificates, "intermediate")) known already")
        }
        if item.chain.isComplete, let root = item.chain.certificates.last {
            parts.append(try item.chain.certificates.count > 1 ? rootPhrase(root, keychain) : "self-signed")
        } else if parts.isEmpty {
            // The file has none; the keychain may.
            let above = try keychain.chain(of: certificate).certificates.dropFirst()
            let count = above.count { !$0.isSelfSigned }
            if count > 0 { parts.append("\(Phrases.counted(count, "intermediate")) known already") }
            if count < above.count { parts.append("root known already") }
        }
        if parts.isEmpty {
            parts.append("no issuer certificate (issuer \(CertificatePhrases.issuer(certificate)))")
        }
        return parts.joined(separator: ", ")
    }
}

/// Names without repetition, for a sentence.
struct ListOfNames {
    let text: String

    init(_ names: [String]) {
        var seen: Set<String> = []
        text = names.filter { seen.insert($0).inserted }.joined(separator: ", ")
    }
}
