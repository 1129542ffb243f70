import Foundation
import KeyfobPrimitives
import PKCS11

/// Items whose object another program has removed from the token.
extension Keychain {
    /// A row of the vault that describes an object which is on the token no more.
    struct MissingObject {
        let rowID: Int64
        let itemClass: ItemClass
        /// As messages call it: by the label of its row, or of what has the same id; else by that id.
        var name: String
        /// Whether the token has objects that could not be read, and of which the next look may show this one.
        var mayBeUnread = false

        /// What a check of the keychain says of it.
        ///
        /// - Parameter files: The directory of the token's files, where the token is one of ours.
        fileprivate func finding(on token: String, files: String?) -> VaultFinding {
            let kind = itemClass == .certificate ? "certificate" : "key"
            // Of a key that was made on the token there is nothing else to bring it back.
            let restoring = files.map { "restore the token's files from a backup (\($0)), " } ?? ""
            let advice = mayBeUnread
                ? "look again, for not all that is there could be read"
                : "\(restoring)import it again, or forget it by accepting the items as they are"
            return VaultFinding(
                .objectAbsent, "\(kind) \(name) is not on token \"\(token)\" any more: \(advice)", itemClass: itemClass)
        }
    }

    /// What a check of the keychain says of the items whose object is gone. - Throws: As `missingObjects(_:)`.
    func missingObjectFindings(_ keys: VaultKeys) throws -> [VaultFinding] {
        let missing = try missingObjects(keys)
        guard !missing.isEmpty else { return [] }
        let files = token.softHSM.map { softHSM in
            (softHSM.directory(serial: token.uri.serial, label: token.label) ?? softHSM.tokensDirectory).filePath
        }
        return missing.map { $0.finding(on: token.label, files: files) }
    }

    /// The items whose object is gone, with nobody in the middle of a change.
    ///
    /// Empty where that cannot be told: while a change is unfinished, or by who does not see all of the token.
    func missingObjects(_ keys: VaultKeys) throws -> [MissingObject] {
        let found = try lookForMissingObjects(keys)
        guard !found.isEmpty else { return [] }
        // Rows and objects are not read in one step: somebody may have been adding or removing an item.
        do { return try writer(keys).lock.withLock(until: deadline) { try lookForMissingObjects(keys) } } catch
            let error as KeychainError where [.vaultBusy, .timedOut].contains(error.code)
        {
            return []
        } catch let error as KeychainError where error.code == .refused {
            // Who may only read has nobody to wait for.
            return found
        }
    }

    private func lookForMissingObjects(_ keys: VaultKeys) throws -> [MissingObject] {
        guard try store.read(keys.tree, { try $0.unfinishedRows() }).isEmpty else { return [] }
        let listing = try token.readObjects()
        guard try listing.isWhole || !wantsLogin() else { return [] }
        let rows = try recordedObjects(keys)
        let recorded = Set(rows.map(\.fingerprint))
        let present = Set(listing.objects.map(\.fingerprint))
        // A private key that has lost its public half may have another fingerprint now. It is there all the same. One
        // that has another public half is another key, or that half was damaged.
        let strangers = listing.objects.filter { object in
            ![.publicKey, .certificate].contains(object.objectClass) && object.publicKeyInfo == nil
                && !recorded.contains(object.fingerprint)
        }
        return rows.filter { row in
            !present.contains(row.fingerprint)
                && !strangers.contains { $0.itemClass == row.missing.itemClass && $0.id == row.id }
        }.map { row in
            var missing = row.missing
            // By accepting that it is gone, its trust would be forgotten.
            missing.mayBeUnread = listing.unexplained > 0
            guard missing.name.isEmpty, let id = row.id else { return missing }
            // The label went with the object, and the other parts of an identity mostly have the same.
            let label = listing.objects.lazy.filter { $0.id == id }.compactMap { $0.label?.text }.first
            missing.name = label.map { "\"\($0)\"" } ?? "with id \(id.hexadecimal)"
            return missing
        }
    }

    /// The rows of objects that are what was written last.
    private func recordedObjects(_ keys: VaultKeys) throws -> [(missing: MissingObject, fingerprint: Data, id: Data?)] {
        var rows: [(missing: MissingObject, fingerprint: Data, id: Data?)] = []
        try store.read(keys.tree) { reader in
            for itemClass in [ItemClass.certificate, .key] {
                try reader.forEachRow(classDigest: keys.digest(of: itemClass), terms: [], withSecrets: false) { row in
                    // Others, and damaged ones, are findings of their own.
                    guard case .current = row.standing, let (_, attributes) = try? keys.openAttributes(row),
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
