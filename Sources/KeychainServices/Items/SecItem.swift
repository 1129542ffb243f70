public import Foundation

// Any thread may call these functions at any time. They block: for a vault transaction if they change something, and
// for one token operation if they read or write a secret.

/// Adds an item; `SecItemAdd` of SecItem.h.
///
/// Nothing is stored if the call fails.
///
/// - Parameters:
///   - attributes: The class, the attributes, and `kSecValueData` or `kSecValueRef`.
///   - result: Receives what the `kSecReturn…` keys request, if any is true; `nil` to receive nothing.
/// - Returns: `errSecSuccess`; `errSecDuplicateItem` if the primary key of the class is taken, `errSecParam`,
///   `errSecNoSuchAttr`, `errSecNoSuchClass`, `errSecMissingEntitlement`, `errSecInteractionNotAllowed` if the keychain
///   is locked, and other keychain errors.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    unsafe storing(result) { try ItemOperations.current().add(attributes) }
}

/// Finds items; `SecItemCopyMatching` of SecItem.h.
///
/// - Parameters:
///   - query: The class or a reference, attributes, filters, and the kinds of results.
///   - result: Receives one result, or an array if `kSecMatchLimit` is above one; it is left unchanged if nothing is
///     found.
/// - Returns: `errSecSuccess`; `errSecItemNotFound` if nothing matches, `errSecParam`, `errSecNoSuchAttr`,
///   `errSecNoSuchClass`, `errSecMissingEntitlement`, `errSecInteractionNotAllowed` if the keychain is locked, and
///   other keychain errors.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    unsafe storing(result) { try ItemOperations.current().copyMatching(query) }
}

/// Changes every item that matches, all or none; `SecItemUpdate` of SecItem.h.
///
/// Nothing is changed if the call fails, with two exceptions. With `kSecMatchItemList`, items before the one that
/// failed stay changed. If the token fails between several objects of an item, the first may have changed. That change
/// is undone at once, or by the next command that changes the token or unlocks the keychain.
///
/// - Parameters:
///   - query: The class or a reference, and attributes; with `kSecMatchItemList` those of its items that match, one
///     after the other. It reaches the same items as that of `SecItemDelete`.
///   - attributesToUpdate: New attributes, and the new `kSecValueData`.
/// - Returns: `errSecSuccess`; `errSecItemNotFound`, `errSecDuplicateItem` if a new primary key is taken,
///   `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass`, `errSecMissingEntitlement`, `errSecInteractionNotAllowed`
///   if the keychain is locked, and other keychain errors.
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

/// The result of a call.
enum CallResult {
    /// Leaves the caller's pointer unchanged.
    case nothing
    /// Stores a value in the caller's pointer.
    case value(AnyObject?)
}

/// Runs a call, stores its result, and returns its status.
private func storing(_ result: UnsafeMutablePointer<CFTypeRef?>?, _ call: () throws -> CallResult) -> OSStatus {
    do {
        if case .value(let value) = try call() { unsafe result?.pointee = value }
        return errSecSuccess
    } catch { return OSStatus(error) }
}
