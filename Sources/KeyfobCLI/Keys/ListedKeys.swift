import Foundation
import Keyfob
import KeyfobPrimitives

/// The names under which keys are listed.
///
/// On its token a key keeps the label that it was made under. Of an identity that was renewed with a new key the former
/// key therefore bears the name there, and the one in use the name and a day. Whoever wants the one in use looks for
/// the name, as among identities and certificates.
struct ListedKeys {
    /// The names of the identities that a key is part of, those in use first, by the hash of its public half.
    private var names: [Data: [(stem: String, name: String)]] = [:]

    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    init(in keychain: Keychain) throws {
        let identities = try keychain.find(.identities)
        let ordered = identities.filter { $0.nameOfVersion == nil } + identities.filter { $0.nameOfVersion != nil }
        for identity in ordered {
            guard let hash = identity.key.publicKeyHash, let name = identity.label else { continue }
            names[hash, default: []].append((identity.nameOfVersion ?? name, name))
        }
    }

    /// A key under the name of the identity whose version it was made for; one that is called otherwise keeps its name.
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
