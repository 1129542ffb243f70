public import Foundation
import KeyfobPrimitives

// The functions that give out a pointer to a member of a collection. Core Foundation's collections own what they
// hold. Foundation on Linux makes strings, data, numbers and collections anew at each access, so that such a pointer
// would have no owner: those are kept here until the collection is gone.

/// A member of an array, as a pointer to an object that lives as long as the array; `nil` outside of it.
///
/// What Foundation makes anew for the call is released at a later call of these functions.
@discardableResult
public func CFArrayGetValueAtIndex(_ theArray: CFArray!, _ idx: CFIndex) -> UnsafeRawPointer! {
    guard let array = theArray, (0..<array.count).contains(idx) else { return nil }
    return unsafe KeptMembers.pointer(at: NSNumber(value: idx), of: array) { array.object(at: idx) as AnyObject }
}

/// The value of a key, as a pointer to an object that lives as long as the dictionary; `nil` where there is none.
///
/// What Foundation makes anew for the call is released at a later call of these functions.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: The pointer of an object, as `Unmanaged.toOpaque()` gives it.
@discardableResult
public func CFDictionaryGetValue(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> UnsafeRawPointer! {
    guard let dictionary = theDict, let key = unsafe key,
        let name = unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue() as? NSObject
    else { return nil }
    return unsafe KeptMembers.pointer(at: name, of: dictionary) { dictionary.object(forKey: name) as AnyObject? }
}

/// Stores the value of a key, as `CFDictionaryGetValue` gives it.
///
/// - Parameters:
///   - theDict: The dictionary.
///   - key: The pointer of an object.
///   - value: Takes the pointer; it stays as it is where there is no value.
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
///   - key: The pointer of an object.
@discardableResult
public func CFDictionaryContainsKey(_ theDict: CFDictionary!, _ key: UnsafeRawPointer!) -> Bool {
    guard let dictionary = theDict, let key = unsafe key else { return false }
    return dictionary.object(forKey: unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue()) != nil
}

/// Members that pointers were given out to, and that their collections do not own.
private enum KeptMembers {
    // Reached under the lock alone or as a copy of one call's own. What it holds, Foundation made for the calls here.
    private struct Entry: @unchecked Sendable {
        weak var collection: NSObject?
        /// By index or key, the latest last: a pointer stays good where a mutable collection changes.
        var members: [NSObject: [AnyObject]] = [:]
    }

    private static let entries = Lock<[ObjectIdentifier: Entry]>([:])

    /// A pointer to a member that lives at least as long as `collection`; `nil` where there is none.
    static func pointer(at place: NSObject, of collection: NSObject, _ member: () -> AnyObject?) -> UnsafeRawPointer? {
        guard let object = member(), let again = member() else { return nil }
        // The same object twice is the collection's own.
        guard object !== again else { return unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()) }
        let identifier = ObjectIdentifier(collection)
        // Objects of anybody's classes: compared and released outside of the lock.
        if let entry = entries.withLock({ $0[identifier] }), entry.collection === collection,
            let known = entry.members[place]?.last, CFEqual(known, object)
        {
            return unsafe UnsafeRawPointer(Unmanaged.passUnretained(known).toOpaque())
        }
        // Both stay in this thread, but for the lock's table.
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
