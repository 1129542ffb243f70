import Foundation

extension KeychainIdentities {
    /// Gives an identity another name, and its older versions the names that belong to it.
    ///
    /// A process killed at any instant leaves the identity with one of the two names. The next call finishes the rest.
    ///
    /// - Throws: `KeychainError`; `refused` for an older version, `duplicateItem` if another identity has the name, and
    ///   the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func rename(_ identity: Identity, to name: String) throws {
        guard let former = identity.label, identity.nameOfVersion == nil else {
            throw KeychainError(
                .refused, "an older version has the name of the version in use.",
                details: ["name": identity.label ?? ""])
        }
        guard try keychain.find(.identity(label: name)).isEmpty else {
            throw keychain.vaultRows.duplicate(.identity, [.label: .string(name)])
        }
        // The version in use last, because the others are found through its name.
        let older = try versions(of: former).filter { $0.nameOfVersion == former }
        for version in older + [identity] {
            guard let label = version.label, let reference = version.reference else { continue }
            try keychain.update(Criteria(reference), [.label: .string(name + label.dropFirst(former.count))])
        }
    }

    /// Stores how an identity is renewed.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if it is gone, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func setRenewalPolicy(_ policy: RenewalPolicy, of identity: Identity) throws {
        guard let reference = identity.item.certificateReference else { return }
        let data = try JSONEncoder().encode(policy)
        try keychain.update(Criteria(reference), [.renewalPolicy: .data(data)])
    }
}
