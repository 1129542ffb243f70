public import Foundation

// On Apple's platforms, AnyHashable values of an NSString and of a String with the same characters are equal. Code that
// keeps `kSec…` constants in sets and dictionaries depends on that. Foundation on Linux lacks the conformance. It
// applies to the whole process, as on Apple's platforms.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// The string as a Swift string, which is used for comparison and hashing.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}

extension NSMutableDictionary {
    /// Sets the value of a key, or removes the key if `value` is `nil`.
    public func setValue(_ value: Any?, forKey key: String) {
        if let value {
            setObject(value, forKey: NSString(string: key))
        } else {
            removeObject(forKey: NSString(string: key))
        }
    }
}
