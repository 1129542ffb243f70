import Foundation
package import KeyfobOpenSSL
import PKCS11

/// The predicted result of importing an identity.
package struct IdentityImportPlan: Sendable {
    /// The name that the identity would get.
    package let name: String
    /// Whether key and certificate are there already and nothing would change.
    package let isUnchanged: Bool
    /// Whether its key would be extractable; for an existing key, whether it is.
    package let isExtractable: Bool
    /// Certificates of the chain that would be stored.
    package let addedCertificates: [Certificate]
    /// The number of certificates of the chain that the keychain would have already.
    package let knownCertificates: Int
    /// The labels under which the identities that have the name would be kept.
    package let kept: [String]
    /// The chain as far as the given certificates reach, leaf first.
    package let chain: CertificateChain
    /// Whether the chain would be complete with the keychain's certificates.
    package let isComplete: Bool
}

extension KeychainIdentities {
    /// Predicts the result of `importIdentity`, without changing anything.
    ///
    /// Whether the token accepts the key and has room for it is not checked.
    ///
    /// - Parameter earlier: Certificates that an earlier import would store.
    /// - Throws: `KeychainError`; the errors of `importIdentity` that can be detected without writing.
    @available(*, noasync, message: "call it from a thread of your own")
    package func planImport(
        key: PrivateKey, certificate: Certificate, chain: [Certificate], label: String?, isExtractable: Bool,
        isReplacing: Bool, after earlier: [Certificate]
    ) throws -> IdentityImportPlan {
        guard certificate.publicKey == key.publicKey else { throw Self.mismatch(certificate, key.publicKey) }
        let keys = try keychain.vaultKeys()
        let objects = try keychain.index.objects(keys)
        let name = label ?? certificate.ownName ?? "identity"
        let pair = try NewObject.pair(
            key, label: [UInt8](name.utf8), subject: [UInt8](certificate.subject.der), isExtractable: isExtractable)
        let replaced = try label == nil
            ? ReplacedVersions()
            : replacedVersions(of: name, certificate, isReplacing: isReplacing, among: objects, keys)
        func isThere(_ new: NewObject) -> Bool { objects.contains { new.isSame(as: $0) } }
        func isKnown(_ certificate: Certificate) -> Bool {
            earlier.contains(certificate) || isThere(NewObject(certificate: certificate, label: nil))
        }
        let ordered = CertificateChain.order(leaf: certificate, candidates: chain)
        let above = ordered.certificates.dropFirst().filter { !$0.isSelfSigned }
        let missing = above.filter { !isKnown($0) }
        let isPairThere = isThere(pair.privateKey) && isThere(pair.publicKey)
        let known = objects.first { $0.objectClass == .privateKey && $0.keyIdentifier == key.publicKey.identifier }
        // Without a label, an existing certificate keeps its name.
        let own = try label == nil ? keychain.trust.storedItems(of: certificate).first?.attributes[.label]?.text : nil
        return IdentityImportPlan(
            name: own ?? name,
            isUnchanged: isPairThere && isKnown(certificate) && missing.isEmpty && replaced.isEmpty,
            isExtractable: known.map { $0.flags.contains(.extractable) } ?? isExtractable,
            addedCertificates: missing, knownCertificates: above.count - missing.count,
            kept: replaced.versions.map(\.name), chain: ordered,
            isComplete: try keychain.certificates.chain(of: certificate, with: above + earlier).isComplete)
    }
}
