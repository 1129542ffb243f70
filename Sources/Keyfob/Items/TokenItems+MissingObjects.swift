import Foundation
import KeyfobPrimitives
import PKCS11

/// Items whose object another program has removed from the token.
extension TokenItems {
    /// A row of the vault for an object that is no longer on the token.
    struct MissingObject {
        let rowID: Int64
        let itemClass: ItemClass
        /// The name in messages: the label of its row or of another object with the same id; otherwise that id.
        var name: String
        /// Whether the token has objects that could not be read, so that a later read may show this one.
        var mayBeUnread = false

        /// The finding of a keychain check.
        ///
        /// - Parameter files: The directory of the token's files, if Keyfob made the token.
        fileprivate func finding(on token: String, files: String?) -> VaultFinding {
            let kind = itemClass == .certificate ? "certificate" : "key"
            // A key that was generated on the token cannot be restored in any other way.
            let restoring = files.map { "restore the token's files from a backup (\($0)), " } ?? ""
            let advice = mayBeUnread
                ? "look again, for not all that is there could be read"
                : "\(restoring)import it again, or forget it by accepting the items as they are"
            return VaultFinding(
                .objectAbsent, "\(kind) \(name) is not on token \"\(token)\" any more: \(advice)", itemClass: itemClass)
        }
    }

    /// The findings of a keychain check for items whose object is gone.
    ///
    /// - Throws: `KeychainError`; the errors of reading the token and the vault.
    func missingObjectFindings(_ keys: VaultKeys) throws -> [VaultFinding] {
        let missing = try missingObjects(keys)
        guard !missing.isEmpty else { return [] }
        let files = keychain.token.softHSM.map { softHSM in
            (softHSM.directory(serial: keychain.token.uri.serial, label: keychain.token.label)
                ?? softHSM.tokensDirectory).filePath
        }
        return missing.map { $0.finding(on: keychain.token.label, files: files) }
    }

    /// The items whose object is gone, checked while no other process changes the keychain.
    ///
    /// Empty if this cannot be determined: while a change is unfinished, or without a login that shows the whole token.
    func missingObjects(_ keys: VaultKeys) throws -> [MissingObject] {
        let found = try lookForMissingObjects(keys)
        guard !found.isEmpty else { return [] }
        // Rows and objects are not read atomically: another process may have been adding or removing an item.
        do {
            return try keychain.writer(keys).lock.withLock(until: keychain.deadline) { try lookForMissingObjects(keys) }
        } catch let error as KeychainError where [.vaultBusy, .timedOut].contains(error.code) {
            return []
        } catch let error as KeychainError where error.code == .refused {
            // A process with read access only cannot take the lock.
            return found
        }
    }

    private func lookForMissingObjects(_ keys: VaultKeys) throws -> [MissingObject] {
        guard try keychain.store.read(keys.tree, { try $0.unfinishedRows() }).isEmpty else { return [] }
        let listing = try keychain.token.readObjects()
        guard try listing.isWhole || !keychain.wantsLogin() else { return [] }
        let rows = try recordedObjects(keys)
        let recorded = Set(rows.map(\.fingerprint))
        let present = Set(listing.objects.map(\.fingerprint))
        // The fingerprint of a private key may have changed when its public half was lost; the key is still there. A
        // private key with a different public half is another key, or that half is damaged.
        let strangers = listing.objects.filter { object in
            ![.publicKey, .certificate].contains(object.objectClass) && object.publicKeyInfo == nil
                && !recorded.contains(object.fingerprint)
        }
        return rows.filter { row in
            !present.contains(row.fingerprint)
                && !strangers.contains { $0.itemClass == row.missing.itemClass && $0.id == row.id }
        }.map { row in
            var missing = row.missing
            // Accepting the loss of an unread object would discard its trust settings.
            missing.mayBeUnread = listing.unexplained > 0
            guard missing.name.isEmpty, let id = row.id else { return missing }
            // The label is lost with the object; the other parts of an identity usually have the same one.
            let label = listing.objects.lazy.filter { $0.id == id }.compactMap { $0.label?.text }.first
            missing.name = label.map { "\"\($0)\"" } ?? "with id \(id.hexadecimal)"
            return missing
        }
    }

    /// The current rows of token objects.
    private func recordedObjects(_ keys: VaultKeys) throws -> [(missing: MissingObject, fingerprint: Data, id: Data?)] {
        var rows: [(missing: MissingObject, fingerprint: Data, id: Data?)] = []
        try keychain.store.read(keys.tree) { reader in
            for itemClass in [ItemClass.certificate, .key] {
                try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [], withSecrets: false) { row in
                    // Other rows and damaged ones are separate findings.
                    guard case .current = row.recordStatus, let (_, attributes) = try? keys.openAttributes(row),
                        let fingerprint = attributes[.objectFingerprint]?.bytes
                    else { return true }
                    let missing = MissingObject(
                        rowID: row.id, itemClass: itemClass,
                        name: attributes[.label]?.text.map { "\"\($0)\"" } ?? "")
                    rows.append((missing, fingerprint, attributes[.objectID]?.bytes))
                    return true
                }
            }
        }
        return rows
    }
}
