public import Foundation

/// Makes objects; only ever `nil`, since every object here is made by Swift's runtime.
// Without state: nothing that threads could share.
public final class CFAllocator: NSObject, @unchecked Sendable {}

/// The usual allocator.
public let kCFAllocatorDefault: CFAllocator! = nil

// The one instance of each truth value is what `true as AnyObject` gives; numbers that equal 1 or 0 are others. Only so
// can a truth value be told from a number.

/// True; the same instance as `true as CFBoolean`.
public let kCFBooleanTrue: CFBoolean! = true as NSNumber
/// False; the same instance as `false as CFBoolean`.
public let kCFBooleanFalse: CFBoolean! = false as NSNumber

/// The null object.
public let kCFNull: CFNull! = NSNull()

/// No error; `errSecSuccess` by its older name.
public let noErr: OSStatus = 0

/// The domain of errors whose code is an `OSStatus`; `NSOSStatusErrorDomain` as a CFErrorDomain.
@safe nonisolated(unsafe) public let kCFErrorDomainOSStatus: CFErrorDomain! = NSString(string: NSOSStatusErrorDomain)
/// The domain of errors whose code is an `errno`.
@safe nonisolated(unsafe) public let kCFErrorDomainPOSIX: CFErrorDomain! = NSString(string: NSPOSIXErrorDomain)
/// The domain of Foundation's errors.
@safe nonisolated(unsafe) public let kCFErrorDomainCocoa: CFErrorDomain! = NSString(string: NSCocoaErrorDomain)

/// The key of an error's description for people.
@safe nonisolated(unsafe) public let kCFErrorLocalizedDescriptionKey: CFString! =
    NSString(string: NSLocalizedDescriptionKey)
/// The key of the reason of a failure.
@safe nonisolated(unsafe) public let kCFErrorLocalizedFailureReasonKey: CFString! =
    NSString(string: NSLocalizedFailureReasonErrorKey)
/// The key of an advice what to do about an error.
@safe nonisolated(unsafe) public let kCFErrorLocalizedRecoverySuggestionKey: CFString! =
    NSString(string: NSLocalizedRecoverySuggestionErrorKey)
/// The key of words for developers.
@safe nonisolated(unsafe) public let kCFErrorDescriptionKey: CFString! = "NSDescription"
/// The key of the error below an error.
@safe nonisolated(unsafe) public let kCFErrorUnderlyingErrorKey: CFString! = NSString(string: NSUnderlyingErrorKey)
