public import Foundation

// The four functions of SecItem.h. Any thread may call them at any time. They block: for a transaction of the vault
// where something is changed, and for one operation of the token where a secret is read or written.

/// Adds an item; `SecItemAdd` of SecItem.h.
///
/// - Parameters:
///   - attributes: The class, the attributes, and `kSecValueData` or `kSecValueRef`.
///   - result: Receives what the `kSecReturn…` keys ask for, if any is true; `nil` for a caller who wants nothing.
/// - Returns: `errSecSuccess`; `errSecDuplicateItem` where the primary key of the class is taken, `errSecParam`,
///   `errSecNoSuchAttr`, `errSecNoSuchClass`, `errSecMissingEntitlement`, `errSecInteractionNotAllowed` where the
///   keychain is locked, and others of the keychain. Nothing is stored then.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    unsafe storing(result) { try ItemOperations.current().add(attributes) }
}

/// Finds items; `SecItemCopyMatching` of SecItem.h.
///
/// - Parameters:
///   - query: The class or a reference, attributes, filters, and what is to be returned.
///   - result: Receives one result, or an array of them if `kSecMatchLimit` asks for more than one; it is left alone
///     where nothing is found.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` where nothing matches, and as for `SecItemAdd`.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    unsafe storing(result) { try ItemOperations.current().copyMatching(query) }
}

/// Changes every item that matches, all or none; `SecItemUpdate` of SecItem.h.
///
/// - Parameters:
///   - query: The class or a reference, and attributes; with `kSecMatchItemList` those of its items that match, one
///     after the other. It reaches the same items as that of `SecItemDelete`.
///   - attributesToUpdate: New attributes, and the new `kSecValueData`.
/// - Returns: `errSecSuccess`; `errSecItemNotFound`, `errSecDuplicateItem` where a new primary key is taken, and as
///   for `SecItemAdd`. Nothing is changed then, but for those of a list that come before the one that failed. A token
///   that fails amid several objects of an item may have changed the first; that is taken back at once, or where the
///   token fails in that too, by the next command that changes it or unlocks the keychain.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    storing(nil) {
        try ItemOperations.current().update(query, attributesToUpdate)
        return .nothing
    }
}

/// Removes every item that matches; `SecItemDelete` of SecItem.h.
///
/// - Parameter query: The class or a reference, and attributes; with `kSecMatchItemList` those of its items that match.
///   A class alone removes all its items that are not synchronizable; of those without an access group the ones that
///   this program stored, as for every query that names neither an item nor that group.
/// - Returns: `errSecSuccess`; `errSecItemNotFound`, and as for `SecItemAdd`. Nothing is removed then, but for those of
///   a list that come before the one that failed. Where the token fails amid several objects of an item, the first may
///   be gone: the next command that changes the token or unlocks the keychain removes the rest.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    storing(nil) {
        try ItemOperations.current().delete(query)
        return .nothing
    }
}

/// What a call gives back.
enum CallResult {
    /// The caller's pointer is left alone.
    case nothing
    /// It receives this.
    case value(AnyObject?)
}

/// Runs a call, stores what it gives back, and says how it went.
private func storing(_ result: UnsafeMutablePointer<CFTypeRef?>?, _ call: () throws -> CallResult) -> OSStatus {
    do {
        if case .value(let value) = try call() { unsafe result?.pointee = value }
        return errSecSuccess
    } catch { return OSStatus(error) }
}
