package import Foundation
import KeyfobOpenSSL

/// The state of a token's objects: the identity and version of each.
///
/// It is taken before and after every change to a token, at the cost of one system call for each object. So it contains
/// only numbers.
package struct TokenSnapshot: Sendable, Hashable {
    /// The storage of one object at one moment.
    ///
    /// Contains only 64-bit numbers in sequence, so that the memory has no gaps and can be hashed as it is.
    package struct Entry: Sendable, Hashable {
        /// Unique to the object, and constant during its life.
        package let identity: UInt64
        /// Four numbers defined by the implementation. At least one of them changes whenever the object changes.
        package let version: (Int64, Int64, Int64, Int64)

        package static func == (left: Entry, right: Entry) -> Bool {
            left.identity == right.identity && left.version == right.version
        }

        package func hash(into hasher: inout Hasher) { hasher.combine(identity) }
    }

    /// The objects, sorted by identity.
    package let entries: [Entry]
    /// A digest of the whole state.
    package let stamp: Data

    package init(_ entries: [Entry]) {
        self.init(sorted: entries.sorted { $0.identity < $1.identity })
    }

    private init(sorted: [Entry]) {
        entries = sorted
        // The leading byte invalidates indexes of earlier versions, which may lack the private objects.
        stamp = Data([2]) + (unsafe sorted.withUnsafeBytes { unsafe Digest.sha256($0) })
    }

    /// Returns this state with some objects replaced, by identity; `nil` means that the object is gone.
    package func replacing(_ states: [(identity: UInt64, entry: Entry?)]) -> TokenSnapshot {
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
    package func difference(to later: TokenSnapshot) -> (added: [UInt64], changed: [UInt64], removed: [UInt64]) {
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
