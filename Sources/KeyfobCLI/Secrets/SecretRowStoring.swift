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

    /// A password as the rows before would leave it, in a dry run.
    private struct Planned {
        let item: Item
        /// The hash of the value.
        let value: Int
    }

    private let keychain: Keychain
    private let storing: SecretStoring
    private let allowsEmpty: Bool
    private let isDryRun: Bool
    private var batch: [Entry] = []
    private var size = 0
    /// The hashes of the passwords in the batch; in a dry run without `--replace`, of all rows.
    private var known: Set<Int> = []
    /// The names of the passwords in the batch.
    private var names: Set<String> = []
    /// The passwords of all rows by their hashes, in a dry run with `--replace`.
    private var planned: [Int: Planned] = [:]
    /// The hash of the last planned password of a name.
    private var plannedHashes: [String: Int] = [:]
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
        let row = entry.row
        guard !isDryRun else { return try storing.replace ? planReplacement(row) : plan(row) }
        let hash = Self.hash(of: row.item)
        // A replacement can mean a password that another row of the batch adds under the same name.
        if known.contains(hash) || (storing.replace && names.contains(row.name)) { try flush() }
        guard try !exists(row) else { return count(try storeAlone(row).action) }
        known.insert(hash)
        names.insert(row.item.nameText)
        batch.append(entry)
        size += row.value.count
    }

    /// Whether the row describes a password that is stored, or names one that it replaces.
    private func exists(_ row: SecretRow) throws -> Bool {
        if try keychain.stored(like: row.item) != nil { return true }
        return try storing.replace && !row.choice.find(row.name, for: .replacing, in: keychain).isEmpty
    }

    /// Counts what the run without `--replace` does with a row after the rows before it.
    private mutating func plan(_ row: SecretRow) throws {
        if known.insert(Self.hash(of: row.item)).inserted {
            return count(try exists(row) ? storeAlone(row).action : .create)
        }
        guard storing.ifMissing else {
            throw KeychainError(
                .duplicateItem, "an earlier row has the same name and account.",
                remedies: [Remedy("Replace it", .change(.replacing)), Remedy("Keep it", .change(.keeping))])
        }
        count(.none)
    }

    /// Counts what the run with `--replace` does with a row after the rows before it.
    private mutating func planReplacement(_ row: SecretRow) throws {
        let value = Self.hash(of: row.value)
        guard let earlier = plannedPassword(for: row) else {
            var (action, item) = (Effect.Action.create, row.item)
            if try exists(row) { (action, item) = try storeAlone(row) }
            count(action)
            return remember(Planned(item: item, value: value))
        }
        let options = options(of: row)
        count(earlier.value == value && options.describes(earlier.item) ? .none : .update)
        remember(Planned(item: options.described(earlier.item), value: value))
    }

    /// The planned password that a row replaces.
    private func plannedPassword(for row: SecretRow) -> Planned? {
        if let same = planned[Self.hash(of: row.item)] { return same }
        guard let named = plannedHashes[row.name].flatMap({ planned[$0] }),
            named.item.itemClass == row.item.itemClass, row.choice.fits(named.item)
        else { return nil }
        return named
    }

    private mutating func remember(_ password: Planned) {
        let hash = Self.hash(of: password.item)
        planned[hash] = password
        plannedHashes[password.item.nameText] = hash
    }

    /// Stores one row as `keyfob set` does.
    private func storeAlone(_ row: SecretRow) throws -> (action: Effect.Action, item: Item) {
        try options(of: row).store(row.item, called: row.name, as: row.choice, in: keychain, isDryRun: isDryRun) {
            row.value
        }
    }

    /// The options with which `keyfob set` stores a row.
    private func options(of row: SecretRow) -> SecretStoring {
        var options = storing
        (options.label, options.comment) = (row.label, row.comment)
        return options
    }

    /// Adds the passwords of the batch in one transaction.
    private mutating func flush() throws {
        let entries = batch
        (batch, size) = ([], 0)
        guard !entries.isEmpty else { return }
        (known, names) = ([], [])
        do {
            try keychain.requireSealing()
            try keychain.vaultRows.addRows(entries.map { ($0.row.item, $0.row.value) })
            count(.create, entries.count)
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another process has added one of them.
            for entry in entries {
                do { count(try storeAlone(entry.row).action) } catch {
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

    /// A hash of a value. Hashes differ from process to process, so that they reveal nothing.
    private static func hash(of value: SecretBytes) -> Int {
        var hasher = Hasher()
        unsafe value.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    // MARK: Errors

    /// The most characters of a name in an error.
    private static let shownCharacters = 200

    /// The error of a row, with its position and what was stored before.
    private func failure(_ error: any Error, _ number: Int, _ line: Int, _ name: String?) -> KeychainError {
        let usage = error as? UsageError
        let known = error as? KeychainError
            ?? KeychainError(
                usage == nil ? .failed : .unsupportedFormat, usage?.message ?? String(describing: error),
                remedies: usage?.hint.map { [Remedy($0)] } ?? [], cause: error)
        let short = name.map { $0.count > Self.shownCharacters ? String($0.prefix(Self.shownCharacters)) + "…" : $0 }
        var message = known.message
        if let name, let short, short != name {
            message = message.replacing(TerminalSafe.text(name), with: TerminalSafe.text(short))
        }
        let shown = short.map { ", \"\(TerminalSafe.text($0))\"" } ?? ""
        var details = known.details.merging(["line": String(line), "row": String(number), "stored": String(count)]) {
            $1
        }
        details["name"] = short
        return KeychainError(
            known.code, "row \(number) (line \(line)\(shown)): \(message)\(stored)",
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
