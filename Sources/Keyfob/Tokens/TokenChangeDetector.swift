import Foundation
import KeyfobOpenSSL

/// Detects changes to a token's objects and flushes them to disk.
///
/// The index of objects relies on it, because other tools write to tokens too. Implementations must notice every
/// creation, change and removal by any process.
protocol TokenChangeDetector: Sendable {
    /// The state of the token's objects; `nil` if it cannot be determined right now.
    func snapshot() -> TokenSnapshot?

    /// Starts to watch the token; `nil` if changes by other processes cannot be noticed at once.
    func watch() -> (any TokenWatch)?

    /// Waits until the changes to the objects since a state are on the disk.
    ///
    /// Call this before writing anything that depends on them, such as the row of a new object, and before deleting
    /// what is needed to undo them.
    ///
    /// - Parameter before: The state before the changes; `nil` if it is unknown or the token is new, to flush all
    ///   objects.
    /// - Throws: `KeychainError`; `fileUnavailable` if the disk fails.
    func makeDurable(since before: TokenSnapshot?) throws
}

/// Reports whether any process has touched a token since the last question.
protocol TokenWatch: Sendable {
    /// Whether the token was certainly not touched. After `false` the watch may be of no further use; then make a new
    /// one.
    func isUntouched() -> Bool
}

/// The state of a token's objects: the identity and version of each.
///
/// It is taken before and after every change to a token, at the cost of one system call for each object. So it contains
/// only numbers.
struct TokenSnapshot: Sendable, Hashable {
    /// The storage of one object at one moment.
    ///
    /// Contains only 64-bit numbers in sequence, so that the memory has no gaps and can be hashed as it is.
    struct Entry: Sendable, Hashable {
        /// Unique to the object, and constant during its life.
        let identity: UInt64
        /// Four numbers defined by the implementation. At least one of them changes whenever the object changes.
        let version: (Int64, Int64, Int64, Int64)

        static func == (left: Entry, right: Entry) -> Bool {
            left.identity == right.identity && left.version == right.version
        }

        func hash(into hasher: inout Hasher) { hasher.combine(identity) }
    }

    /// The objects, sorted by identity.
    let entries: [Entry]
    /// A digest of the whole state.
    let stamp: Data

    init(_ entries: [Entry]) {
        self.init(sorted: entries.sorted { $0.identity < $1.identity })
    }

    private init(sorted: [Entry]) {
        entries = sorted
        // The leading byte invalidates indexes of earlier versions, which may lack the private objects.
        stamp = Data([2]) + (unsafe sorted.withUnsafeBytes { unsafe Digest.sha256($0) })
    }

    /// Returns this state with some objects replaced, by identity; `nil` means that the object is gone.
    func replacing(_ states: [(identity: UInt64, entry: Entry?)]) -> TokenSnapshot {
        guard !states.isEmpty else { return self }
        var entries = entries
        for (identity, entry) in states {
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].identity < identity { low = middle + 1 } else { high = middle }
            }
            let isThere = low < entries.count && entries[low].identity == identity
            switch (isThere, entry) {
            case (true, let entry?): entries[low] = entry
            case (true, nil): entries.remove(at: low)
            case (false, let entry?): entries.insert(entry, at: low)
            case (false, nil): break
            }
        }
        return TokenSnapshot(sorted: entries)
    }

    /// The objects that were added, changed and removed between two states, by identity.
    func difference(to later: TokenSnapshot) -> (added: [UInt64], changed: [UInt64], removed: [UInt64]) {
        var added: [UInt64] = []
        var changed: [UInt64] = []
        var removed: [UInt64] = []
        var (old, new) = (entries[...], later.entries[...])
        while let before = old.first, let after = new.first {
            if before.identity == after.identity {
                if before.version != after.version { changed.append(after.identity) }
                old.removeFirst()
                new.removeFirst()
            } else if before.identity < after.identity {
                removed.append(before.identity)
                old.removeFirst()
            } else {
                added.append(after.identity)
                new.removeFirst()
            }
        }
        return (added + new.map(\.identity), changed, removed + old.map(\.identity))
    }
}
