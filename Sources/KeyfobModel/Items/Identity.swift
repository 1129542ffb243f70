public import Foundation
public import KeyfobOpenSSL

/// A certificate together with its private key; `kSecClassIdentity`.
///
/// An identity is not stored: it exists if a certificate and a private key on the token have the same public key.
/// Label, issuer, serial number and subject come from the certificate, all other attributes from the key.
public struct Identity: CertifiedItem {
    /// `idnt`.
    public static var itemClass: ItemClass { .identity }
    /// The underlying item.
    public var item: Item

    /// Wraps an item of this class.
    public init(item: Item) { self.item = item }

    /// The certificate in DER.
    public var der: Data { item.certificateDER ?? Data() }

    /// The parsed certificate.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func certificate() throws -> Certificate { try item.certificate }

    /// The private key.
    public var key: KeyItem {
        var key = Item(.key, attributes)
        key.tokenObject = item.tokenObject
        return KeyItem(item: key)
    }
}
