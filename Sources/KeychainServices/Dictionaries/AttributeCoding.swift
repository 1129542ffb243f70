import Foundation
import Keyfob

/// The values of attributes: objects of Core Foundation in dictionaries, typed values in the keychain.
enum AttributeCoding {
    /// Returns the stored form of an object.
    ///
    /// The class of the item decides the kind of the attribute: a string that is given for a number attribute becomes a
    /// number.
    ///
    /// - Throws: `StatusError`; -25303 for an attribute that the class does not have, -50 for a value of the wrong
    ///   type.
    static func value(
        _ object: Any, for name: AttributeName, of itemClass: ItemClass
    ) throws(StatusError) -> AttributeValue {
        let kind = try requiredKind(of: name, in: itemClass)
        guard let value = value(object, kind) else { throw .parameter("\(name) has the wrong type") }
        return try coerced(value, kind, for: name, of: itemClass)
    }

    /// Returns the stored form of a value from a dictionary.
    ///
    /// - Throws: `StatusError`; -25303 for an attribute that the class does not have, -50 for a value of the wrong
    ///   type.
    static func value(
        _ given: RequestEntry.Value, for name: AttributeName, of itemClass: ItemClass
    ) throws(StatusError) -> AttributeValue {
        guard let text = given.text else { return try value(given.object, for: name, of: itemClass) }
        return try coerced(.string(text), requiredKind(of: name, in: itemClass), for: name, of: itemClass)
    }

    private static func coerced(
        _ value: AttributeValue, _ kind: ClassSchema.Kind, for name: AttributeName, of itemClass: ItemClass
    ) throws(StatusError) -> AttributeValue {
        switch (kind, value) {
        // These values are already in their stored form, whatever the class.
        case (.blob, .string), (.blob, .data), (.data, .data), (.string, .string), (.number, .number), (.date, .date):
            return value
        default: break
        }
        do { return try ClassSchema.of(itemClass).coerce(value, for: name) } catch {
            throw StatusError(OSStatus(error), "\(name) has the wrong type")
        }
    }

    /// Whether Apple's class has an attribute.
    static func isAttribute(_ name: AttributeName, of itemClass: ItemClass) -> Bool {
        kind(of: name, in: itemClass) != nil
    }

    /// What no class of Apple's has.
    private static let ownOfAll: Set<AttributeName> = [.program, .isProtectedItem]
    /// What Keyfob's certificates, keys and identities have and Apple's do not.
    private static let foreign: Set<AttributeName> = [
        .comment, .trustedUsages, .renewalPolicy, .preferredServices, .preferences,
    ]

    private static func requiredKind(
        of name: AttributeName, in itemClass: ItemClass
    ) throws(StatusError) -> ClassSchema.Kind {
        guard let kind = kind(of: name, in: itemClass) else {
            throw StatusError(errSecNoSuchAttr, "the class has no attribute \(name)")
        }
        return kind
    }

    /// The kind of an attribute.
    private static func kind(of name: AttributeName, in itemClass: ItemClass) -> ClassSchema.Kind? {
        guard let kind = ClassSchema.of(itemClass).kind(of: name), !ownOfAll.contains(name),
            !itemClass.livesOnToken || !foreign.contains(name)
        else { return nil }
        return kind
    }

    /// Returns how many attributes Apple's class has.
    ///
    /// Apple's limit on the keys of a dictionary also counts the attributes that no caller can name.
    static func count(of itemClass: ItemClass) -> Int {
        let schema = ClassSchema.of(itemClass)
        let foreign = itemClass.livesOnToken ? foreign.count { schema[$0] != nil } : 0
        // Every class also has: sha1, UUID, persistref, clip, rowid, data, v_pk, u_Tomb.
        return schema.definitions.count - foreign - ownOfAll.count + 8
    }

    /// An upper bound of `count(of:)` for every class, which saves counting in a process that makes one call.
    static let most = 80

    /// Returns the typed value of an object. Truth values are accepted only for number attributes.
    private static func value(_ object: Any, _ kind: ClassSchema.Kind) -> AttributeValue? {
        switch object {
        case let text as String: return .string(text)
        case let data as Data: return .data(data)
        case let date as Date: return .date(date)
        case let identifier as UUID: return kind == .string ? .string(identifier.uuidString) : nil
        default: break
        }
        if let truth = Boolean.value(object) { return kind == .number ? .number(truth ? 1 : 0) : nil }
        guard kind != .string, let number = object as? NSNumber else { return nil }
        return whole(number).map { .number($0) }
    }

    /// Returns the whole number that an object holds; `nil` for fractions and for numbers that do not fit into 64 bits.
    static func whole(_ number: NSNumber) -> Int64? {
        switch unsafe UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): Int64(exactly: number.doubleValue)
        case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value)
        default: number.int64Value
        }
    }

    /// The object that stands for a value in a returned dictionary.
    static func object(_ value: AttributeValue, for name: AttributeName) -> AnyObject {
        switch value {
        case .string(let text):
            if text.isEmpty { return unsafe Shared.emptyText }
            return text == "ak" ? unsafe Shared.whenUnlocked : NSString(string: text)
        case .data(let data):
            if name == .accessControl, let control = SecAccessControl(stored: data) { return control }
            return data.isEmpty ? unsafe Shared.emptyData : NSData(data: data)
        // A stored 0 or 1 may have been given as a truth value. An NSNumber of 0 or 1 casts to `Bool`; a CFBoolean
        // would not cast to a number.
        case .number(let number): return number == 0 ? Shared.zero : NSNumber(value: number)
        case .date(let date): return NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
        }
    }

    /// Objects for values that nearly every item has, so that they are not allocated for each item.
    private enum Shared {
        // Immutable, so any thread may read them.
        nonisolated(unsafe) static let emptyText = NSString(string: "")
        nonisolated(unsafe) static let whenUnlocked = NSString(string: "ak")
        nonisolated(unsafe) static let emptyData = NSData()
        static let zero = NSNumber(value: 0)
    }

    /// The key of an attribute in a returned dictionary.
    static func key(_ name: AttributeName) -> NSString {
        index[name].map { unsafe keys[$0] } ?? NSString(string: name.rawValue)
    }

    private static let names = ItemClass.allCases.flatMap { ClassSchema.of($0).definitions.map(\.name) }
    private static let index = AttributeIndex(names)
    // The array and its strings are immutable, so any thread may read them.
    private nonisolated(unsafe) static let keys: [NSString] = names.map { NSString(string: $0.rawValue) }
}
