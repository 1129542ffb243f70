import Foundation

/// One key of a call's dictionary and its value.
struct RequestEntry {
    /// A value, classified by the types that the parser needs.
    enum Value {
        /// A string.
        case text(String)
        /// One of Core Foundation's two truth values.
        case truth(Bool)
        /// Any other object, bridged to a Swift type if there is one; numbers stay NSNumber.
        case other(Any)

        /// The value as an object.
        var object: Any {
            switch self {
            case .text(let text): text
            case .truth(let truth): truth
            case .other(let object): object
            }
        }

        /// The string; `nil` for other values.
        var text: String? { if case .text(let text) = self { text } else { nil } }

        /// Returns the truth value.
        ///
        /// - Throws: `StatusError` with -50 if the value is not a truth value.
        func requiredTruth(_ key: String) throws(StatusError) -> Bool {
            if case .truth(let truth) = self { return truth }
            return try Boolean.required(object, key)
        }
    }

    let key: String
    let value: Value

    /// Returns the value of a key; `nil` if it is absent.
    static func value(of key: String, in entries: [RequestEntry]) -> Value? {
        // By index, because iterating would copy the entries.
        entries.indices.first { entries[$0].key == key }.map { entries[$0].value }
    }

    /// Returns the entries of a dictionary.
    ///
    /// - Throws: `StatusError` with -50 if a key is not a string.
    static func all(of dictionary: NSDictionary) throws(StatusError) -> [RequestEntry] {
        // The caller may go on changing a mutable dictionary. The copy shares the members.
        let isMutable = type(of: dictionary) == NSMutableDictionary.self
        let dictionary = isMutable ? dictionary.copy() as? NSDictionary ?? dictionary : dictionary
        // These two properties return the objects as stored, in the same order. All other ways to read an NSDictionary
        // bridge each object with dynamic casts, which takes longer than the rest of the call.
        let keys = dictionary.allKeys
        let values = dictionary.allValues
        // A subclass may return any kind and number of members.
        let isOfObjects = givesObjects && type(of: dictionary) == NSDictionary.self
        var entries: [RequestEntry] = []
        entries.reserveCapacity(keys.count)
        for index in 0..<min(keys.count, values.count) {
            let key = isOfObjects ? object(in: keys[index]) : keys[index] as AnyObject
            guard let name = text(key) ?? key as? String else { throw .parameter("a key is not a string") }
            let value = isOfObjects ? object(in: values[index]) : values[index] as AnyObject
            entries.append(RequestEntry(key: name, value: self.value(value, of: key, in: dictionary)))
        }
        return entries
    }

    /// Whether Foundation returns the members of its own dictionaries unbridged, as it does today.
    private static let givesObjects: Bool = {
        let member = NSString(string: "member")
        let dictionary = NSDictionary(object: member, forKey: member)
        return [dictionary.allKeys, dictionary.allValues].allSatisfy { members in
            members.count == 1 && type(of: members[0]) == NSString.self
        }
    }()

    /// Returns the object in an `Any` that holds one.
    private static func object(in any: Any) -> AnyObject {
        // The first word of an `Any` holds a reference, as any value of one word. A dynamic cast would first search all
        // types.
        let object = unsafe withUnsafePointer(to: any) { unsafe UnsafeRawPointer($0).load(as: AnyObject.self) }
        assert(object === any as AnyObject)
        return object
    }

    private static func value(_ object: AnyObject, of key: AnyObject, in dictionary: NSDictionary) -> Value {
        if let text = text(object) { return .text(text) }
        if object === kCFBooleanTrue { return .truth(true) }
        if object === kCFBooleanFalse { return .truth(false) }
        if object is NSNumber { return .other(object) }
        let converted = dictionary.object(forKey: key) ?? object
        return (converted as? String).map { .text($0) } ?? .other(converted)
    }

    /// Returns the text of an NSString; `nil` for other objects and for subclasses.
    private static func text(_ object: AnyObject) -> String? {
        // Comparing the class avoids a dynamic cast, which is slow.
        guard type(of: object) == NSString.self else { return nil }
        return unsafe unsafeDowncast(object, to: NSString.self) as String
    }
}
