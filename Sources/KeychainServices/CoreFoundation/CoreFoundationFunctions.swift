public import Foundation

// Functions of Core Foundation that code around a keychain calls.

/// A hash value; `CFHashCode`.
public typealias CFHashCode = UInt

/// Whether two objects are equal. `nil` equals nothing but `nil`.
@discardableResult
public func CFEqual(_ cf1: CFTypeRef!, _ cf2: CFTypeRef!) -> Bool {
    guard let first = cf1, let second = cf2 else { return cf1 == nil && cf2 == nil }
    if first === second { return true }
    // A truth value never equals a number, although they share a class.
    guard CFGetTypeID(first) == CFGetTypeID(second), let object = first as? NSObject else { return false }
    return object.isEqual(second)
}

/// Returns a hash value that equal objects share.
@discardableResult
public func CFHash(_ cf: CFTypeRef!) -> CFHashCode {
    let hash =
        switch cf {
        // Foundation on Linux crashes if one of these two classes is asked for its hash.
        case let error as NSError: error.domain.hashValue ^ error.code
        case let number as NSDecimalNumber: NSNumber(value: number.doubleValue).hash
        default: (cf as? NSObject)?.hash ?? 0
        }
    return CFHashCode(bitPattern: hash)
}

/// Returns the description of an object for developers.
@discardableResult
public func CFCopyDescription(_ cf: CFTypeRef!) -> CFString! {
    cf.map { NSString(string: String(describing: $0)) }
}

/// Returns the truth value of an object; `false` for `nil`.
@discardableResult
public func CFBooleanGetValue(_ boolean: CFBoolean!) -> Bool { boolean?.boolValue ?? false }

/// Returns the length of a string in UTF-16 units.
@discardableResult
public func CFStringGetLength(_ theString: CFString!) -> CFIndex { theString?.length ?? 0 }

/// Returns the number of members of an array.
@discardableResult
public func CFArrayGetCount(_ theArray: CFArray!) -> CFIndex { theArray?.count ?? 0 }

/// Returns the number of members of a dictionary.
@discardableResult
public func CFDictionaryGetCount(_ theDict: CFDictionary!) -> CFIndex { theDict?.count ?? 0 }

/// Returns the number of bytes.
@discardableResult
public func CFDataGetLength(_ theData: CFData!) -> CFIndex { theData?.length ?? 0 }

/// Returns a pointer to the bytes that is valid as long as the data exists; `nil` if the data is empty.
@discardableResult
public func CFDataGetBytePtr(_ theData: CFData!) -> UnsafePointer<UInt8>! {
    guard let data = theData, data.length > 0 else { return nil }
    return unsafe data.bytes.assumingMemoryBound(to: UInt8.self)
}

/// Copies bytes; `nil` if the length is negative or the pointer is `nil`.
@discardableResult
public func CFDataCreate(_ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex) -> CFData! {
    if length == 0 { return NSData() }
    guard length > 0, let bytes = unsafe bytes else { return nil }
    return unsafe NSData(bytes: bytes, length: length)
}
