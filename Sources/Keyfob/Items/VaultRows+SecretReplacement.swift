import Foundation
package import KeyfobPrimitives

extension VaultRows {
    /// Replaces the secret of a password if it is still the one that the caller read.
    ///
    /// A caller that lets a person edit a secret must not overwrite a change by another process. The comparison and the
    /// version check of the write apply to the same row.
    ///
    /// - Throws: `KeychainError`; `vaultBusy` if the secret has changed, `itemNotFound`, and the errors of `unlock()`.
    ///   Nothing is written then.
    @available(*, noasync, message: "call it from a thread of your own")
    package func replaceSecret(of item: Item, _ old: SecretBytes, with new: SecretBytes) throws {
        try keychain.withDeadline { [self] in
            guard let reference = item.reference, !item.itemClass.livesOnToken else {
                throw KeychainError(.invalidArgument, "the item is not a password that was added.")
            }
            let keys = try keychain.vaultKeys()
            let criteria = try Criteria(reference).normalized()
            let title = item.attributes.title(of: item.itemClass)
            _ = try replacingRows(nil, keys) {
                let found = try keychain.store.read(keys.tree) { try rowsToChange(criteria, $0, keys) }
                guard let one = found.first else {
                    throw KeychainError(
                        .itemNotFound, "\"\(title)\" was removed meanwhile.", details: ["keychain": keychain.name])
                }
                guard try openSecret(one.row, item.itemClass, keys) ?? SecretBytes([]) == old else {
                    throw KeychainError(
                        .vaultBusy,
                        "\"\(title)\" in keychain \"\(keychain.name)\" was changed by another process in the meantime; "
                            + "nothing was stored.", details: ["keychain": keychain.name])
                }
                return try nextVersions(found, criteria, changes: [:], removing: [], secret: new, keys)
            }
        }
    }
}
