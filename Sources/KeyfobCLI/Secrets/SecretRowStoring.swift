import Foundation
import Keyfob
import KeyfobPrimitives

/// Stores the rows of `keyfob set --from-json`. New passwords are added in batches, each in one transaction.
///
/// Every row has the result that `keyfob set` would have for it, one after the other. The first row that is refused
/// ends the command; the rows before it are stored.
struct SecretRowStoring {
    /// The number of passwords in a transaction.
    private static let batchSize = 500
    /// The size of the values in a transaction, in bytes.
    private static let batchBytes = 4 << 20

    private struct Entry {
        let row: SecretRow
        let number: Int
        let line: Int
    }

    private let keychain: Keychain
    private let storing: SecretStoring
    private let allowsEmpty: Bool
    private let isDryRun: Bool
    private var batch: [Entry] = []
    private var size = 0
    /// The hashes of the passwords in the batch; in a dry run, of all that would be added.
    private var known: Set<Int> = []
    private var number = 0
    private var counts: [Effect.Action: Int] = [:]

    /// - Parameters:
    ///   - keychain: The keychain.
    ///   - storing: The options for passwords that exist.
    ///   - allowsEmpty: Whether a value may be empty.
    ///   - isDryRun: Whether to store nothing.
    init(in keychain: Keychain, _ storing: SecretStoring, allowsEmpty: Bool, isDryRun: Bool) {
        self.keychain = keychain
        self.storing = storing
        self.allowsEmpty = allowsEmpty
        self.isDryRun = isDryRun
    }

    /// The number of rows that were stored or needed no change.
    var count: Int { counts.values.reduce(0, +) }

    /// The action: `create` if a password is new.
    var action: Effect.Action {
        counts[.create] != nil ? .create : counts[.update] != nil ? .update : Effect.Action.none
    }

    /// The members of the result.
    var members: Members {
        [
            "keychain": keychain.name, "row_count": count, "created_count": counts[.create] ?? 0,
            "updated_count": counts[.update] ?? 0, "unchanged_count": counts[.none] ?? 0,
        ]
    }

    /// The result in one sentence.
    var sentence: String {
        func grouped(_ action: Effect.Action) -> String { Plural.grouped(counts[action] ?? 0) }
        return "\(isDryRun ? "Would store" : "Stored") \(Plural.counted(count, "row")) in \"\(keychain.name)\": "
            + "\(grouped(.create)) new, \(grouped(.update)) replaced, \(grouped(.none)) unchanged."
    }

    /// Stores all rows.
    ///
    /// - Parameters:
    ///   - stream: The rows.
    ///   - progress: Called after each transaction with the number of rows.
    /// - Throws: `KeychainError` of the first row that is refused, with its line and its name.
    mutating func store(_ stream: consuming JSONObjectStream, progress: (Int) -> Void) throws {
        while let object = try next(&stream) {
            number += 1
            let content = JSONSecretObject(object.text)
            do {
                let row = try SecretRow(content, allowsEmpty: allowsEmpty)
                try add(Entry(row: row, number: number, line: object.line))
            } catch {
                try flush()
                throw failure(error, number, object.line, SecretRow.name(in: content))
            }
            if batch.count >= Self.batchSize || size >= Self.batchBytes {
                try flush()
                progress(count)
            }
        }
        try flush()
    }

    private mutating func next(_ stream: inout JSONObjectStream) throws -> JSONObjectStream.Object? {
        do { return try stream.next() } catch {
            try flush()
            throw error.replacing(message: error.message + stored, remedies: error.remedies + remedies)
        }
    }

    private mutating func add(_ entry: Entry) throws {
        let (row, hash) = (entry.row, Self.hash(of: entry.row.item))
        if known.contains(hash) {
            guard !isDryRun else { return try repeated(row) }
            try flush()
        }
        guard try keychain.stored(like: row.item) == nil else { return try storeAlone(row) }
        known.insert(hash)
        guard !isDryRun else { return count(.create) }
        batch.append(entry)
        size += row.value.count
    }

    /// Counts a row whose password an earlier row of a dry run would add.
    private mutating func repeated(_ row: SecretRow) throws {
        guard storing.replace || storing.ifMissing else {
            throw KeychainError(
                .duplicateItem, "an earlier row has the same name and account.",
                remedies: [Remedy("Replace it", .change(.replacing)), Remedy("Keep it", .change(.keeping))])
        }
        count(storing.replace ? .update : .none)
    }

    /// Stores one row as `keyfob set` does.
    private mutating func storeAlone(_ row: SecretRow) throws {
        var storing = storing
        (storing.label, storing.comment) = (row.label, row.comment)
        count(try storing.store(row.item, called: row.name, in: keychain, isDryRun: isDryRun) { row.value }.action)
    }

    /// Adds the passwords of the batch in one transaction.
    private mutating func flush() throws {
        let entries = batch
        (batch, size) = ([], 0)
        guard !isDryRun, !entries.isEmpty else { return }
        known = []
        do {
            try keychain.requireSealing()
            try keychain.vaultRows.addRows(entries.map { ($0.row.item, $0.row.value) })
            count(.create, entries.count)
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another process has added one of them.
            for entry in entries {
                do { try storeAlone(entry.row) } catch {
                    throw failure(error, entry.number, entry.line, entry.row.name)
                }
            }
        } catch {
            throw failure(error, entries[0].number, entries[0].line, entries[0].row.name)
        }
    }

    private mutating func count(_ action: Effect.Action, _ number: Int = 1) { counts[action, default: 0] += number }

    /// A hash of the attributes that identify a password.
    private static func hash(of item: Item) -> Int {
        var hasher = Hasher()
        hasher.combine(item.itemClass)
        let names: [AttributeName] = [.service, .server, .account, .path, .protocol, .port]
        for name in names {
            hasher.combine(item.text(name).utf8.count)
            for byte in item.text(name).utf8 { hasher.combine(byte) }
        }
        return hasher.finalize()
    }

    // MARK: Errors

    /// The error of a row, with its position and what was stored before.
    private func failure(_ error: any Error, _ number: Int, _ line: Int, _ name: String?) -> KeychainError {
        let usage = error as? UsageError
        let known = error as? KeychainError
            ?? KeychainError(
                usage == nil ? .failed : .unsupportedFormat, usage?.message ?? String(describing: error),
                remedies: usage?.hint.map { [Remedy($0)] } ?? [], cause: error)
        let shown = name.map { ", \"\(TerminalSafe.text($0))\"" } ?? ""
        var details = known.details.merging(["line": String(line), "row": String(number), "stored": String(count)]) {
            $1
        }
        details["name"] = name
        return KeychainError(
            known.code, "row \(number) (line \(line)\(shown)): \(known.message)\(stored)",
            remedies: known.remedies + remedies, details: details, cause: known.cause)
    }

    private var stored: String {
        guard !isDryRun else { return "" }
        return switch count {
        case 0: " Nothing was stored."
        case 1: " The row before it is stored."
        default: " The \(Plural.grouped(count)) rows before it are stored."
        }
    }

    private var remedies: [Remedy] {
        guard !isDryRun, count > 0, !storing.replace, !storing.ifMissing else { return [] }
        return ["Correct it, and run the command again with --if-missing, which leaves out what is stored."]
    }
}
