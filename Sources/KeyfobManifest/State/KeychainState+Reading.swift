import Foundation
package import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

extension KeychainState {
    /// The state if the keychain does not exist yet.
    ///
    /// - Throws: `ManifestError` if a file that the manifest describes cannot be written, or one to import cannot be
    ///   read; `KeychainError` of a source.
    package init(withoutKeychain manifest: Manifest, _ sources: SecretSources) throws {
        try readImports(manifest, sources)
        readSystemTrust(manifest)
        for output in manifest.outputs { files[output.path] = try output.state(comparedWith: nil) }
    }

    /// Reads the state of a keychain, each class of items at once.
    ///
    /// Only a secret whose value the manifest takes from a source, or writes to a file, is opened. Each takes one
    /// operation of the token.
    ///
    /// - Throws: `KeychainError` of the keychain or of a source; `ManifestError` if a file cannot be written.
    package init(of manifest: Manifest, in keychain: Keychain, _ sources: SecretSources) throws {
        exists = true
        record = try ManifestRecord(of: keychain)
        try readPasswords(manifest, keychain, sources)
        try readToken(manifest, keychain)
        try readImports(manifest, sources)
        readSystemTrust(manifest)
        try readFiles(manifest, keychain)
    }

    private mutating func readPasswords(
        _ manifest: Manifest, _ keychain: Keychain, _ sources: SecretSources
    ) throws {
        guard !manifest.secrets.isEmpty || manifest.prunes && !record.secrets.isEmpty else { return }
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            var criteria = Criteria(itemClass)
            criteria.includesSynchronizable = true
            for item in try keychain.findItems(criteria) {
                let key = PasswordKey(item)
                guard passwords.updateValue(StoredPassword(item), forKey: key) != nil else { continue }
                ambiguousPasswords.insert(key)
            }
        }
        for entry in manifest.secrets {
            let key = key(of: entry)
            guard let stored = passwords[key], let source = entry.source, !entry.keepsStoredValue else { continue }
            let wanted = try sources.value(of: entry, from: source)
            // A value that cannot be read, such as a damaged one, is replaced.
            passwords[key]?.isSame = (try? keychain.secret(of: stored.item)) == wanted
        }
    }

    private mutating func readToken(_ manifest: Manifest, _ keychain: Keychain) throws {
        let usesCertificates =
            !manifest.identities.isEmpty || !manifest.certificates.isEmpty
            || !manifest.trust.isEmpty || manifest.prunes
        guard usesCertificates || !manifest.keys.isEmpty else { return }
        let found = try keychain.find(.certificates)
        let certified = Set(found.compactMap { $0.attributes[.publicKeyHash]?.bytes })
        for key in try keychain.find(.keys) where key.keyClass != .public {
            guard let name = key.label else { continue }
            let hasCertificate = key.publicKeyHash.map { certified.contains($0) } ?? false
            keys[Data(name.utf8), default: []].append(
                StoredKey(key, kind: StoredKey.kind(of: key), hasCertificate: hasCertificate))
        }
        guard usesCertificates else { return }
        for identity in try keychain.find(.identities) where identity.nameOfVersion == nil {
            guard let name = identity.label, self.identity(named: name) == nil else { continue }
            identities[Data(name.utf8)] = StoredIdentity(
                identity, certificate: try identity.certificate(), policy: identity.renewalPolicy,
                renewalDate: try keychain.identities.renewalDate(of: identity))
        }
        let anchors = Dictionary(try keychain.trust.anchors().map { ($0.certificate.der, $0.usages) }) { first, _ in
            first
        }
        for item in found {
            // An object that is not a certificate is not part of any manifest.
            guard let certificate = try? item.certificate() else { continue }
            certificates.append(
                StoredCertificate(item, certificate: certificate, usages: anchors[certificate.der] ?? []))
        }
    }

    private mutating func readImports(_ manifest: Manifest, _ sources: SecretSources) throws {
        for entry in manifest.identities {
            guard let source = entry.source else { continue }
            imports[entry.name] = try ImportedIdentity(source, sources)
        }
    }

    private mutating func readSystemTrust(_ manifest: Manifest) {
        for entry in manifest.trust where entry.isForSystem {
            guard let certificate = entry.certificate ?? certificate(of: entry, manifest.identities)?.certificate,
                SystemTrustStore.contains(certificate)
            else { continue }
            systemAnchors.insert(certificate.der)
        }
    }

    private mutating func readFiles(_ manifest: Manifest, _ keychain: Keychain) throws {
        let contents = OutputContents(of: keychain, certificates: certificates.map(\.certificate))
        for entry in manifest.identities {
            for output in entry.outputs {
                let bytes = try identity(of: entry).map { try contents.bytes(output.content, of: $0.item) }
                files[output.path] = try output.state(comparedWith: bytes)
            }
        }
        for entry in manifest.secrets where !entry.outputs.isEmpty {
            let value = try password(of: entry).flatMap { try keychain.secret(of: $0.item) }
            for output in entry.outputs { files[output.path] = try output.state(comparedWith: value) }
        }
    }
}
