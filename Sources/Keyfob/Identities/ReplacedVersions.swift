import Foundation
import KeyfobOpenSSL
import PKCS11

/// The versions of an identity that a certificate replaces under its name.
struct ReplacedVersions {
    /// The certificates that have the name, and their new names.
    var versions: [(object: TokenObject, name: String)] = []
    /// The object of the new certificate, if it is already on the token.
    var leaf: TokenObject?
    /// Whether that object already has the name.
    var isLeafNamed = false
    /// The label of the certificate's object on the token.
    var leafLabel: AttributeValue?

    /// Whether no item is renamed.
    var isEmpty: Bool { versions.isEmpty && (leaf == nil || isLeafNamed) }

    /// The previous versions of a certificate: the renewed one, otherwise those of the same key, otherwise all.
    func predecessors(of certificate: Certificate, renewing renewed: Certificate? = nil) -> [TokenObject] {
        let all = versions.map(\.object)
        if let renewed, let one = all.first(where: { $0.certificateDER == renewed.der }) { return [one] }
        let ofKey = all.filter { $0.publicKeyHash == certificate.publicKey.identifier }
        return ofKey.isEmpty ? all : ofKey
    }
}

extension KeychainIdentities {
    /// The certificates of a name that have a private key on the token, except one.
    func versionsInUse(
        of name: String, besides certificate: Certificate, among objects: [TokenObject], _ keys: VaultKeys
    ) throws -> [TokenObject] {
        let hashes = Set(objects.filter { $0.objectClass == .privateKey }.map(\.keyIdentifier))
        let named = try keychain.tokenItems.fingerprints(
            ofItemsLabelledLike: Criteria(.certificate, [.label: .string(name)]), keys)
        return try objects.filter { object in
            guard object.objectClass == .certificate, object.certificateDER != certificate.der,
                object.publicKeyHash.map({ hashes.contains($0) }) ?? false
            else { return false }
            return try has(name, object, named, keys)
        }
    }

    /// Determines the replacement of the versions under a name by a certificate.
    ///
    /// - Parameter others: The certificates that have the name and lose it.
    /// - Throws: `KeyFileError` if one of them does not hold a certificate; the `KeychainError` of the vault.
    func replacing(
        _ others: [TokenObject], under name: String, by certificate: Certificate, among objects: [TokenObject],
        _ keys: VaultKeys
    ) throws -> ReplacedVersions {
        var replaced = ReplacedVersions()
        let named = try keychain.tokenItems.fingerprints(
            ofItemsLabelledLike: Criteria(.certificate, [.label: .string(name)]), keys)
        replaced.leaf = objects.first { $0.certificateDER == certificate.der }
        replaced.isLeafNamed = try replaced.leaf.map { try has(name, $0, named, keys) } ?? false
        var taken: Set<String> = []
        for other in others {
            let label = try IdentityVersion.label(name, other.certificate.notAfter) {
                try taken.contains($0) || isNameTaken($0, among: objects, keys)
            }
            taken.insert(label)
            replaced.versions.append((other, label))
        }
        replaced.leafLabel = .string(try unusedLabel(name, certificate, among: objects))
        return replaced
    }

    /// A label for the certificate's object that no other certificate object has, so that programs that search by label
    /// find exactly one certificate.
    private func unusedLabel(
        _ name: String, _ certificate: Certificate, among objects: [TokenObject]
    ) throws -> String {
        let labels = Set(objects.filter { $0.objectClass == .certificate }.compactMap { $0.label?.text })
        guard labels.contains(name) else { return name }
        return IdentityVersion.label(name, certificate.notAfter) { labels.contains($0) }
    }

    /// Whether a certificate or key has a name, or an object has it as its label.
    func isNameTaken(_ name: String, among objects: [TokenObject], _ keys: VaultKeys) throws -> Bool {
        if objects.contains(where: { $0.label?.text == name }) { return true }
        return try [ItemClass.certificate, .key].contains {
            try !keychain.tokenItems.fingerprints(ofItemsLabelledLike: Criteria($0, [.label: .string(name)]), keys)
                .isEmpty
        }
    }

    /// - Parameter named: The fingerprints of the objects whose rows have the name.
    private func has(_ name: String, _ object: TokenObject, _ named: Set<Data>, _ keys: VaultKeys) throws -> Bool {
        if named.contains(object.fingerprint) { return true }
        return try object.label == .string(name) && keychain.tokenItems.objectRows(object, keys).isEmpty
    }

    /// Renames items for a replacement: the older versions, and the certificate itself.
    func rename(
        _ replaced: ReplacedVersions, _ name: String, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        for (object, label) in replaced.versions {
            let rows = try keychain.tokenItems.openRows(object, keys, writer)
            if rows.isEmpty { try setName(label, of: object, row: nil, writer, keys) }
            for row in rows where row.attributes[.label]?.labelBytes == Data(name.utf8) {
                try setName(label, of: object, row: row.row, writer, keys)
            }
        }
        guard let leaf = replaced.leaf, !replaced.isLeafNamed else { return }
        try setName(name, of: leaf, row: keychain.tokenItems.openRows(leaf, keys, writer).first?.row, writer, keys)
    }

    private func setName(
        _ name: String, of object: TokenObject, row: SealedRow?, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        try keychain.tokenItems.updateRow(
            .certificate, object, identity: row?.identity, [.label: .string(name)], [], writer, keys)
    }
}
