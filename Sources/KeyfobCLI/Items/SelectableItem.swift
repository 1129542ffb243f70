import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// An item that an `ItemName` selects.
protocol SelectableItem: KeychainItem {
    /// The words for such items.
    static var kind: ItemName.Kind { get }

    /// The fingerprints that select the item, the strongest first.
    func fingerprints(in keychain: Keychain) throws -> [ItemName.Fingerprint]

    /// The common name that selects the item.
    func commonName() throws -> String?
}

extension ItemName {
    /// The words for a kind of item, and the command that lists such items.
    struct Kind {
        let singular: String
        let plural: String
        let listing: Remedy.Operation
    }
}

extension Identity: SelectableItem {
    static var kind: ItemName.Kind { .init(singular: "identity", plural: "identities", listing: .listIdentities) }

    func fingerprints(in _: Keychain) -> [ItemName.Fingerprint] { ItemName.Fingerprint.all(of: der) }

    func commonName() throws -> String? { try certificate().subject.commonName }
}

extension CertificateItem: SelectableItem {
    static var kind: ItemName.Kind {
        .init(singular: "certificate", plural: "certificates", listing: .listCertificates)
    }

    func fingerprints(in _: Keychain) -> [ItemName.Fingerprint] { ItemName.Fingerprint.all(of: der) }

    func commonName() throws -> String? { try certificate().subject.commonName }
}

extension KeyItem: SelectableItem {
    static var kind: ItemName.Kind { .init(singular: "key", plural: "keys", listing: .listKeys()) }

    /// The SHA-256 of the SubjectPublicKeyInfo, and the identifier of the key, which is a SHA-1.
    func fingerprints(in keychain: Keychain) throws -> [ItemName.Fingerprint] {
        let publicKey = try keychain.keys.publicKey(of: self)
        let digests = [
            ("sha256", publicKey.map { Digest.sha256($0.subjectPublicKeyInfo).hexadecimal }),
            ("sha1", publicKeyHash?.hexadecimal),
        ]
        return digests.compactMap { algorithm, digits in
            digits.map { ItemName.Fingerprint(algorithm: algorithm, hexadecimal: $0) }
        }
    }

    func commonName() -> String? { nil }
}
