import Foundation

/// One key of the dictionary of a call, and its value.
struct RequestEntry {
    /// The value in the form in which it is looked at.
    enum Value {
        /// A string.
        case text(String)
        /// One of Core Foundation's two truth values.
        case truth(Bool)
        /// Anything else, in Swift's types where there is one for it; numbers as they are.
        case other(Any)

        /// The value as any other.
        var object: Any {
            switch self {
            case .text(let text): text
            case .truth(let truth): truth
            case .other(let object): object
            }
        }

        /// The string that it is; `nil` for others.
        var text: String? { if case .text(let text) = self { text } else { nil } }

        /// The truth value that it must be. - Throws: `StatusError` with -50.
        func requiredTruth(_ key: String) throws(StatusError) -> Bool {
            if case .truth(let truth) = self { return truth }
            return try Boolean.required(object, key)
        }
    }

    let key: String
    let value: Value

    /// What entries say of a key; `nil` where none has it.
    static func value(of key: String, in entries: [RequestEntry]) -> Value? {
        // By their places, for an entry that is taken out of an array is copied.
        entries.indices.first { entries[$0].key == key }.map { entries[$0].value }
    }

    /// The entries of a dictionary. - Throws: `StatusError` with -50 where a key is not a string.
    static func all(of dictionary: NSDictionary) throws(StatusError) -> [RequestEntry] {
        // Its owner may go on changing one that can be changed; a copy shares the members.
        let isMutable = type(of: dictionary) == NSMutableDictionary.self
        let dictionary = isMutable ? dictionary.copy() as? NSDictionary ?? dictionary : dictionary
        // These two give the objects as they lie there, in one order. All other ways to read an NSDictionary put each
        // of them through casts to find what it may be in Swift, at a price that all the rest of a call is small
        // beside.
        let keys = dictionary.allKeys
        let values = dictionary.allValues
        // What a class of somebody's own gives may be anything, and of any number.
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

    /// Whether Foundation gives the members of its own dictionaries as the objects that they are, as it does today.
    private static let givesObjects: Bool = {
        let member = NSString(string: "member")
        let dictionary = NSDictionary(object: member, forKey: member)
        return [dictionary.allKeys, dictionary.allValues].allSatisfy { members in
            members.count == 1 && type(of: members[0]) == NSString.self
        }
    }()

    /// The object in an `Any` that has one.
    private static func object(in any: Any) -> AnyObject {
        // A reference lies in the first word, as every value of one word does; a cast would first ask all types for
        // what it may be.
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

    /// The text of a string; `nil` for what is none, or one of a class of its own.
    private static func text(_ object: AnyObject) -> String? {
        // A look at the class in place of a cast, which looks at all that an object may be.
        guard type(of: object) == NSString.self else { return nil }
        return unsafe unsafeDowncast(object, to: NSString.self) as String
    }
}
