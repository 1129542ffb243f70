public import Foundation
public import KeyfobOpenSSL

/// An item that has a certificate.
public protocol CertifiedItem: KeychainItem {}

/// A certificate on the token; `kSecClassCertificate`.
///
/// The primary key is the issuer and the serial number, with certificate type and access group, not the label.
public struct CertificateItem: CertifiedItem {
    /// `cert`.
    public static var itemClass: ItemClass { .certificate }
    /// The underlying item.
    public var item: Item

    /// Wraps an item of this class.
    public init(item: Item) { self.item = item }

    /// Creates an item that is not stored yet. The default label is the subject's summary, or another name in the
    /// certificate if that looks like a PKCS#11 URI.
    public init(_ certificate: Certificate, label: String? = nil) {
        item = Item(.certificate, ItemAttributes(certificate: certificate))
        item.certificateDER = certificate.der
        if let label { self.label = label }
    }

    /// The certificate in DER.
    public var der: Data { item.certificateDER ?? Data() }

    /// The parsed certificate.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func certificate() throws -> Certificate { try item.certificate }
}

extension ItemAttributes {
    /// Creates the attributes that Apple's keychain derives from a certificate: the X.509 version (1 to 3), the
    /// encoding 3 (DER), the normalized names, the serial number, the key identifiers and a label.
    package init(certificate: Certificate) {
        self.init()
        self[.certificateType] = .number(Int64(certificate.version))
        self[.certificateEncoding] = .number(3)
        self[.subject] = .data(certificate.subject.normalized)
        self[.issuer] = .data(certificate.issuer.normalized)
        self[.serialNumber] = .data(certificate.serialNumber)
        self[.subjectKeyID] = certificate.subjectKeyIdentifier.map { .data($0) }
        self[.publicKeyHash] = .data(certificate.publicKey.identifier)
        self[.label] = certificate.ownName.map { .string($0) }
    }
}
