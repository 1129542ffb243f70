import Foundation
import Keyfob
import KeyfobPrimitives

/// The second dictionary of SecItemUpdate in typed form (apple-secitem 2.6).
struct ItemChanges {
    /// New values.
    private(set) var attributes = ItemAttributes()
    /// Attributes that go.
    private(set) var removed: [AttributeName] = []
    /// `kSecValueData`.
    private(set) var data: SecretBytes?
    /// What a new access control asks for; `nil` without one.
    private(set) var controlFlags: SecAccessControlCreateFlags?
    /// Whether items have another access control afterwards, or none.
    var touchesAccessControl: Bool { controlFlags != nil || removed.contains(.accessControl) }

    /// Refuses an item that would be synchronized and have constraints afterwards (apple-secitem 2.10), with
    /// `errSecParam`; `nil` where the changes can bring that about for no item.
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

    /// Reads the changes of items of a class. Every key but that of the data is an attribute.
    ///
    /// - Throws: `StatusError`; -25303 for what is no attribute of the class, -50 for a wrong value.
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
            // The keychain's own business, whatever is said of it.
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
        // An accessibility of its own, or an access control without constraints, takes the place of the old one.
        if attributes[.accessible] != nil, attributes[.accessControl] == nil { removed = [.accessControl] }
    }
}
