import Foundation
import Keyfob
import KeyfobPrimitives

/// The dictionaries of attributes that were given out lately, for who asks for the same item again.
///
/// A program that shows or uses an item asks for it time and again, and the vault is read each time; what the found
/// item looks like in Core Foundation's types depends on nothing but its class and its attributes, and to make it of
/// them costs as much as half of the search. An item that was changed has other attributes, so that nothing here is
/// ever out of date. What is kept, the process was given before: no data and no objects of a token.
enum RecentAttributes {
    /// One dictionary, and what it was made of.
    private struct Entry: @unchecked Sendable {
        let itemClass: ItemClass
        let attributes: ItemAttributes
        // Unchecked for this: no dictionary of results is ever changed, nor what is in it.
        let dictionary: NSDictionary
    }

    /// Few items are asked for again and again; and these are memory that nobody asked for.
    private static let capacity = 16
    private static let entries = Lock([Entry?](repeating: nil, count: capacity))

    /// The dictionary of an item; `nil` where it is not there.
    static func dictionary(of item: Item) -> NSDictionary? {
        guard let place = place(of: item), let kept = entries.withLock({ $0[place] }),
            kept.itemClass == item.itemClass, kept.attributes == item.attributes
        else { return nil }
        return kept.dictionary
    }

    /// Keeps the dictionary of an item that has a reference: nothing that is given out only with the data, and nothing
    /// large.
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
