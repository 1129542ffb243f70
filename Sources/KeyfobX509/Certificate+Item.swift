#if X509
import Foundation
public import Keyfob
public import KeyfobOpenSSL
import SwiftASN1
public import X509

extension X509.Certificate {
    /// Creates a certificate from a keychain item.
    ///
    /// - Throws: `KeychainError` (`fileDamaged`) if swift-certificates, which is stricter than libcrypto, cannot read
    ///   it.
    public init(_ item: some CertifiedItem) throws {
        try self.init(der: [UInt8](item.item.certificateDER ?? Data()))
    }

    /// Creates a certificate from one of libcrypto.
    ///
    /// - Throws: `KeychainError` (`fileDamaged`) if swift-certificates cannot read it.
    public init(_ certificate: KeyfobOpenSSL.Certificate) throws {
        try self.init(der: [UInt8](certificate.der))
    }

    private init(der: [UInt8]) throws {
        do { try self.init(derEncoded: der) } catch {
            throw KeychainError(.fileDamaged, "swift-certificates cannot read the certificate.", cause: error)
        }
    }
}

extension KeyfobOpenSSL.Certificate {
    /// Creates a certificate from one of swift-certificates.
    ///
    /// - Throws: The errors of swift-certificates if it cannot serialise the certificate; `KeyFileError` if libcrypto
    ///   cannot read it.
    public init(_ certificate: X509.Certificate) throws {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        try self.init(der: Data(serializer.serializedBytes))
        try validate()
    }
}

extension CertificateItem {
    /// Creates an item from a certificate of swift-certificates, without storing it.
    ///
    /// - Parameter label: The label; by default the summary of the subject.
    /// - Throws: The errors of swift-certificates if it cannot serialise the certificate; `KeyFileError` if libcrypto
    ///   cannot read it.
    public init(_ certificate: X509.Certificate, label: String? = nil) throws {
        self.init(try KeyfobOpenSSL.Certificate(certificate), label: label)
    }
}
#endif
