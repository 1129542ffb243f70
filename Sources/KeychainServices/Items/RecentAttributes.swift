import Foundation
import Keyfob
import KeyfobPrimitives

/// A cache of attribute dictionaries that were recently returned.
///
/// A program that shows or uses an item requests it repeatedly. The vault is read each time, but building the
/// dictionary costs half as much as the search. The dictionary depends only on the class and attributes, which are part
/// of the cache entry, so an entry is never out of date. The cache holds only what the process has already received,
/// without data and token objects.
enum RecentAttributes {
    /// A dictionary and the values it was built from.
    // Unchecked because NSDictionary is not Sendable. Result dictionaries and their members are never changed.
    private struct Entry: @unchecked Sendable {
        let itemClass: ItemClass
        let attributes: ItemAttributes
        let dictionary: NSDictionary
    }

    /// Small, because few items are requested repeatedly and the memory is never released.
    private static let capacity = 16
    private static let entries = Lock([Entry?](repeating: nil, count: capacity))

    /// Returns the cached dictionary of an item; `nil` if there is none.
    static func dictionary(of item: Item) -> NSDictionary? {
        guard let place = place(of: item), let kept = entries.withLock({ $0[place] }),
            kept.itemClass == item.itemClass, kept.attributes == item.attributes
        else { return nil }
        return kept.dictionary
    }

    /// Caches the dictionary of an item that has a reference.
    ///
    /// Large dictionaries and those with attributes that are returned only with the data are not cached.
    static func keep(_ dictionary: NSDictionary, of item: Item) {
        guard let place = place(of: item), item.attributes.encoded.count <= 4096 else { return }
        if item.itemClass == .internetPassword, ItemResults.withData.contains(where: { item.attributes[$0] != nil }) {
            return
        }
        let entry = Entry(itemClass: item.itemClass, attributes: item.attributes, dictionary: dictionary)
        entries.withLock { $0[place] = entry }
    }

    private static func place(of item: Item) -> Int? {
        guard let identity = item.reference?.identity, let last = identity.indices.last else { return nil }
        return Int(identity[last]) % capacity
    }
}
