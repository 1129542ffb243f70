// Code written for Apple's Security sees Data, Date and the bridging of String without importing more.
@_exported public import Foundation

// `as` bridges Swift's values to Foundation's classes on Linux too, at compile time and at run time. An alias
// therefore gives every coercion that Core Foundation's toll-free bridging gives on Apple's platforms, which a
// class of our own could not.

/// A result code; `OSStatus` of MacTypes.h. The codes that are used here begin with `errSec`.
public typealias OSStatus = Int32
/// Any Core Foundation object.
public typealias CFTypeRef = AnyObject
/// The number of a Core Foundation type; `CFGetTypeID(_:)`.
public typealias CFTypeID = UInt
/// A count or an index.
public typealias CFIndex = Int
/// A set of flags.
public typealias CFOptionFlags = UInt
/// Seconds since 2001-01-01T00:00:00Z.
public typealias CFAbsoluteTime = Double
/// Seconds between two moments.
public typealias CFTimeInterval = Double
/// Text.
public typealias CFString = NSString
/// Bytes.
public typealias CFData = NSData
/// Bytes that can change.
public typealias CFMutableData = NSMutableData
/// A moment.
public typealias CFDate = NSDate
/// A number.
public typealias CFNumber = NSNumber
/// A truth value. It shares its class with numbers; `CFGetTypeID(_:)` tells them apart by identity.
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
/// A dictionary that can change.
public typealias CFMutableDictionary = NSMutableDictionary
/// An error.
public typealias CFError = NSError
/// The domain of an error.
public typealias CFErrorDomain = NSString
