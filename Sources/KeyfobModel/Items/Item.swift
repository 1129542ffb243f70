public import Foundation
import OpenSSL

/// An item of any class: its attributes and, once it is stored, its persistent reference.
///
/// The secret is not part of the item and is read separately (`Keychain.secret(of:)`). Each of the five classes has a
/// typed wrapper: ``GenericPassword``, ``InternetPassword``, ``CertificateItem``, ``KeyItem`` and ``Identity``.
public struct Item: Sendable {
    /// The class.
    public let itemClass: ItemClass
    /// The attributes. A change is stored only when the item is written back.
    public var attributes: ItemAttributes
    /// The attributes as they were read. `write` stores only the differences, so that two programs that change
    /// different attributes of an item do not overwrite each other's changes.
    var stored: ItemAttributes?
    /// The item's reference; `nil` before it is added.
    public internal(set) var reference: PersistentReference?
    /// Whether the item has a secret; `false` before it is added.
    public internal(set) var hasSecret: Bool
    /// The certificate in DER, for certificates and identities.
    public internal(set) var certificateDER: Data?
    /// The token object of a certificate or key; for an identity, that of its private key.
    var object: TokenObject?
    /// The token object of an identity's certificate.
    var certificateObject: TokenObject?
    /// Whether the vault has a row for the item; if false, only the token has it.
    var isRecorded: Bool
    /// The reference of an identity's key; `reference` is that of the certificate.
    package internal(set) var keyReference: PersistentReference?

    /// The certificate of a certificate or identity; parsed here if the search did not parse it.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    var certificate: Certificate {
        get throws {
            if let certificate = (certificateObject ?? object)?.parsed.certificate { return certificate }
            return try Certificate(der: certificateDER ?? Data())
        }
    }

    /// Creates an item that is not stored yet.
    public init(_ itemClass: ItemClass, _ attributes: ItemAttributes = ItemAttributes()) {
        self.itemClass = itemClass
        self.attributes = attributes
        hasSecret = false
        isRecorded = false
    }
}

/// A typed wrapper of ``Item``.
public protocol KeychainItem: Sendable {
    /// The class of items that the type wraps.
    static var itemClass: ItemClass { get }
    /// The underlying item.
    var item: Item { get set }
    /// Wraps an item, which must be of the type's class.
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

    /// The display name; `kSecAttrLabel`.
    public var label: String? {
        get { attributes[.label]?.text }
        set { attributes[.label] = newValue.map { .string($0) } }
    }

    /// A comment; `kSecAttrComment`.
    public var comment: String? {
        get { attributes[.comment]?.text }
        set { attributes[.comment] = newValue.map { .string($0) } }
    }

    /// The access group; `kSecAttrAccessGroup`.
    public var accessGroup: String? {
        get { attributes[.accessGroup]?.text }
        set { attributes[.accessGroup] = newValue.map { .string($0) } }
    }

    /// The date on which the item was added; `kSecAttrCreationDate`. Unknown for objects of other tools.
    public var creationDate: Date? { attributes[.creationDate]?.date }

    /// The date of the last change; `kSecAttrModificationDate`.
    public var modificationDate: Date? { attributes[.modificationDate]?.date }
}
