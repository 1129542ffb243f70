import Foundation
package import OpenSSL
import PKCS11

/// What importing an identity would do.
package struct IdentityImportPlan: Sendable {
    /// What the identity would be called.
    package let name: String
    /// Whether key and certificate are there already, so that nothing would change.
    package let isUnchanged: Bool
    /// Whether its key could leave the token; of one that is there, whether it can.
    package let isExtractable: Bool
    /// Certificates of the chain that would be stored with it.
    package let addedCertificates: [Certificate]
    /// How many certificates of the chain the keychain would have by then.
    package let knownCertificates: Int
    /// The labels under which the identities that bear the name would be kept.
    package let kept: [String]
    /// The chain as far as the certificates given with it reach, leaf first.
    package let chain: CertificateChain
    /// Whether the chain of the keychain's certificates would be complete.
    package let isComplete: Bool
}

extension Keychain {
    /// What `importIdentity` would do; nothing is changed.
    ///
    /// What only the token knows is not found out: whether it takes the key, and has room for it.
    ///
    /// - Parameter earlier: Certificates that another import would store before this one.
    /// - Throws: As it does, as far as that is known without writing.
    @available(*, noasync, message: "call it from a thread of your own")
    package func planImport(
        key: PrivateKey, certificate: Certificate, chain: [Certificate], label: String?, isExtractable: Bool,
        isReplacing: Bool, after earlier: [Certificate]
    ) throws -> IdentityImportPlan {
        guard certificate.publicKey == key.publicKey else { throw Self.mismatch(certificate, key.publicKey) }
        let keys = try keys()
        let objects = try index.objects(keys)
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
        // Without a name one that is there keeps its own.
        let own = try label == nil ? storedItems(of: certificate).first?.attributes[.label]?.text : nil
        return IdentityImportPlan(
            name: own ?? name,
            isUnchanged: isPairThere && isKnown(certificate) && missing.isEmpty && replaced.isEmpty,
            isExtractable: known.map { $0.flags.contains(.extractable) } ?? isExtractable,
            addedCertificates: missing, knownCertificates: above.count - missing.count,
            kept: replaced.versions.map(\.name), chain: ordered,
            isComplete: try self.chain(of: certificate, with: above + earlier).isComplete)
    }
}
