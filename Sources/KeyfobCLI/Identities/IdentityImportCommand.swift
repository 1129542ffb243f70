import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// `keyfob identity import`: moves a key and its certificates from files to the token.
struct IdentityImportCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "import", "Move a key and its certificates from files onto the token.",
        examples: Examples(
            "keyfob identity import web.p12 --name web --pass-source file:/run/keys/web.pass",
            "keyfob identity import privkey.pem fullchain.pem --name web",
            "keyfob identity import --key api.key --cert api.crt --chain chain.pem --name api --replace"),
        discussion: """
            Files are PKCS#12, PEM or DER; their content decides. The key's file is kept: delete it once the identity \
            works (keyfob identity check). Importing the same again changes nothing.
            """)

    @Argument(help: "PKCS#12, PEM or DER files; - is standard input.")
    var files: [FileArgument] = []

    @Option(
        name: [.customLong("name")], help: "The name of the identity; by default that of the file or certificate.")
    var label: String?

    @Option(help: ArgumentHelp("The file of the private key.", valueName: "file"))
    var key: FileArgument?

    @Option(help: ArgumentHelp("The file of the certificate.", valueName: "file"))
    var cert: FileArgument?

    @Option(help: ArgumentHelp("The file of the certificates above it.", valueName: "file"))
    var chain: FileArgument?

    @OptionGroup var passphrase: PassphraseOptions

    @Flag(help: "Allow the key to leave the token, as a PKCS#12 file.")
    var extractable = false

    @OptionGroup var legacy: LegacyOptions

    @Flag(help: "Import a certificate even if it has expired or is not valid yet.")
    var allowExpired = false

    @Flag(help: "Take over the name of another identity, which is kept as an older version.")
    var replace = false

    @OptionGroup var mixedKeys: MixedKeysOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !files.isEmpty || key != nil else {
            throw ValidationError("Name a file, such as web.p12, or --key and --cert.")
        }
        if let label { try NewName.check(label) }
    }

    func run(_ output: Output) throws {
        try passphrase.check(reading: files + [key, cert, chain].compactMap { $0 })
        let read = passphrase.reading(global)
        var contents = IdentityFiles(
            allowsLegacy: legacy.allowsLegacy, hasPassphraseSource: passphrase.passSource != nil,
            showsProgress: global.showsProgress, waiting: global.timeout
        ) { try read(.file($0)) }
        try passphrase.naming {
            for file in files { try contents.add(file) }
            if let key { try contents.addKey(key, isAlone: files.isEmpty && cert == nil) }
            for file in [cert, chain].compactMap({ $0 }) { try contents.addCertificates(file) }
        }
        let pairs = try contents.pairs { publicKey in
            // The result only selects a hint, so errors are ignored. Without a keychain, the answer is unknown.
            guard let keychain = try? global.openKeychainIfThere() else { return nil }
            return keychain.keys.hasKey(publicKey)
        }
        let now = Date()
        for pair in pairs where !allowExpired {
            let name = label ?? CertificatePhrases.subject(pair.certificate)
            try CertificatePhrases.requireValid(pair.certificate, name: name, on: now)
        }
        let keychain = try global.openKeychain()
        let fileNames = (contents.keys.map(\.fileName) + contents.certificates.map(\.fileName)).distinct
            .joined(separator: ", ")
        let summary =
            "\(fileNames): \(Plural.counted(contents.keys.count, "private key")), "
            + Plural.counted(contents.certificates.count, "certificate")
            + (contents.isIntegrityChecked.map { $0 ? ", integrity ok" : ", without an integrity check" } ?? "")
        let wanted = pairs.enumerated().map { index, _ in label.map { pairs.count == 1 ? $0 : "\($0)-\(index + 1)" } }
        for (pair, name) in zip(pairs, wanted) {
            try refuse(pair, named: name, isAlone: pairs.count == 1, in: keychain)
        }
        let names = try label == nil
            ? keychain.identities.names(ofImported: pairs.map { ($0.friendlyName, $0.certificate) }) : wanted
        try keychain.identities.requireNames(zip(names, pairs).map { ($0, $1.certificate) }, isReplacing: replace)
        let left = [
            (contents.keysWithoutCertificate, "private key", "without a certificate"),
            (contents.unreadableKeys.count, "private key", "that cannot be read"),
            (contents.succeededCertificates, "certificate", "that a newer one of the same key replaces"),
        ].filter { $0.0 > 0 }.map { "Not imported: \(Plural.counted($0.0, $0.1)) \($0.2)." }
        let given = contents.certificates.map(\.certificate)
        let kinds = pairs.map(\.key.publicKey).filter { keychain.keys.hasKey($0) != true }.map {
            $0.algorithm == .ed25519
        }
        try mixedKeys.check(adding: kinds, to: keychain)
        if global.dryRun {
            let reports = try plans(zip(pairs, names).map { ($0, $1) }, given, in: keychain)
            let lines = try IdentityImportReport.lines(reports, summary, keychain, on: now)
            return try output.emit(
                document(reports, keychain, now),
                sentence: (lines + left + ["Dry run: nothing was imported."]).joined(separator: "\n"))
        }
        var imports: [IdentityImport] = []
        for (pair, name) in zip(pairs, names) {
            do {
                imports.append(
                    try keychain.identities.importKeyPair(
                        key: pair.key, certificate: pair.certificate, chain: given, label: name,
                        isExtractable: extractable, isReplacing: replace))
            } catch let error as KeychainError {
                let isNameTaken = error.code == .duplicateItem && error.details["taken"] == nil
                let done = imports.map { "\"\($0.identity.label ?? "")\"" }
                throw error.replacing(
                    message: error.message
                        + (done.isEmpty ? "" : " Imported before that: \(done.joined(separator: ", "))."),
                    remedies: isNameTaken
                        ? [Remedy("Replace it", .change(.replacing)), Remedy("Keep both", .change(.name))] : nil)
            }
        }
        let reports = try imports.map { try IdentityImportReport($0, in: keychain) }
        let isChanged = imports.contains { !$0.isUnchanged }
        let lines = try IdentityImportReport.lines(reports, summary, keychain, on: now)
        try output.emit(
            document(reports, keychain, now), sentence: (lines + left).joined(separator: "\n"))
        if isChanged { try OpenSSLEngine.warn(of: keychain, output) }
        for made in imports {
            try ExtractionNote.warn(of: made.identity.key, in: keychain, output)
            try StrengthNote.warn(of: made.identity, in: keychain, output)
        }
    }

    /// Refuses an import that would silently ignore an option: `--name` for a stored certificate, or `--extractable`
    /// for a stored key.
    ///
    /// - Parameter isAlone: Whether the files have no other pair. With several pairs, `--name` gives each pair a
    ///   numbered name.
    /// - Throws: `KeychainError.duplicateItem`.
    private func refuse(
        _ pair: IdentityFiles.Pair, named name: String?, isAlone: Bool, in keychain: Keychain
    ) throws {
        if let name {
            let known = try keychain.find(.certificates).first { $0.der == pair.certificate.der }
            if let known, let label = known.label, !label.isIdentical(to: name) {
                // `cert rm` would leave the key of an identity behind.
                let isIdentity = try !keychain.find(.identity(label: label)).isEmpty
                // An import cannot give an older version its former name.
                let remedy = known.nameOfVersion != nil && isIdentity
                    ? Remedy("Put it back into use", .useIdentity(label))
                    : isAlone ? Remedy("Use that name: \(ShellWord.option("--name", label))") : "Leave out --name"
                throw KeychainError(
                    .duplicateItem,
                    "the certificate of \(pair.certificateFileName) is in the keychain already, as \"\(label)\"; "
                        + "nothing was imported as \"\(name)\".",
                    remedies: [
                        remedy,
                        Remedy("Or remove it first", isIdentity ? .removeIdentity(label) : .removeCertificate(label)),
                    ],
                    details: ["keychain": keychain.name, "name": label])
            }
        }
        guard extractable else { return }
        let identifier = pair.key.publicKey.identifier
        let known = try keychain.find(.keys.keyClass(.private)).first { $0.publicKeyHash == identifier }
        if let known, !known.isExtractable {
            let label = known.label ?? ""
            // If the key was made or imported for a later version, its label differs from the identity's name.
            let identities = try keychain.find(.identities).filter { $0.key.publicKeyHash == identifier }
            let identity = identities.first { $0.nameOfVersion == nil } ?? identities.first
            let fingerprint = Digest.sha256(pair.key.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
            let removal = identity?.label.map { Remedy.Operation.removeIdentity($0) }
                ?? .removeKey("sha256:\(fingerprint)")
            throw KeychainError(
                .duplicateItem,
                "the key of \(pair.fileName) is on the token already, as \"\(label)\", and not extractable; "
                    + "nothing was imported.",
                remedies: [Remedy("Leave out --extractable, or remove it first", removal)],
                details: ["keychain": keychain.name, "name": label])
        }
    }

    /// Returns what the run would do.
    ///
    /// - Throws: The `KeychainError` that the run would throw, as far as that is known in advance.
    private func plans(
        _ named: [(pair: IdentityFiles.Pair, name: String?)], _ chain: [Certificate], in keychain: Keychain
    ) throws -> [IdentityImportReport] {
        var stored: [Certificate] = []
        return try named.map { pair, name in
            let plan = try keychain.identities.planImport(
                key: pair.key, certificate: pair.certificate, chain: chain, label: name, isExtractable: extractable,
                isReplacing: replace, after: stored)
            stored += plan.addedCertificates
            return IdentityImportReport(plan, pair.certificate)
        }
    }

    private func document(
        _ reports: [IdentityImportReport], _ keychain: Keychain, _ now: Date
    ) -> Document {
        let actions = reports.map(\.action).filter { $0 != .none }
        return Document(
            global.effect(actions.isEmpty ? .none : actions.contains(.update) ? .update : .create),
            ["keychain": keychain.name, "identities": reports.map { $0.members(on: now) }])
    }
}
