import Foundation

/// Core Foundation's truth values, which share a class with numbers here and are recognised by identity.
enum Boolean {
    /// Returns the truth value that an object is; `nil` for any other object, including numbers.
    static func value(_ object: Any) -> Bool? {
        // A dictionary returns `Bool` itself. A cast alone would also accept numbers.
        if type(of: object) == Bool.self { return object as? Bool }
        guard let number = object as? NSNumber else { return nil }
        if number === (true as AnyObject) { return true }
        return number === (false as AnyObject) ? false : nil
    }

    /// Returns the truth value of an object.
    ///
    /// - Throws: `StatusError` with -50 if the object is not a truth value.
    static func required(_ object: Any, _ key: String) throws(StatusError) -> Bool {
        guard let value = value(object) else { throw .parameter("\(key) takes a CFBoolean") }
        return value
    }
}
