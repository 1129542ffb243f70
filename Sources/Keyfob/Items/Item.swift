public import Foundation
import OpenSSL

/// One item of any class: its attributes and, once it is stored, its persistent reference.
///
/// The secret is not part of it: it is read only when asked for (`Keychain.secret(of:)`). The five
/// classes have typed faces on top: ``GenericPassword``, ``InternetPassword``, ``CertificateItem``,
/// ``KeyItem`` and ``Identity``.
public struct Item: Sendable {
    /// The class.
    public let itemClass: ItemClass
    /// The attributes. Changing them changes nothing stored before the item is written back.
    public var attributes: ItemAttributes
    /// The attributes as they were read: what was changed since is what `write` changes in the vault, so that
    /// two programs that change different attributes of an item do not undo each other's.
    var stored: ItemAttributes?
    /// The item's reference; `nil` before it is added.
    public internal(set) var reference: PersistentReference?
    /// Whether the item has a secret; `false` before it is added.
    public internal(set) var hasSecret: Bool
    /// The certificate in DER, of certificates and identities.
    public internal(set) var certificateDER: Data?
    /// The object on the token behind a certificate or key; of an identity, its private key's.
    var object: TokenObject?
    /// The certificate's object behind an identity.
    var certificateObject: TokenObject?
    /// Whether the vault has a row for the object, or it is known from the token alone.
    var isRecorded: Bool
    /// Of an identity, the reference of its key: its own names the certificate.
    package internal(set) var keyReference: PersistentReference?

    /// The certificate of certificates and identities, parsed now if it was not when the item was found.
    ///
    /// - Throws: `KeyFileError` where the object on the token holds something that is not a certificate.
    var certificate: Certificate {
        get throws {
            if let certificate = (certificateObject ?? object)?.parsed.certificate { return certificate }
            return try Certificate(der: certificateDER ?? Data())
        }
    }

    /// An item that is not stored yet.
    public init(_ itemClass: ItemClass, _ attributes: ItemAttributes = ItemAttributes()) {
        self.itemClass = itemClass
        self.attributes = attributes
        hasSecret = false
        isRecorded = false
    }
}

/// A typed face of ``Item``.
public protocol KeychainItem: Sendable {
    /// The class of items that the type stands for.
    static var itemClass: ItemClass { get }
    /// The item underneath.
    var item: Item { get set }
    /// The typed face of an item, which must be of the type's class.
    init(item: Item)
}

extension KeychainItem {
    /// The attributes.
    public var attributes: ItemAttributes {
        get { item.attributes }
        set { item.attributes = newValue }
    }

    /// The item's persistent reference; `nil` before it is added.
    public var reference: PersistentReference? { item.reference }

    /// The name shown to people; `kSecAttrLabel`.
    public var label: String? {
        get { attributes[.label]?.text }
        set { attributes[.label] = newValue.map { .string($0) } }
    }

    /// A remark; `kSecAttrComment`.
    public var comment: String? {
        get { attributes[.comment]?.text }
        set { attributes[.comment] = newValue.map { .string($0) } }
    }

    /// The access group; `kSecAttrAccessGroup`.
    public var accessGroup: String? {
        get { attributes[.accessGroup]?.text }
        set { attributes[.accessGroup] = newValue.map { .string($0) } }
    }

    /// When the item was added; `kSecAttrCreationDate`. Unknown for objects that other tools made.
    public var creationDate: Date? { attributes[.creationDate]?.date }

    /// When the item was changed last; `kSecAttrModificationDate`.
    public var modificationDate: Date? { attributes[.modificationDate]?.date }
}
