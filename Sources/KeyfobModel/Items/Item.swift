public import Foundation
package import KeyfobOpenSSL

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
    package var stored: ItemAttributes?
    /// The item's reference; `nil` before it is added.
    public package(set) var reference: PersistentReference?
    /// Whether the item has a secret; `false` before it is added.
    public package(set) var hasSecret: Bool
    /// The certificate in DER, for certificates and identities.
    public package(set) var certificateDER: Data?
    /// The object on the token behind a certificate or key, and behind an identity its private key's; a `TokenObject`.
    package var tokenObject: (any Sendable)?
    /// The certificate's object behind an identity; a `TokenObject`.
    package var tokenCertificate: (any Sendable)?
    /// The certificate of certificates and identities, if it was parsed when the item was found.
    package var parsedCertificate: Certificate?
    /// Whether the vault has a row for the item; if false, only the token has it.
    package var isRecorded: Bool
    /// The reference of an identity's key; `reference` is that of the certificate.
    package var keyReference: PersistentReference?

    /// The certificate of a certificate or identity; parsed here if the search did not parse it.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    package var certificate: Certificate {
        get throws { try parsedCertificate ?? Certificate(der: certificateDER ?? Data()) }
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

/// A password of the vault: an item that is added with a secret.
public protocol PasswordItem: KeychainItem {}

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
