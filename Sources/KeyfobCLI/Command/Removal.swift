import Keyfob

/// The removal of items that other processes may remove as well.
enum Removal {
    /// Removes items one by one. What is gone already is passed over once one is removed, and with `ifExists` always:
    /// another process may have been faster.
    ///
    /// - Returns: Whether any was removed.
    static func oneByOne<Item>(_ items: [Item], ifExists: Bool, _ remove: (Item) throws -> Void) throws -> Bool {
        var isDone = false
        for item in items {
            do { try remove(item) } catch let error as KeychainError
                where (ifExists || isDone) && error.code == .itemNotFound
            { continue }
            isDone = true
        }
        return isDone
    }
}
