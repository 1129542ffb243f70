import Foundation
import Keyfob

/// The values of attributes: objects of Core Foundation in dictionaries, typed values in the keychain.
enum AttributeCoding {
    /// The value that an object stands for, in the form that the class keeps (apple-secitem 1.10).
    ///
    /// - Throws: `StatusError`; -25303 for an attribute that the class does not have, -50 for a value that it does
    ///   not take.
    static func value(
        _ object: Any, for name: AttributeName, of itemClass: ItemClass
    ) throws(StatusError) -> AttributeValue {
        guard let kind = Table.of(itemClass).kinds[name] else {
            throw StatusError(errSecNoSuchAttr, "the class has no attribute \(name)")
        }
        guard let value = value(object, kind) else { throw .parameter("\(name) has the wrong type") }
        switch (kind, value) {
        // As it is kept, in every class.
        case (.blob, .string), (.blob, .data), (.data, .data), (.string, .string), (.number, .number), (.date, .date):
            return value
        default: break
        }
        do { return try ClassSchema.of(itemClass).coerce(value, for: name) } catch {
            throw StatusError(OSStatus(error), "\(name) has the wrong type")
        }
    }

    /// Whether Apple's class has an attribute. Keyfob's certificates and keys have comments, Apple's have none.
    static func isAttribute(_ name: AttributeName, of itemClass: ItemClass) -> Bool {
        Table.of(itemClass).kinds[name] != nil
    }

    /// How many attributes Apple's class has, those that no caller can name included: its limit on keys counts them.
    static func count(of itemClass: ItemClass) -> Int { Table.of(itemClass).count }

    /// The attributes that Apple's class has: what every call asks, found out once.
    private struct Table: Sendable {
        let kinds: [AttributeName: ClassSchema.Kind]
        let count: Int

        private init(_ itemClass: ItemClass) {
            let definitions = ClassSchema.of(itemClass).definitions.filter {
                $0.name != .comment || !itemClass.livesOnToken
            }
            kinds = Dictionary(definitions.map { ($0.name, $0.kind) }) { first, _ in first }
            // Every class also has: sha1, UUID, persistref, clip, rowid, data, v_pk, u_Tomb.
            count = definitions.count + 8
        }

        static func of(_ itemClass: ItemClass) -> Table {
            switch itemClass {
            case .genericPassword: genericPassword
            case .internetPassword: internetPassword
            case .certificate: certificate
            case .key: key
            case .identity: identity
            }
        }

        private static let genericPassword = Table(.genericPassword)
        private static let internetPassword = Table(.internetPassword)
        private static let certificate = Table(.certificate)
        private static let key = Table(.key)
        private static let identity = Table(.identity)
    }

    /// The typed value of an object; truth values only where numbers are meant.
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
        return .number(number.int64Value)
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

    /// False.
    static var no: NSNumber { NSNumber(value: false) }

    /// The key of an attribute in a returned dictionary.
    static func key(_ name: AttributeName) -> NSString {
        unsafe keys[name] ?? NSString(string: name.rawValue)
    }

    // Never changed, like the strings in it: any thread may read it.
    private nonisolated(unsafe) static let keys: [AttributeName: NSString] = Dictionary(
        ItemClass.allCases.flatMap { ClassSchema.of($0).definitions.map(\.name) }.map {
            ($0, NSString(string: $0.rawValue))
        }) { first, _ in first }
}
