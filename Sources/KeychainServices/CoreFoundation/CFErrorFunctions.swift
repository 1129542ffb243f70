public import Foundation

/// An error of a domain and a code.
@discardableResult
public func CFErrorCreate(
    _ allocator: CFAllocator!, _ domain: CFErrorDomain!, _ code: CFIndex, _ userInfo: CFDictionary!
) -> CFError! {
    guard let domain else { return nil }
    return NSError(domain: domain as String, code: code, userInfo: userInfo.map { $0 as? [String: Any] ?? [:] })
}

/// The domain; `NSOSStatusErrorDomain` for what this module reports.
@discardableResult
public func CFErrorGetDomain(_ err: CFError!) -> CFErrorDomain! { err.map { NSString(string: $0.domain) } }

/// The code; an `OSStatus` for what this module reports.
@discardableResult
public func CFErrorGetCode(_ err: CFError!) -> CFIndex { err?.code ?? 0 }

/// The members.
@discardableResult
public func CFErrorCopyUserInfo(_ err: CFError!) -> CFDictionary! { err.map { NSDictionary(dictionary: $0.userInfo) } }

/// What happened, for people.
@discardableResult
public func CFErrorCopyDescription(_ err: CFError!) -> CFString! {
    err.map { NSString(string: $0.localizedDescription) }
}

/// Why it happened, where that is known.
@discardableResult
public func CFErrorCopyFailureReason(_ err: CFError!) -> CFString! {
    err?.localizedFailureReason.map { NSString(string: $0) }
}

/// What to do about it, where that is known.
@discardableResult
public func CFErrorCopyRecoverySuggestion(_ err: CFError!) -> CFString! {
    err?.localizedRecoverySuggestion.map { NSString(string: $0) }
}
