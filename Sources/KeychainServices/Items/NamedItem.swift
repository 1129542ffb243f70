import Foundation
import Keyfob

/// The class of a call's dictionary and the references in it.
struct NamedItem {
    /// `kSecClass`.
    private var named: ItemClass?
    /// `kSecValueRef`.
    private(set) var reference: ItemRequest.ValueReference?
    /// `kSecValuePersistentRef`.
    private(set) var persistentReference: PersistentReference?
    /// Whether the persistent reference has Apple's old form, which no item here has.
    private(set) var isOldReference = false

    /// Reads the keys that name an item.
    ///
    /// - Throws: `StatusError`; -50 for a malformed reference and for a class that is not a string, -25306 for an
    ///   unknown class and for a persistent reference of another class.
    init(_ entries: [RequestEntry]) throws(StatusError) {
        if let value = RequestEntry.value(of: "class", in: entries) {
            guard let name = value.text else { throw .parameter("kSecClass takes a string") }
            guard let itemClass = ItemClass(rawValue: name) else {
                throw StatusError(errSecNoSuchClass, "there is no such class")
            }
            named = itemClass
        }
        if let value = RequestEntry.value(of: "v_Ref", in: entries) {
            switch value.object {
            case let key as SecKey: reference = .key(key)
            case let certificate as SecCertificate: reference = .certificate(certificate)
            case let identity as SecIdentity: reference = .identity(identity)
            default: throw .parameter("kSecValueRef takes a key, a certificate or an identity")
            }
        }
        if let value = RequestEntry.value(of: "v_PersistentRef", in: entries) {
            guard let data = value.object as? Data else { throw .parameter("kSecValuePersistentRef takes data") }
            (persistentReference, isOldReference) = try Self.persistentReference(data)
        }
        if let named, let persistentReference, persistentReference.itemClass != named {
            throw StatusError(errSecNoSuchClass, "the persistent reference is of another class")
        }
    }

    /// Returns the class, from `kSecClass` or else from a reference.
    ///
    /// - Throws: `StatusError` with -50 if neither names a class, or if they disagree.
    func itemClass(_ entries: [RequestEntry], for purpose: ItemRequest.Purpose) throws(StatusError) -> ItemClass {
        let referenced = persistentReference?.itemClass ?? reference?.itemClass
        // On macOS the class of an update or deletion may come from `kSecMatchItemList` alone.
        let isListed = purpose == .update || purpose == .delete
        guard let itemClass = named ?? referenced ?? (isListed ? Self.classOfListed(entries) : nil) else {
            throw .parameter("kSecClass is missing")
        }
        // A search for identities may be given a reference to a certificate or a key.
        let isHalf = purpose == .search && itemClass == .identity
        if let reference, reference.itemClass != itemClass, !isHalf {
            throw .parameter("the reference is of another class")
        }
        return itemClass
    }

    /// Returns the class of the references in `kSecMatchItemList`; `nil` if there are several.
    private static func classOfListed(_ entries: [RequestEntry]) -> ItemClass? {
        guard let list = RequestEntry.value(of: "m_ItemList", in: entries)?.object as AnyObject? as? NSArray else {
            return nil
        }
        let classes = Set(list.compactMap { member -> ItemClass? in
            switch member as AnyObject {
            case is SecKey: .key
            case is SecCertificate: .certificate
            case is SecIdentity: .identity
            // Malformed references are skipped.
            case let data as NSData: (try? PersistentReference(Data(referencing: data)))?.itemClass
            default: nil
            }
        })
        return classes.count == 1 ? classes.first : nil
    }

    /// Decodes a persistent reference in the current form, or in the old one of 12 bytes: class and row number.
    private static func persistentReference(_ data: Data) throws(StatusError) -> (PersistentReference, Bool) {
        var bytes = data
        let isOld = data.count == 12
        // No item here has an old reference, so it is well formed and matches nothing.
        if isOld { bytes = data.prefix(4) + Data(count: 16) }
        do { return (try PersistentReference(bytes), isOld) } catch {
            throw .parameter("the persistent reference is malformed")
        }
    }
}
