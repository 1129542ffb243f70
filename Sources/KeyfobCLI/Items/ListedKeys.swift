import Foundation
import Keyfob
import KeyfobPrimitives

/// The names under which keys are listed.
///
/// A key keeps its original label on the token. After an identity was renewed with a new key, the former key still has
/// the identity's name there, and the current key has the name with a date. Lists show the current key under the
/// identity's name, as for identities and certificates.
struct ListedKeys {
    /// The names of the identities that use a key, current versions first, by the hash of the public key.
    private var names: [Data: [(stem: String, name: String)]] = [:]

    /// Reads the identities of the keychain.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be unlocked or the token cannot be read.
    init(in keychain: Keychain) throws {
        let identities = try keychain.find(.identities)
        let ordered = identities.filter { $0.nameOfVersion == nil } + identities.filter { $0.nameOfVersion != nil }
        for identity in ordered {
            guard let hash = identity.key.publicKeyHash, let name = identity.label else { continue }
            names[hash, default: []].append((identity.nameOfVersion ?? name, name))
        }
    }

    /// Returns the key under the name of the identity version that it was made for. Other keys keep their names.
    func named(_ key: KeyItem) -> KeyItem {
        guard let label = key.label, let hash = key.publicKeyHash, let names = names[hash],
            !names.contains(where: { $0.name.isIdentical(to: label) })
        else { return key }
        let stem = key.nameOfVersion ?? label
        guard let name = names.first(where: { $0.stem.isIdentical(to: stem) })?.name else { return key }
        var named = key
        named.label = name
        return named
    }
}
