import Foundation
import OpenSSL

/// The certificate of an authority that was made here, valid from a day before or after today to another; signed by
/// itself where no issuer is given.
func authority(
    _ name: String, _ key: PrivateKey, by issuer: (certificate: Certificate, key: PrivateKey)?, _ days: ClosedRange<Int>
) throws -> Certificate {
    try UnsignedCertificate(
        subject: DistinguishedName(commonName: name), publicKey: key.publicKey, extensions: .authority(),
        issuer: issuer?.certificate, notBefore: Date() + Double(days.lowerBound) * 86_400,
        notAfter: Date() + Double(days.upperBound) * 86_400
    ).signed { [UInt8](try (issuer?.key ?? key).sign($0, using: $1)) }
}
