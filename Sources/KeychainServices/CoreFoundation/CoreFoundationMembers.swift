public import Foundation
import KeyfobPrimitives

// Functions that return a pointer to a member of a collection. Core Foundation's collections own their members.
// Foundation on Linux creates strings, data, numbers and collections anew at each access, so such a pointer would have
// no owner. Those objects are retained here until the collection is gone.

/// Returns a pointer to a member of an array, which lives as long as the array; `nil` if the index is out of range.
///
/// Objects that Foundation creates for the call are released in a later call of these functions.
@discardableResult
public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! {
    guard let array = theArray, (0..<array.count).contains(idx) else { return nil }
    return unsafe KeptMembers.pointer(at: NSNumber(value: idx), of: array) { array.object(at: idx) as AnyObject }
}

/// Returns a pointer to the value of a key, which lives as long as the dictionary; `nil` if there is none.
///
/// Objects that Foundation creates for the call are released in a later call of these functions.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: The pointer to an object, as `Unmanaged.toOpaque()` returns it.
@discardableResult
public func CFDictionaryGetValue(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> UnsafeRawPointer! {
    guard let dictionary = theDict, let key = unsafe key,
        let name = unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue() as? NSObject
    else { return nil }
    return unsafe KeptMembers.pointer(at: name, of: dictionary) { dictionary.object(forKey: name) as AnyObject? }
}

/// Stores a pointer to the value of a key, as `CFDictionaryGetValue` returns it.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: The pointer to an object.
///   - value: Receives the pointer; left unchanged if there is no value.
/// - Returns: Whether there is a value.
@discardableResult
public func CFDictionaryGetValueIfPresent(
    _ theDict: CFDictionary!, _ key: UnsafeRawPointer!, _ value: UnsafeMutablePointer<UnsafeRawPointer?>!
) -> Bool {
    guard let found = unsafe CFDictionaryGetValue(theDict, key) else { return false }
    if let value = unsafe value { unsafe value.pointee = found }
    return true
}

/// Whether a dictionary has a key.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: The pointer to an object.
@discardableResult
public func CFDictionaryContainsKey(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> Bool {
    guard let dictionary = theDict, let key = unsafe key else { return false }
    return dictionary.object(forKey: unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue()) != nil
}

/// Members that callers have pointers to and that their collections do not own.
private enum KeptMembers {
    // Accessed under the lock or as a copy that one call owns. The members were created by Foundation for these calls.
    private struct Entry: @unchecked Sendable {
        weak var collection: NSObject?
        /// By index or key, with the latest last: pointers stay valid after a mutable collection has changed.
        var members: [NSObject: [AnyObject]] = [:]
    }

    private static let entries = Lock<[ObjectIdentifier: Entry]>([:])

    /// Returns a pointer to a member that lives at least as long as `collection`; `nil` if there is none.
    static func pointer(at place: NSObject, of collection: NSObject, _ member: () -> AnyObject?) -> UnsafeRawPointer? {
        guard let object = member(), let again = member() else { return nil }
        // If both accesses return the same object, the collection owns it.
        guard object !== again else { return unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()) }
        let identifier = ObjectIdentifier(collection)
        // Compared and released outside the lock, because the objects may run code of other classes.
        if let entry = entries.withLock({ $0[identifier] }), entry.collection === collection,
            let known = entry.members[place]?.last, CFEqual(known, object)
        {
            return unsafe UnsafeRawPointer(Unmanaged.passUnretained(known).toOpaque())
        }
        // The objects stay in this thread, except in the table under the lock.
        nonisolated(unsafe) let (kept, owner, key) = (object, collection, place)
        let orphans = entries.withLock { entries in
            let orphans = entries.filter { $0.value.collection == nil }
            for identifier in orphans.keys { entries[identifier] = nil }
            unsafe entries[identifier, default: Entry(collection: owner)].members[key, default: []].append(kept)
            return orphans
        }
        withExtendedLifetime(orphans) {}
        return unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }
}
