public import Foundation

// On Apple's platforms AnyHashable of an NSString and of the String with the same characters are equal, and code that
// keeps `kSec…` constants in sets and dictionaries depends on it. Foundation on Linux lacks the conformance. It holds
// for the whole process, as on Apple's platforms.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// The string as Swift's own, which is how it is compared and hashed.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}

extension NSMutableDictionary {
    /// Sets the value of a key, or removes the key where `value` is `nil`.
    public func setValue(_ value: Any?, forKey key: String) {
        if let value {
            setObject(value, forKey: NSString(string: key))
        } else {
            removeObject(forKey: NSString(string: key))
        }
    }
}
