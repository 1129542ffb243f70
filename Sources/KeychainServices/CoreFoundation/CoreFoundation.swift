// Code written for Apple's Security framework sees Data, Date and the bridging of String without another import.
@_exported public import Foundation

// `as` bridges Swift values to Foundation classes on Linux too, at compile time and at run time. An alias therefore
// supports every coercion of toll-free bridging, which a class of our own could not.

/// A result code; `OSStatus` of MacTypes.h. The names of the codes in use begin with `errSec`.
public typealias OSStatus = Int32
/// Any Core Foundation object.
public typealias CFTypeRef = AnyObject
/// The identifier of a Core Foundation type; see `CFGetTypeID(_:)`.
public typealias CFTypeID = UInt
/// A count or an index.
public typealias CFIndex = Int
/// A set of flags.
public typealias CFOptionFlags = UInt
/// Seconds since 2001-01-01T00:00:00Z.
public typealias CFAbsoluteTime = Double
/// A duration in seconds.
public typealias CFTimeInterval = Double
/// Text.
public typealias CFString = NSString
/// Bytes.
public typealias CFData = NSData
/// Mutable bytes.
public typealias CFMutableData = NSMutableData
/// A point in time.
public typealias CFDate = NSDate
/// A number.
public typealias CFNumber = NSNumber
/// A truth value. It shares its class with numbers; `CFGetTypeID(_:)` distinguishes them by identity.
public typealias CFBoolean = NSNumber
/// The null object.
public typealias CFNull = NSNull
/// A URL.
public typealias CFURL = NSURL
/// An array.
public typealias CFArray = NSArray
/// A set.
public typealias CFSet = NSSet
/// A dictionary.
public typealias CFDictionary = NSDictionary
/// A mutable dictionary.
public typealias CFMutableDictionary = NSMutableDictionary
/// An error.
public typealias CFError = NSError
/// The domain of an error.
public typealias CFErrorDomain = NSString
