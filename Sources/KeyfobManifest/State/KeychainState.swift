package import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// What a keychain and the files of programs hold, as far as a manifest is about it.
package struct KeychainState: Sendable {
    /// Whether the keychain exists.
    package var exists = false
    package var passwords: [PasswordKey: StoredPassword] = [:]
    /// The keys that several passwords have, such as one that is synchronizable and one that is not.
    package var ambiguousPasswords: Set<PasswordKey> = []
    /// The keys of each name. Names that look alike may differ, so they are compared by their bytes.
    package var keys: [Data: [StoredKey]] = [:]
    /// The identities by the bytes of their names.
    package var identities: [Data: StoredIdentity] = [:]
    package var certificates: [StoredCertificate] = []
    /// The states of the files that the manifest describes, by their paths.
    package var files: [String: FileState] = [:]
    /// The contents of the files to import, by the names of the identities.
    package var imports: [String: ImportedIdentity] = [:]
    /// The certificates, in DER, that all programs of the machine trust, among those that the manifest names.
    package var systemAnchors: Set<Data> = []
    /// The parts that the helpers of the manifest lack, such as `link`.
    package var missingOfHelpers: [HelperEntry: [String]] = [:]
    package var record = ManifestRecord()

    package init() {}

    /// The stored password of an entry, also under its former name.
    func password(of entry: SecretEntry) -> StoredPassword? { passwords[key(of: entry)] }

    /// The name under which the password of an entry is stored.
    func key(of entry: SecretEntry) -> PasswordKey {
        guard passwords[entry.key] == nil, let former = entry.formerKey, passwords[former] != nil else {
            return entry.key
        }
        return former
    }

    /// The stored keys of an entry, also under its former name.
    func keys(of entry: KeyEntry) -> [StoredKey] {
        keys[Data(entry.name.utf8)] ?? entry.formerName.flatMap { keys[Data($0.utf8)] } ?? []
    }

    /// The stored identity of an entry, also under its former name.
    func identity(of entry: IdentityEntry) -> StoredIdentity? {
        identity(named: entry.name) ?? entry.formerName.flatMap { identity(named: $0) }
    }

    /// The stored identity of a name.
    func identity(named name: String) -> StoredIdentity? { identities[Data(name.utf8)] }

    /// The stored certificate that an entry trusts; `nil` if there is none yet.
    func certificate(of entry: TrustEntry, _ identities: [IdentityEntry]) -> StoredCertificate? {
        if let own = entry.certificate { return certificates.first { $0.certificate == own } }
        if let identity = identities.first(where: { $0.name == entry.name }).flatMap(identity(of:)) {
            return certificates.first { $0.certificate == identity.certificate }
        }
        return certificate(named: entry.name)
    }

    /// The stored certificate of a name. An identity's certificate has the name of the identity.
    func certificate(named name: String) -> StoredCertificate? {
        certificates.first { $0.name?.isIdentical(to: name) ?? false }
    }
}
