public import Foundation
public import OpenSSL

/// A certificate together with its private key; `kSecClassIdentity`.
///
/// Never stored: it is there whenever a certificate and a private key on the token have the same public
/// key. Label, issuer, serial number and subject are the certificate's; all other attributes are the key's.
public struct Identity: CertifiedItem {
    /// `idnt`.
    public static var itemClass: ItemClass { .identity }
    /// The item underneath.
    public var item: Item

    /// The typed face of an item of this class.
    public init(item: Item) { self.item = item }

    /// The certificate in DER.
    public var der: Data { item.certificateDER ?? Data() }

    /// The parsed certificate.
    ///
    /// - Throws: `KeyFileError` where the object on the token holds something that is not a certificate.
    public func certificate() throws -> Certificate { try item.certificate }

    /// The private key.
    public var key: KeyItem {
        var key = Item(.key, attributes)
        key.object = item.object
        return KeyItem(item: key)
    }
}
