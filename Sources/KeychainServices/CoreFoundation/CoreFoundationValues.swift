public import Foundation

// Functions for building dictionaries and for reading numbers through pointers.

/// A range of members; `CFRange`.
public struct CFRange: Hashable, Sendable {
    /// The index of the first member.
    public var location: CFIndex
    /// The number of members.
    public var length: CFIndex

    /// Creates an empty range at index 0.
    public init() { (location, length) = (0, 0) }
    /// Creates a range.
    public init(location: CFIndex, length: CFIndex) { (self.location, self.length) = (location, length) }
}

/// Creates a range.
@discardableResult
public func CFRangeMake(_ loc: CFIndex, _ len: CFIndex) -> CFRange { CFRange(location: loc, length: len) }

/// Copies bytes. Copies nothing if the range is not within the data.
public func CFDataGetBytes(_ theData: CFData!, _ range: CFRange, _ buffer: UnsafeMutablePointer<UInt8>!) {
    guard let data = theData, let buffer = unsafe buffer, range.location >= 0, range.length >= 0,
        range.location <= data.length, range.length <= data.length - range.location
    else { return }
    unsafe data.getBytes(buffer, range: NSRange(location: range.location, length: range.length))
}

/// The type of a number in memory; `CFNumberType`.
public enum CFNumberType: CFIndex, Sendable {
    /// Eight bits.
    case sInt8Type = 1
    /// Sixteen bits.
    case sInt16Type = 2
    /// Thirty-two bits.
    case sInt32Type = 3
    /// Sixty-four bits.
    case sInt64Type = 4
    /// A `Float`.
    case float32Type = 5
    /// A `Double`.
    case float64Type = 6
    /// C's char.
    case charType = 7
    /// C's short.
    case shortType = 8
    /// C's int.
    case intType = 9
    /// C's long.
    case longType = 10
    /// C's long long.
    case longLongType = 11
    /// C's float.
    case floatType = 12
    /// C's double.
    case doubleType = 13
    /// A `CFIndex`.
    case cfIndexType = 14
    /// An `Int`.
    case nsIntegerType = 15
    /// A `Double`, as on every machine of 64 bits.
    case cgFloatType = 16
}

/// Stores a number in memory. A number that does not fit is truncated.
///
/// - Returns: Whether the number fits; `false` if the number or the pointer is `nil`.
@discardableResult
public func CFNumberGetValue(
    _ number: CFNumber!, _ theType: CFNumberType, _ valuePtr: UnsafeMutableRawPointer!
) -> Bool {
    guard let number, let place = unsafe valuePtr else { return false }
    func store<Integer: FixedWidthInteger & BitwiseCopyable>(_ type: Integer.Type) -> Bool {
        unsafe place.storeBytes(of: Integer(truncatingIfNeeded: number.int64Value), as: type)
        return Integer(exactly: number.int64Value) != nil && number.doubleValue == Double(number.int64Value)
    }
    switch theType {
    case .sInt8Type, .charType: return store(Int8.self)
    case .sInt16Type, .shortType: return store(Int16.self)
    case .sInt32Type, .intType: return store(Int32.self)
    case .sInt64Type, .longType, .longLongType, .cfIndexType, .nsIntegerType: return store(Int64.self)
    case .float32Type, .floatType:
        unsafe place.storeBytes(of: number.floatValue, as: Float.self)
        return Double(number.floatValue) == number.doubleValue
    case .float64Type, .doubleType, .cgFloatType:
        unsafe place.storeBytes(of: number.doubleValue, as: Double.self)
        return true
    }
}

/// How a dictionary treats its keys; it always retains them as objects.
public struct CFDictionaryKeyCallBacks: Sendable {
    /// Creates the callbacks.
    public init() {}
}

/// How a dictionary treats its values; it always retains them as objects.
public struct CFDictionaryValueCallBacks: Sendable {
    /// Creates the callbacks.
    public init() {}
}

/// Keys are objects.
public let kCFTypeDictionaryKeyCallBacks = CFDictionaryKeyCallBacks()
/// Keys are objects, and strings are copied.
public let kCFCopyStringDictionaryKeyCallBacks = CFDictionaryKeyCallBacks()
/// Values are objects.
public let kCFTypeDictionaryValueCallBacks = CFDictionaryValueCallBacks()

/// Creates an empty mutable dictionary.
///
/// - Parameters:
///   - allocator: Ignored.
///   - capacity: Ignored.
///   - keyCallBacks: Ignored: keys are retained.
///   - valueCallBacks: Ignored: values are retained.
@discardableResult
public func CFDictionaryCreateMutable(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ keyCallBacks: UnsafePointer<CFDictionaryKeyCallBacks>!,
    _ valueCallBacks: UnsafePointer<CFDictionaryValueCallBacks>!
) -> CFMutableDictionary! {
    NSMutableDictionary()
}

/// Sets the value of a key. Both are pointers to objects, as `Unmanaged.toOpaque()` returns them, and are retained.
public func CFDictionarySetValue(
    _ theDict: CFMutableDictionary!, _ key: UnsafeRawPointer!, _ value: UnsafeRawPointer!
) {
    guard let key = unsafe key, let value = unsafe value else { return }
    let object = unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue()
    guard let name = object as? NSObject else { return }
    theDict?.setObject(unsafe Unmanaged<AnyObject>.fromOpaque(value).takeUnretainedValue(), forKey: name)
}

/// Sets the value of a key unless it has one. Both are pointers to objects, which are retained.
public func CFDictionaryAddValue(
    _ theDict: CFMutableDictionary!, _ key: UnsafeRawPointer!, _ value: UnsafeRawPointer!
) {
    guard let key = unsafe key else { return }
    let object = unsafe Unmanaged<AnyObject>.fromOpaque(key).takeUnretainedValue()
    guard theDict?.object(forKey: object) == nil else { return }
    unsafe CFDictionarySetValue(theDict, key, value)
}

/// Creates a number from a value in memory; `nil` if the pointer is `nil`.
@discardableResult
public func CFNumberCreate(
    _ allocator: CFAllocator!, _ theType: CFNumberType, _ valuePtr: UnsafeRawPointer!
) -> CFNumber! {
    guard let place = unsafe valuePtr else { return nil }
    switch theType {
    case .sInt8Type, .charType: return NSNumber(value: unsafe place.loadUnaligned(as: Int8.self))
    case .sInt16Type, .shortType: return NSNumber(value: unsafe place.loadUnaligned(as: Int16.self))
    case .sInt32Type, .intType: return NSNumber(value: unsafe place.loadUnaligned(as: Int32.self))
    case .sInt64Type, .longType, .longLongType, .cfIndexType, .nsIntegerType:
        return NSNumber(value: unsafe place.loadUnaligned(as: Int64.self))
    case .float32Type, .floatType: return NSNumber(value: unsafe place.loadUnaligned(as: Float.self))
    case .float64Type, .doubleType, .cgFloatType: return NSNumber(value: unsafe place.loadUnaligned(as: Double.self))
    }
}

/// Returns the current time in seconds since 2001-01-01T00:00:00Z.
@discardableResult
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }

/// Creates a date from seconds since 2001-01-01T00:00:00Z.
@discardableResult
public func CFDateCreate(_ allocator: CFAllocator!, _ at: CFAbsoluteTime) -> CFDate! {
    NSDate(timeIntervalSinceReferenceDate: at)
}

/// Returns a date in seconds since 2001-01-01T00:00:00Z; 0 for `nil`.
@discardableResult
public func CFDateGetAbsoluteTime(_ theDate: CFDate!) -> CFAbsoluteTime { theDate?.timeIntervalSinceReferenceDate ?? 0 }

/// Creates empty mutable data.
///
/// - Parameters:
///   - allocator: Ignored.
///   - capacity: Ignored.
@discardableResult
public func CFDataCreateMutable(_ allocator: CFAllocator!, _ capacity: CFIndex) -> CFMutableData! { NSMutableData() }

/// Appends bytes; does nothing if the length is not positive or the pointer is `nil`.
public func CFDataAppendBytes(_ theData: CFMutableData!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) {
    guard length > 0, let bytes = unsafe bytes else { return }
    unsafe theData?.append(bytes, length: length)
}

/// Creates a mutable copy of a dictionary; `nil` for `nil`.
///
/// - Parameters:
///   - allocator: Ignored.
///   - capacity: Ignored.
///   - theDict: The dictionary to copy.
@discardableResult
public func CFDictionaryCreateMutableCopy(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ theDict: CFDictionary!
) -> CFMutableDictionary! {
    theDict.flatMap { $0.mutableCopy() as? NSMutableDictionary }
}
