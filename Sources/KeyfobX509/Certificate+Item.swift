#if X509
import Foundation
public import Keyfob
public import OpenSSL
import SwiftASN1
public import X509

extension X509.Certificate {
    /// The certificate of an item.
    ///
    /// - Throws: `KeychainError` (`fileDamaged`) where swift-certificates, which is stricter than libcrypto, cannot
    ///   read it.
    public init(_ item: some CertifiedItem) throws {
        try self.init(der: [UInt8](item.item.certificateDER ?? Data()))
    }

    /// A certificate of libcrypto's. - Throws: As `init(_:)` for an item.
    public init(_ certificate: OpenSSL.Certificate) throws {
        try self.init(der: [UInt8](certificate.der))
    }

    private init(der: [UInt8]) throws {
        do { try self.init(derEncoded: der) } catch {
            throw KeychainError(.fileDamaged, "swift-certificates cannot read the certificate.", cause: error)
        }
    }
}

extension OpenSSL.Certificate {
    /// A certificate of swift-certificates'.
    ///
    /// - Throws: What swift-certificates throws where it cannot write it; `KeyFileError` where libcrypto cannot read
    ///   it.
    public init(_ certificate: X509.Certificate) throws {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        try self.init(der: Data(serializer.serializedBytes))
        try validate()
    }
}

extension CertificateItem {
    /// A certificate of swift-certificates', not stored yet. Without a label the subject's summary is its label.
    ///
    /// - Throws: As `OpenSSL.Certificate.init(_:)`.
    public init(_ certificate: X509.Certificate, label: String? = nil) throws {
        self.init(try OpenSSL.Certificate(certificate), label: label)
    }
}
#endif
