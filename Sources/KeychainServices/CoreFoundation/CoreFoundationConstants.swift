public import Foundation

/// An allocator; always `nil`, because the Swift runtime allocates all objects.
// Sendable because it has no state.
public final class CFAllocator: NSObject, @unchecked Sendable {}

/// The default allocator.
public let kCFAllocatorDefault: CFAllocator! = nil

// `true as AnyObject` and `false as AnyObject` give one instance each, distinct from the numbers 1 and 0. This identity
// is the only difference between a truth value and a number.

/// True; identical to `true as CFBoolean`.
public let kCFBooleanTrue: CFBoolean! = true as NSNumber
/// False; identical to `false as CFBoolean`.
public let kCFBooleanFalse: CFBoolean! = false as NSNumber

/// The null object.
public let kCFNull: CFNull! = NSNull()

/// No error; the older name of `errSecSuccess`.
public let noErr: OSStatus = 0

/// The domain of errors whose code is an `OSStatus`; `NSOSStatusErrorDomain` as a CFErrorDomain.
@safe nonisolated(unsafe) public let kCFErrorDomainOSStatus: CFErrorDomain! = NSString(string: NSOSStatusErrorDomain)
/// The domain of errors whose code is an `errno`.
@safe nonisolated(unsafe) public let kCFErrorDomainPOSIX: CFErrorDomain! = NSString(string: NSPOSIXErrorDomain)
/// The domain of Foundation's errors.
@safe nonisolated(unsafe) public let kCFErrorDomainCocoa: CFErrorDomain! = NSString(string: NSCocoaErrorDomain)

/// The key of the description for users.
@safe nonisolated(unsafe) public let kCFErrorLocalizedDescriptionKey: CFString! =
    NSString(string: NSLocalizedDescriptionKey)
/// The key of the reason for a failure.
@safe nonisolated(unsafe) public let kCFErrorLocalizedFailureReasonKey: CFString! =
    NSString(string: NSLocalizedFailureReasonErrorKey)
/// The key of the suggestion for recovery.
@safe nonisolated(unsafe) public let kCFErrorLocalizedRecoverySuggestionKey: CFString! =
    NSString(string: NSLocalizedRecoverySuggestionErrorKey)
/// The key of the description for developers.
@safe nonisolated(unsafe) public let kCFErrorDescriptionKey: CFString! = "NSDescription"
/// The key of the error below an error.
@safe nonisolated(unsafe) public let kCFErrorUnderlyingErrorKey: CFString! = NSString(string: NSUnderlyingErrorKey)
