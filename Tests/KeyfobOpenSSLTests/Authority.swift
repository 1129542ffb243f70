import Foundation
import KeyfobOpenSSL

/// A certificate of an authority, with its validity in days relative to today; self-signed without an issuer.
func authority(
    _ name: String, _ key: PrivateKey, by issuer: (certificate: Certificate, key: PrivateKey)?, _ days: ClosedRange<Int>
) throws -> Certificate {
    try UnsignedCertificate(
        subject: DistinguishedName(commonName: name), publicKey: key.publicKey, extensions: .authority(),
        issuer: issuer?.certificate, notBefore: Date() + Double(days.lowerBound) * 86_400,
        notAfter: Date() + Double(days.upperBound) * 86_400
    ).signed { [UInt8](try (issuer?.key ?? key).sign($0, using: $1)) }
}
