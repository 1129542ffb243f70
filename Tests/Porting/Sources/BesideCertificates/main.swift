import Crypto
import Foundation
import KeychainServices
import X509

// swift-certificates takes other branches if it finds a module named Security. It must find none here.
#if canImport(Security)
    #error("a module named Security is in the build")
#endif

let key = P256.Signing.PrivateKey()
let name = try DistinguishedName { CommonName("beside.example") }
let certificate = try Certificate(
    version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
    notValidBefore: Date(timeIntervalSinceNow: -60), notValidAfter: Date(timeIntervalSinceNow: 3600), issuer: name,
    subject: name, signatureAlgorithm: .ecdsaWithSHA256, extensions: Certificate.Extensions(),
    issuerPrivateKey: Certificate.PrivateKey(key))
let der = try Data(certificate.serializeAsPEM().derBytes)
print("made a certificate of \(der.count) bytes beside \(kSecClassCertificate)")
