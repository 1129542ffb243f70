/// What a keychain and the files of programs hold, as far as a manifest is about it.
package struct KeychainState: Sendable {
    /// Whether the keychain exists.
    package var exists = false
    package var passwords: [PasswordKey: StoredPassword] = [:]
    /// The keys of each name.
    package var keys: [String: [StoredKey]] = [:]
    package var identities: [String: StoredIdentity] = [:]
    package var certificates: [StoredCertificate] = []
    /// The states of the files that the manifest describes, by their paths.
    package var files: [String: FileState] = [:]
    package var record = ManifestRecord()

    package init() {}

    /// The stored certificate of a name. An identity's certificate has the name of the identity.
    func certificate(named name: String) -> StoredCertificate? { certificates.first { $0.name == name } }
}
