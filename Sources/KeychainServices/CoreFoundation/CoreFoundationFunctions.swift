public import Foundation

// The functions of Core Foundation that code around a keychain calls.

/// A hash; `CFHashCode`.
public typealias CFHashCode = UInt

/// Whether two objects are equal. `nil` equals nothing but `nil`.
@discardableResult
public func CFEqual(_ cf1: CFTypeRef!, _ cf2: CFTypeRef!) -> Bool {
    guard let first = cf1, let second = cf2 else { return cf1 == nil && cf2 == nil }
    if first === second { return true }
    // A truth value equals no number, though they share a class.
    guard CFGetTypeID(first) == CFGetTypeID(second), let object = first as? NSObject else { return false }
    return object.isEqual(second)
}

/// A hash that equal objects share.
@discardableResult
public func CFHash(_ cf: CFTypeRef!) -> CFHashCode {
    let hash =
        switch cf {
        // Foundation on Linux ends the process where one of these two is asked for its hash.
        case let error as NSError: error.domain.hashValue ^ error.code
        case let number as NSDecimalNumber: NSNumber(value: number.doubleValue).hash
        default: (cf as? NSObject)?.hash ?? 0
        }
    return CFHashCode(bitPattern: hash)
}

/// The description of an object, for developers.
@discardableResult
public func CFCopyDescription(_ cf: CFTypeRef!) -> CFString! {
    cf.map { NSString(string: String(describing: $0)) }
}

/// The truth value of an object; `false` for `nil`.
@discardableResult
public func CFBooleanGetValue(_ boolean: CFBoolean!) -> Bool { boolean?.boolValue ?? false }

/// How many UTF-16 units a string has.
@discardableResult
public func CFStringGetLength(_ theString: CFString!) -> CFIndex { theString?.length ?? 0 }

/// How many members an array has.
@discardableResult
public func CFArrayGetCount(_ theArray: CFArray!) -> CFIndex { theArray?.count ?? 0 }

/// How many members a dictionary has.
@discardableResult
public func CFDictionaryGetCount(_ theDict: CFDictionary!) -> CFIndex { theDict?.count ?? 0 }

/// How many bytes there are.
@discardableResult
public func CFDataGetLength(_ theData: CFData!) -> CFIndex { theData?.length ?? 0 }

/// The bytes, for as long as the data exists; `nil` where there are none.
@discardableResult
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    guard let data = theData, data.length > 0 else { return nil }
    return unsafe data.bytes.assumingMemoryBound(to: UInt8.self)
}

/// A copy of bytes; `nil` where the length is negative, or where there is no pointer to the bytes.
@discardableResult
public func CFDataCreate(_ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) -> CFData! {
    if length == 0 { return NSData() }
    guard length > 0, let bytes = unsafe bytes else { return nil }
    return unsafe NSData(bytes: bytes, length: length)
}
