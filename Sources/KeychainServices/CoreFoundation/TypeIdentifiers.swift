import Foundation

/// A class of this module that `CFGetTypeID(_:)` knows.
protocol TypeIdentified: NSObject {
    /// A number that is unique to the class.
    static var typeID: CFTypeID { get }
}

/// Returns the type identifier of an object; 0 for objects of other types.
///
/// Booleans are distinguished from numbers by identity. Only `kCFBooleanTrue` and `kCFBooleanFalse`, which Swift's
/// `true` and `false` bridge to, are booleans.
@discardableResult
public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID {
    guard let object = cf else { return 0 }
    if let object = object as? any TypeIdentified { return type(of: object).typeID }
    if object === kCFBooleanTrue || object === kCFBooleanFalse { return CFBooleanGetTypeID() }
    return switch object {
    case is NSString: CFStringGetTypeID()
    case is NSData: CFDataGetTypeID()
    case is NSNumber: CFNumberGetTypeID()
    case is NSDate: CFDateGetTypeID()
    case is NSDictionary: CFDictionaryGetTypeID()
    case is NSArray: CFArrayGetTypeID()
    case is NSSet: CFSetGetTypeID()
    case is NSNull: CFNullGetTypeID()
    case is NSURL: CFURLGetTypeID()
    case is NSError: CFErrorGetTypeID()
    default: 0
    }
}

/// The number of `CFString`.
@discardableResult
public func CFStringGetTypeID() -> CFTypeID { 7 }
/// The number of `CFNull`.
@discardableResult
public func CFNullGetTypeID() -> CFTypeID { 16 }
/// The number of `CFSet`.
@discardableResult
public func CFSetGetTypeID() -> CFTypeID { 17 }
/// The number of `CFDictionary`.
@discardableResult
public func CFDictionaryGetTypeID() -> CFTypeID { 18 }
/// The number of `CFArray`.
@discardableResult
public func CFArrayGetTypeID() -> CFTypeID { 19 }
/// The number of `CFData`.
@discardableResult
public func CFDataGetTypeID() -> CFTypeID { 20 }
/// The number of `CFBoolean`.
@discardableResult
public func CFBooleanGetTypeID() -> CFTypeID { 21 }
/// The number of `CFNumber`.
@discardableResult
public func CFNumberGetTypeID() -> CFTypeID { 22 }
/// The number of `CFError`.
@discardableResult
public func CFErrorGetTypeID() -> CFTypeID { 27 }
/// The number of `CFURL`.
@discardableResult
public func CFURLGetTypeID() -> CFTypeID { 29 }
/// The number of `CFDate`.
@discardableResult
public func CFDateGetTypeID() -> CFTypeID { 42 }
