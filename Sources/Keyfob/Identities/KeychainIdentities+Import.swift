public import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// The result of importing an identity.
public struct IdentityImport: Sendable {
    /// The identity as it is on the token now.
    public let identity: Identity
    /// Whether key and certificate were there before and nothing was changed.
    public let isUnchanged: Bool
    /// Certificates of the chain that were stored.
    public let addedCertificates: [CertificateItem]
    /// The number of certificates of the chain that the keychain had already.
    public let knownCertificates: Int
    /// The labels under which the identities that had the name before are kept.
    public let kept: [String]
    /// The chain as far as the given certificates reach, leaf first. A given root is not stored.
    public let chain: CertificateChain
}

/// Importing keys and identities to the token.
extension KeychainIdentities {
    /// Imports an identity: private key, certificate and the certificates above it, all or nothing.
    ///
    /// Existing objects are left unchanged, so a second import changes nothing. A process killed at any instant leaves
    /// a whole identity or none.
    ///
    /// - Parameters:
    ///   - chain: Certificates above the leaf, in any order; a self-signed root among them is not stored.
    ///   - label: The name of key and certificate; `nil` for the certificate's own name.
    ///   - isReplacing: Whether the new identity replaces another one of the same label, in the same step. The replaced
    ///     identity stays as an older version, because handshakes in progress need its key. It is named `NAME@` and the
    ///     day on which it expires, until `retire(_:)`.
    /// - Throws: `KeychainError`; `identityMismatch` if the certificate is not for the key, `duplicateItem` if another
    ///   identity has the label, `tokenContractViolation`, `tokenFull`, `mechanismUnsupported`, `unsupportedFormat` for
    ///   key types that tokens do not hold, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func importKeyPair(
        key: PrivateKey, certificate: Certificate, chain: [Certificate] = [], label: String? = nil,
        isExtractable: Bool = false, isReplacing: Bool = false
    ) throws -> IdentityImport {
        try keychain.withDeadline { [self] in
            guard certificate.publicKey == key.publicKey else {
                throw Self.mismatch(certificate, key.publicKey)
            }
            let keys = try keychain.vaultKeys()
            let name = label ?? certificate.ownName ?? "identity"
            let ordered = CertificateChain.order(leaf: certificate, candidates: chain)
            // A root is trusted only by a decision of the user, never because it is in an imported file.
            let above = ordered.certificates.dropFirst().filter { !$0.isSelfSigned }
            let authorities = above.map { authority in
                let name = authority.ownName.map { AttributeValue.string($0) }
                return (certificate: authority, object: NewObject(certificate: authority, label: name))
            }
            var replaced = ReplacedVersions()
            var present: [TokenObject] = []
            let (added, isUnchanged) = try keychain.token.retryingMomentaryFailures {
                try keychain.writer(keys).create { objects in
                    present = objects
                    // Without an explicit name, a second identity may get the same name.
                    replaced = try label == nil
                        ? ReplacedVersions(leafLabel: .string(name))
                        : self.replacedVersions(
                            of: name, certificate, isReplacing: isReplacing, among: objects, keys)
                    // The first key of a name keeps that name (``IdentityVersion``).
                    let keyLabel = try replaced.versions.isEmpty ? name : IdentityVersion.label(name, Date()) {
                        try isNameTaken($0, among: objects, keys)
                    }
                    let pair = try NewObject.pair(
                        key, label: [UInt8](keyLabel.utf8), subject: [UInt8](certificate.subject.der),
                        isExtractable: isExtractable)
                    let leaf = NewObject(certificate: certificate, label: replaced.leafLabel)
                    return [pair.publicKey, pair.privateKey, leaf] + authorities.map(\.object)
                } commit: { writer, added in
                    let predecessors = replaced.predecessors(of: certificate)
                    let transfer = try takeAttributes(of: replaced, from: predecessors, name, nil, writer, keys)
                    try rename(replaced, name, writer, keys)
                    if let known = replaced.leaf { try give(transfer, to: known, name, writer, keys) }
                    let known = present.filter { object in authorities.contains { $0.object.isSame(as: object) } }
                    try share(known, transfer, writer, keys)
                    // The public half needs no row: it is found through the private key.
                    var recorded = try record(
                        added.filter { $0.objectClass != .publicKey }, leaf: certificate, called: name, transfer,
                        writer, keys)
                    // If the key were an item of another access group only, removing that item would remove this
                    // identity's key.
                    let ownKey = present.first {
                        $0.objectClass == .privateKey && $0.keyIdentifier == key.publicKey.identifier
                    }
                    let isLeafNew = added.contains { $0.certificateDER == certificate.der }
                    if isLeafNew, transfer.shares.isEmpty, let ownKey,
                        let item = try recordHalf(Item(.key, [:]), made: nil, existing: ownKey, writer, keys)
                    { recorded.append(item) }
                    let made = TokenStore.completing(added)
                    try giveKeyAttributes(of: predecessors, to: key.publicKey, among: made + present, writer, keys)
                    return (recorded, added.isEmpty && replaced.isEmpty)
                }
            }
            let addedAuthorities = added.filter { item in above.contains { $0.der == item.certificateDER } }
            return IdentityImport(
                identity: try storedIdentity(of: certificate), isUnchanged: isUnchanged,
                addedCertificates: addedAuthorities.map { CertificateItem(item: $0) },
                knownCertificates: above.count - addedAuthorities.count, kept: replaced.versions.map(\.name),
                chain: ordered)
        }
    }

    /// The versions to replace when an identity is imported under a name.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if another identity has the name and `isReplacing` is false.
    func replacedVersions(
        of name: String, _ certificate: Certificate, isReplacing: Bool, among objects: [TokenObject], _ keys: VaultKeys
    ) throws -> ReplacedVersions {
        let inUse = try versionsInUse(of: name, besides: certificate, among: objects, keys)
        guard inUse.isEmpty || isReplacing else {
            throw keychain.vaultRows.duplicate(.identity, [.label: .string(name)])
        }
        // Without a replacement, an existing identity keeps its name.
        guard isReplacing else { return ReplacedVersions(leafLabel: .string(name)) }
        let predecessors = try predecessors(of: certificate, named: name, inUse, among: objects, keys)
        return try replacing(predecessors, under: name, by: certificate, among: objects, keys)
    }

    static func mismatch(_ certificate: Certificate, _ key: PublicKey) -> KeychainError {
        let theirs = Digest.sha256(certificate.publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        let ours = Digest.sha256(key.subjectPublicKeyInfo).hexadecimal.prefix(16)
        return KeychainError(
            .identityMismatch,
            "the certificate \"\(certificate.subjectSummary ?? "")\" was not issued for this key: public keys differ.",
            hint: "The certificate belongs to key sha256:\(theirs)…; yours is sha256:\(ours)….",
            details: ["certificate_key": "sha256:\(theirs)", "key": "sha256:\(ours)"])
    }

    /// Imports every identity of a PKCS#12 file (RFC 7292).
    ///
    /// - Parameters:
    ///   - fileName: The name of the file in messages.
    ///   - label: The name, with a number appended if there are several identities; `nil` for the names in the file,
    ///     which do not rename existing identities.
    ///   - allowsLegacy: Whether RC2 and 3DES are read.
    /// - Throws: `KeychainError`; `pkcs12Damaged`, `filePassphraseIncorrect`, `pkcs12Tampered`, `legacyEncryption`,
    ///   `unsupportedFormat`, `itemNotFound` for a file without an identity, and the errors of
    ///   `importIdentity(key:certificate:chain:label:isExtractable:isReplacing:)`. The token is not changed before the
    ///   whole file has been read.
    @available(*, noasync, message: "use the asynchronous form")
    public func importPKCS12(
        _ data: Data, fileName: String, passphrase: SecretBytes?, label: String? = nil, isExtractable: Bool = false,
        allowsLegacy: Bool = true, isReplacing: Bool = false
    ) throws -> [IdentityImport] {
        try keychain.withDeadline { [self] in
            let contents: PKCS12.Contents
            do throws(PKCS12Error) {
                contents = try PKCS12.read(data, passphrase: passphrase, allowLegacy: allowsLegacy)
            } catch {
                throw KeychainError.pkcs12(error, fileName: fileName)
            }
            let identities = contents.identities
            guard !identities.isEmpty else {
                throw KeychainError(
                    .itemNotFound, "\(fileName) has no private key with its certificate.",
                    hint: "It holds \(contents.keys.count) keys and \(contents.certificates.count) certificates.")
            }
            let names = try label.map { label in
                identities.indices.map { identities.count == 1 ? label : "\(label)-\($0 + 1)" }
            } ?? self.names(ofImported: identities.map { ($0.friendlyName, $0.certificate) })
            try requireNames(zip(names, identities.map(\.certificate)).map { ($0, $1) }, isReplacing: isReplacing)
            return try zip(names, identities).map { name, entry in
                try importKeyPair(
                    key: entry.key, certificate: entry.certificate, chain: contents.certificates.map(\.certificate),
                    label: name, isExtractable: isExtractable, isReplacing: isReplacing)
            }
        }
    }

    /// Refuses names that the identities cannot have, before the first one is imported.
    ///
    /// Each identity is imported separately, so an error of a later one would leave the earlier ones behind. A dry run
    /// calls this too.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if two are to have the same name, or another identity has it.
    package func requireNames(
        _ identities: [(name: String?, certificate: Certificate)], isReplacing: Bool
    ) throws {
        var names: Set<String> = []
        for case (let name?, let certificate) in identities {
            guard names.insert(name).inserted else {
                throw KeychainError(
                    .duplicateItem, "two identities are to be called \"\(name)\"; none was imported.",
                    remedies: [Remedy("Choose the name that the numbers are added to", .change(.name))],
                    details: ["keychain": keychain.name, "name": name])
            }
            let isTaken = try !isReplacing
                && keychain.find(.identity(label: name)).contains { try $0.certificate() != certificate }
            guard !isTaken else {
                throw keychain.vaultRows.duplicate(.identity, [.label: .string(name)]).with(
                    remedies: [Remedy("Replace it", .change(.replacing)), Remedy("Keep both", .change(.name))])
            }
        }
    }
}
