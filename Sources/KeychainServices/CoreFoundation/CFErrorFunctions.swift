public import Foundation

/// Creates an error from a domain and a code.
@discardableResult
public func CFErrorCreate(
    _ allocator: CFAllocator!, _ domain: CFErrorDomain!, _ code: CFIndex, _ userInfo: CFDictionary!
) -> CFError! {
    guard let domain else { return nil }
    return NSError(domain: domain as String, code: code, userInfo: userInfo.map { $0 as? [String: Any] ?? [:] })
}

/// Returns the domain; `NSOSStatusErrorDomain` for errors of this module.
@discardableResult
public func CFErrorGetDomain(_ err: CFError!) -> CFErrorDomain! { err.map { NSString(string: $0.domain) } }

/// Returns the code; an `OSStatus` for errors of this module.
@discardableResult
public func CFErrorGetCode(_ err: CFError!) -> CFIndex { err?.code ?? 0 }

/// Returns the user info dictionary.
@discardableResult
public func CFErrorCopyUserInfo(_ err: CFError!) -> CFDictionary! { err.map { NSDictionary(dictionary: $0.userInfo) } }

/// Returns a description for users.
@discardableResult
public func CFErrorCopyDescription(_ err: CFError!) -> CFString! {
    err.map { NSString(string: $0.localizedDescription) }
}

/// Returns the reason for the failure, if it is known.
@discardableResult
public func CFErrorCopyFailureReason(_ err: CFError!) -> CFString! {
    err?.localizedFailureReason.map { NSString(string: $0) }
}

/// Returns a suggestion for recovery, if there is one.
@discardableResult
public func CFErrorCopyRecoverySuggestion(_ err: CFError!) -> CFString! {
    err?.localizedRecoverySuggestion.map { NSString(string: $0) }
}
