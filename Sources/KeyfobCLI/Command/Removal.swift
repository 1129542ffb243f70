import Keyfob

/// The removal of one thing that its name means, and how a command tells of it.
struct Removal {
    /// What is removed: `certificate`.
    let kind: String
    /// What a person had to say for it: `Remove` or, for what cannot be made again, `Destroy`.
    var verb = Verb.remove
    /// Whether it is well if there is nothing to remove.
    let ifExists: Bool
    let global: GlobalOptions
    let output: Output
    /// What the document says besides where there is nothing to remove: what is read by a program has the same members
    /// whatever became of it.
    var furtherOfNothing: [Value.Member] = []

    enum Verb: String { case remove, destroy }

    /// Looks something up; `nil` for what is not there, of which it has told, where that is well.
    func find<Found>(_ name: ItemName, _ search: () throws -> Found) throws -> Found? {
        do { return try search() } catch let error as KeychainError where ifExists && error.code == .itemNotFound {
            try tellOfNothing(name)
            return nil
        }
    }

    /// Removes items one by one and tells of it. What is gone already is passed over once one is removed, and with
    /// `ifExists` always: another process may have been faster.
    func perform<Item>(
        _ items: [Item], of name: ItemName, label: String, remark: String = "", further: [Value.Member] = [],
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
            .removal(of: label, isDone: true, further: further),
            sentence: "\(past) \(kind) \"\(Visible.text(label))\".\(remark)")
    }

    /// Tells what a dry run would have done.
    func tellOfDryRun(label: String, remark: String = "", further: [Value.Member] = []) throws {
        try output.emit(
            .removal(of: label, isDone: false, isDryRun: true, further: further),
            sentence: "Would \(verb.rawValue) \(kind) \"\(Visible.text(label))\".\(remark)")
    }

    /// Tells that there is nothing to do.
    func tellOfNothing(_ name: ItemName) throws {
        try output.emit(
            .removal(of: name.text, isDone: false, isDryRun: global.dryRun, further: furtherOfNothing),
            sentence: "Nothing to do: there is no such \(kind).")
    }
}
