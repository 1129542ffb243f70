import Foundation
import Keyfob

/// What the dictionary of a call says of which item it is about: its class, and references to it.
struct NamedItem {
    /// `kSecClass`.
    private var named: ItemClass?
    /// `kSecValueRef`.
    private(set) var reference: ItemRequest.ValueReference?
    /// `kSecValuePersistentRef`.
    private(set) var persistentReference: PersistentReference?
    /// Whether the persistent reference has the old form, which no item here ever had.
    private(set) var isOldReference = false

    /// Reads the keys that name an item.
    ///
    /// - Throws: `StatusError`; -50 for what is no reference and for a class that is no string, -25306 for what is no
    ///   class, and for a persistent reference of another one.
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

    /// The class, which a reference may say alone.
    ///
    /// - Throws: `StatusError` with -50 where nothing says it, or a reference another one.
    func itemClass(_ entries: [RequestEntry], for purpose: ItemRequest.Purpose) throws(StatusError) -> ItemClass {
        let referenced = persistentReference?.itemClass ?? reference?.itemClass
        // On the Mac a list says by itself what is changed or removed.
        let isListed = purpose == .update || purpose == .delete
        guard let itemClass = named ?? referenced ?? (isListed ? Self.classOfListed(entries) : nil) else {
            throw .parameter("kSecClass is missing")
        }
        // Of either half what describes it is asked for of the identity, whose class says so.
        let isHalf = purpose == .search && itemClass == .identity
        if let reference, reference.itemClass != itemClass, !isHalf {
            throw .parameter("the reference is of another class")
        }
        return itemClass
    }

    /// The class of all references of `kSecMatchItemList`; `nil` where they are of several.
    private static func classOfListed(_ entries: [RequestEntry]) -> ItemClass? {
        guard let list = RequestEntry.value(of: "m_ItemList", in: entries)?.object as AnyObject? as? NSArray else {
            return nil
        }
        let classes = Set(list.compactMap { member -> ItemClass? in
            switch member as AnyObject {
            case is SecKey: .key
            case is SecCertificate: .certificate
            case is SecIdentity: .identity
            // What is no reference names nothing.
            case let data as NSData: (try? PersistentReference(Data(referencing: data)))?.itemClass
            default: nil
            }
        })
        return classes.count == 1 ? classes.first : nil
    }

    /// A persistent reference in its present form, or in the old one: class and row number, 12 bytes.
    private static func persistentReference(_ data: Data) throws(StatusError) -> (PersistentReference, Bool) {
        var bytes = data
        let isOld = data.count == 12
        // No row here ever had such a number: it is a well-formed name of nothing.
        if isOld { bytes = data.prefix(4) + Data(count: 16) }
        do { return (try PersistentReference(bytes), isOld) } catch {
            throw .parameter("the persistent reference is malformed")
        }
    }
}
