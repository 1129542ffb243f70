import Foundation
import KeyfobOpenSSL

/// Tells whether any object of a token has changed since a moment, and has the change survive a power cut.
///
/// What makes the index of objects trustworthy: other tools write to tokens too. Implementations must
/// notice every creation, change and removal by any process.
protocol TokenChangeDetector: Sendable {
    /// The state of the token's objects, or `nil` where it cannot be told just now.
    func snapshot() -> TokenSnapshot?

    /// Watches the token from now on; `nil` where nobody can tell at once what others do to it.
    func watch() -> (any TokenWatch)?

    /// Waits until what became of the objects since a state is on the disk. To be called before anything is written
    /// that counts on it, such as the row of a new object, or that forgets how to undo it.
    ///
    /// - Parameter before: `nil` where the state could not be told, or the token itself is new: for all that it is.
    /// - Throws: `KeychainError`; `fileUnavailable` where the disk fails.
    func makeDurable(since before: TokenSnapshot?) throws
}

/// Tells whether anything of a token was touched, by whatever process, since it was asked last.
protocol TokenWatch: Sendable {
    /// Whether certainly nothing was. After `false` the question may have no answer any more: then another watch is
    /// needed.
    func isUntouched() -> Bool
}

/// The state of a token's objects: for each what identifies it, and its version.
///
/// Taken before and after every change to a token, at the cost of one system call for each object: so there is
/// nothing in it but numbers.
struct TokenSnapshot: Sendable, Hashable {
    /// One object's storage at one moment.
    ///
    /// Plain 64-bit numbers one after the other, so that the memory has no gaps and can be digested as it is.
    struct Entry: Sendable, Hashable {
        /// The same while the object lives, and different from every other's.
        let identity: UInt64
        /// Four numbers of the implementation's; one of them changes whenever the object does.
        let version: (Int64, Int64, Int64, Int64)

        static func == (left: Entry, right: Entry) -> Bool {
            left.identity == right.identity && left.version == right.version
        }

        func hash(into hasher: inout Hasher) { hasher.combine(identity) }
    }

    /// The objects, by identity.
    let entries: [Entry]
    /// A digest of the whole state.
    let stamp: Data

    init(_ entries: [Entry]) {
        self.init(sorted: entries.sorted { $0.identity < $1.identity })
    }

    private init(sorted: [Entry]) {
        entries = sorted
        // Indexes of earlier versions may lack the private objects, and are made anew for it.
        stamp = Data([2]) + (unsafe sorted.withUnsafeBytes { unsafe Digest.sha256($0) })
    }

    /// The state in which some objects, by identity, are as said; `nil` for one that is gone.
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
