public import Foundation
public import OpenSSL

/// A certificate on the token; `kSecClassCertificate`.
///
/// Issuer and serial number (with certificate type and access group) are the primary key, not the label.
public struct CertificateItem: CertifiedItem {
    /// `cert`.
    public static var itemClass: ItemClass { .certificate }
    /// The item underneath.
    public var item: Item

    /// The typed face of an item of this class.
    public init(item: Item) { self.item = item }

    /// A certificate that is not stored yet. Without a label the subject's summary is its label,
    /// or another name of it where that would be taken for a URI.
    public init(_ certificate: Certificate, label: String? = nil) {
        item = Item(.certificate, ItemAttributes(certificate: certificate))
        item.certificateDER = certificate.der
        if let label { self.label = label }
    }

    /// The certificate in DER.
    public var der: Data { item.certificateDER ?? Data() }

    /// The parsed certificate.
    ///
    /// - Throws: `KeyFileError` where the object on the token holds something that is not a certificate.
    public func certificate() throws -> Certificate { try item.certificate }
}

extension ItemAttributes {
    /// Creates the attributes that Apple's keychain derives from a certificate: the X.509 version (1 to 3), the
    /// encoding 3 (DER), the normalized names, the serial number, the key identifiers and a label.
    init(certificate: Certificate) {
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
