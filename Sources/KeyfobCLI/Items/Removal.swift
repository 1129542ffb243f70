import Keyfob

/// The removal of one named object, and its report.
struct Removal {
    /// The kind of object, such as `certificate`.
    let kind: String
    /// The verb for questions and reports: `Destroy` for objects that cannot be made again.
    var verb = Verb.remove
    /// Whether a missing object is a success.
    let ifExists: Bool
    let global: GlobalOptions
    let output: Output
    /// Additional members of the document if there was nothing to remove, so that all documents have the same members.
    var furtherOfNothing: Members = [:]

    enum Verb: String { case remove, destroy }

    /// Runs a search. With `ifExists`, returns `nil` and reports it if the object is missing.
    func find<Found>(_ name: ItemName, _ search: () throws -> Found) throws -> Found? {
        do { return try search() } catch let error as KeychainError where ifExists && error.code == .itemNotFound {
            try tellOfNothing(name)
            return nil
        }
    }

    /// Removes the items and reports it.
    ///
    /// Missing items are skipped with `ifExists`, or after one was removed, because another process may have removed
    /// them.
    func perform<Item>(
        _ items: [Item], of name: ItemName, label: String, remark: String = "", further: Members = [:],
        _ remove: (Item) throws -> Void
    ) throws {
        var isDone = false
        for item in items {
            do { try remove(item) } catch let error as KeychainError
                where (ifExists || isDone) && error.code == .itemNotFound
            { continue }
            isDone = true
        }
        guard isDone else { return try tellOfNothing(name) }
        let past = verb == .remove ? "Removed" : "Destroyed"
        try output.emit(
            .removal(of: label, Effect(.delete, isDryRun: false), further: further),
            sentence: "\(past) \(kind) \"\(TerminalSafe.text(label))\".\(remark)")
    }

    /// Reports what a dry run would have done.
    func tellOfDryRun(label: String, remark: String = "", further: Members = [:]) throws {
        try output.emit(
            .removal(of: label, Effect(.delete, isDryRun: true), further: further),
            sentence: "Would \(verb.rawValue) \(kind) \"\(TerminalSafe.text(label))\".\(remark)")
    }

    /// Reports that there was nothing to do.
    func tellOfNothing(_ name: ItemName) throws {
        try output.emit(
            .removal(of: name.text, global.effect(.none), further: furtherOfNothing),
            sentence: "Nothing to do: there is no such \(kind).")
    }
}
