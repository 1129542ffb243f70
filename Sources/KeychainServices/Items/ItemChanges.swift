import Foundation
import Keyfob
import KeyfobPrimitives

/// The second dictionary of SecItemUpdate in typed form.
struct ItemChanges {
    /// New values.
    private(set) var attributes = ItemAttributes()
    /// Attributes to remove.
    private(set) var removed: [AttributeName] = []
    /// `kSecValueData`.
    private(set) var data: SecretBytes?
    /// The flags of the new access control; `nil` if the changes contain none.
    private(set) var controlFlags: SecAccessControlCreateFlags?
    /// Whether the changes replace or remove the access control of the items.
    var touchesAccessControl: Bool { controlFlags != nil || removed.contains(.accessControl) }

    /// A test for each item to be changed; `nil` if the changes cannot make it fail.
    ///
    /// The test throws `errSecParam` for an item that would afterwards be synchronizable and have constraints.
    var check: (@Sendable (Item) throws -> Void)? {
        guard attributes[.synchronizable]?.number == 1 || attributes[.accessControl] != nil else { return nil }
        return { item in try check(item) }
    }

    private func check(_ item: Item) throws(StatusError) {
        let isSynchronized = (attributes[.synchronizable] ?? item.attributes[.synchronizable])?.number == 1
        let control = touchesAccessControl ? attributes[.accessControl] : item.attributes[.accessControl]
        guard !isSynchronized || control == nil else {
            throw .parameter("a synchronizable item cannot have constraints")
        }
    }

    /// Reads the changes to items of a class. Every key except `kSecValueData` is an attribute.
    ///
    /// - Throws: `StatusError`; -25303 for a key that is not an attribute of the class, -50 for a wrong value.
    init(parsing dictionary: NSDictionary, of itemClass: ItemClass) throws(StatusError) {
        var control: SecAccessControl?
        for entry in try RequestEntry.all(of: dictionary) {
            let (key, value) = (entry.key, entry.value.object)
            switch key {
            case "v_Data":
                guard let value = value as? Data else { throw .parameter("kSecValueData takes data") }
                data = SecretBytes(value)
            case "nleg": break
            case "clip", "persistref", "ggrp": throw .parameter("\(key) cannot be changed")
            case "accc":
                guard let value = value as? SecAccessControl else {
                    throw .parameter("kSecAttrAccessControl takes an access control")
                }
                control = value
            case "sync": attributes[.synchronizable] = try ItemRequest.synchronizable(value)
            case "pdmn": attributes[.accessible] = .string(try ItemRequest.accessibility(value))
            case "musr": try ItemRequest.checkUser(value)
            // Derived by the keychain: given values are ignored.
            case "sha1", "UUID": break
            default:
                guard key.utf16.count == 4, key.utf8.allSatisfy({ $0 < 0x80 }) else {
                    throw StatusError(errSecNoSuchAttr, "no such attribute")
                }
                let name = AttributeName(rawValue: key)
                guard !(value is NSNull) else {
                    throw AttributeCoding.isAttribute(name, of: itemClass)
                        ? .parameter("\(name) has no value") : StatusError(errSecNoSuchAttr, "no such attribute")
                }
                let typed = try AttributeCoding.value(entry.value, for: name, of: itemClass)
                if name != .modificationDate { attributes[name] = typed }
            }
        }
        try ItemRequest.check(control, attributes)
        if let control {
            try control.check(isFor: itemClass)
            controlFlags = control.flags
            attributes[.accessible] = .string(control.protection)
            if control.isConstrained { attributes[.accessControl] = .data(control.stored) }
        }
        // A new accessibility, or an access control without constraints, replaces the old access control.
        if attributes[.accessible] != nil, attributes[.accessControl] == nil { removed = [.accessControl] }
    }
}
