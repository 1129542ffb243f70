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
        guard let reference = item.reference, !item.itemClass.livesOnToken else {
            throw KeychainError(.invalidArgument, "the item is not a password that was added.")
        }
        let keys = try keychain.vaultKeys()
        let criteria = try Criteria(reference).normalized()
        let deadline = keychain.deadline
        repeat {
            let found = try keychain.store.read(keys.tree) { try rowsToChange(criteria, $0, keys) }
            guard let one = found.first else {
                throw KeychainError(
                    .itemNotFound, "\"\(item.attributes.title(of: item.itemClass))\" was removed meanwhile.",
                    details: ["keychain": keychain.name])
            }
            guard try openSecret(one.row, item.itemClass) ?? SecretBytes([]) == old else { throw changed(item) }
            let versions = try nextVersions(found, criteria, changes: [:], removing: [], secret: new, keys)
            do { return try keychain.store.write(keys.tree) { try replaceRows(versions, nil, $0, keys) } } catch let
                error
                as KeychainError where error.code == .itemNotFound
            {
                // The row has changed. Perhaps only its attributes did, so the secret is compared again.
                continue
            }
        } while !deadline.hasPassed
        throw changed(item)
    }

    private func changed(_ item: Item) -> KeychainError {
        KeychainError(
            .vaultBusy,
            "\"\(item.attributes.title(of: item.itemClass))\" in keychain \"\(keychain.name)\" was changed by another "
                + "process in the meantime; nothing was stored.", details: ["keychain": keychain.name])
    }
}
