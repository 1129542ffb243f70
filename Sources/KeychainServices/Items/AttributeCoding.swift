import Foundation
import Keyfob

/// The values of attributes: objects of Core Foundation in dictionaries, typed values in the keychain.
enum AttributeCoding {
    /// The value that an object stands for, in the form that the class keeps (apple-secitem 1.10).
    ///
    /// - Throws: `StatusError`; -25303 for an attribute that the class does not have, -50 for a value that it does
    ///   not take.
    static func value(
        _ object: AnyObject, for name: AttributeName, of itemClass: ItemClass
    ) throws(StatusError) -> AttributeValue {
        guard isAttribute(name, of: itemClass), let definition = ClassSchema.of(itemClass)[name] else {
            throw StatusError(errSecNoSuchAttr, "the class has no attribute \(name)")
        }
        guard let value = value(object, definition.kind) else { throw .parameter("\(name) has the wrong type") }
        do { return try ClassSchema.of(itemClass).coerce(value, for: name) } catch {
            throw StatusError(OSStatus(error), "\(name) has the wrong type")
        }
    }

    /// Whether Apple's class has an attribute. Keyfob's certificates and keys have comments, Apple's have none.
    static func isAttribute(_ name: AttributeName, of itemClass: ItemClass) -> Bool {
        if name == .comment, itemClass.livesOnToken { return false }
        return ClassSchema.of(itemClass)[name] != nil
    }

    /// The typed value of an object; truth values only where numbers are meant.
    private static func value(_ object: AnyObject, _ kind: ClassSchema.Kind) -> AttributeValue? {
        if let truth = Boolean.value(object) { return kind == .number ? .number(truth ? 1 : 0) : nil }
        switch object {
        case let text as NSString: return .string(String(text))
        case let data as NSData: return .data(Data(referencing: data))
        case let date as NSDate:
            return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate))
        case let number as NSNumber: return kind == .string ? nil : .number(number.int64Value)
        case let identifier as NSUUID: return kind == .string ? .string(identifier.uuidString) : nil
        default: return nil
        }
    }

    /// The object that stands for a value in a returned dictionary.
    static func object(_ value: AttributeValue, for name: AttributeName) -> AnyObject {
        switch value {
        case .string(let text): return NSString(string: text)
        case .data(let data):
            if name == .accessControl, let control = SecAccessControl(stored: data) { return control }
            return NSData(data: data)
        case .number(let number):
            return name == .synchronizable ? NSNumber(value: number != 0) : NSNumber(value: number)
        case .date(let date): return NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
        }
    }

    /// How many attributes Apple's class has, those that no caller can name included: its limit on keys counts them.
    static func count(of itemClass: ItemClass) -> Int {
        // Every class also has: sha1, UUID, persistref, clip, rowid, data, v_pk, u_Tomb.
        ClassSchema.of(itemClass).definitions.count { isAttribute($0.name, of: itemClass) } + 8
    }
}
