import Foundation
import PKCS11

/// Objects that are several items, each with a label.
extension Keychain {
    /// Calls objects after one of the items they still are, where they are called after one that they are no more.
    ///
    /// Other programs would go on seeing the name of a removed item.
    func callAfterItems(_ objects: [TokenObject], _ keys: VaultKeys) throws {
        for object in objects {
            guard let itemClass = object.itemClass else { continue }
            var namesake: (row: SealedRow, label: Data)?
            var affected: [TokenObject] = []
            var planned: [TokenPlan.Object] = []
            try writer(keys).perform(.change) { objects in
                let rows = try store.read(keys.tree) { try labelledRows(object, keys, $0) }
                guard let first = rows.first, rows.allSatisfy({ $0.attributes[.hasOwnLabel] != nil }),
                    let now = objects.first(where: { $0.isSame(as: object) })
                else { return nil }
                let label = first.attributes[.label]?.labelBytes ?? Data()
                namesake = (first.row, label)
                affected = try [now] + Self.publicHalves(of: [now], objects).filter { try self.rows($0, keys).isEmpty }
                planned = affected.map { TokenPlan.Object($0, newLabel: label, among: objects) }
                return TokenPlan(kind: .relabel, objects: planned)
            } change: { session, _ in
                try relabel(zip(affected, planned).map { ($0, $1, namesake?.label ?? Data()) }, in: session)
            } commit: { writer, _ in
                guard var row = namesake?.row else { return }
                try row.relabel(itemClass, of: object, keys) { .object($0[.label]) }
                try writer.update(row)
            }
        }
    }

    /// The rows of an object and what they say; those that are damaged say nothing.
    func labelledRows(
        _ object: TokenObject, _ keys: VaultKeys, _ reader: any StoreReader
    ) throws -> [(row: SealedRow, attributes: ItemAttributes)] {
        try rows(object, keys, reader).compactMap { row in
            do { return (row, try keys.openAttributes(row).1) } catch {
                try passOver(row, error, keys)
                return nil
            }
        }
    }

    /// Gives objects labels, under a plan that says so.
    func relabel(
        _ objects: [(object: TokenObject, planned: TokenPlan.Object, label: Data)], in session: borrowing Session
    ) throws -> TokenWriter.Outcome {
        var outcome = TokenWriter.Outcome()
        for (object, planned, label) in objects
        where !outcome.changed.contains(where: { $0.before.isCopy(of: object) }) {
            for handle in try token.handles(ofAll: object, in: session) {
                try token.setLabel(label, of: handle, isCopied: planned.isCopied == true, in: session)
                var after = object
                after.label = TokenObject.label(reading: label)
                outcome.changed.append((object, after))
            }
        }
        return outcome
    }
}
