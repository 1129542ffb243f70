#if X509
import Foundation
import Keyfob
import KeyfobTesting
import KeyfobX509
import KeychainServices
import SwiftASN1
import TestSupport
import Testing
import X509

// swift-certificates takes other branches if it finds a module named Security. It must find none here.
#if canImport(Security)
    #error("a module named Security is in the build")
#endif

struct KeychainServicesTests {
    @Test func `a program may use swift-certificates beside Apple's functions`() async throws {
        let throwaway = try TestToken.retrying { try ThrowawayKeychain() }
        let item = try await throwaway.keychain.keys.generate(.p256, label: "web")
        let key = X509.Certificate.PrivateKey(try await TokenSigningKey(throwaway.keychain.keys.tokenKey(for: item)))
        let name = try DistinguishedName { CommonName("beside.example") }
        let certificate = try X509.Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Date() - 60,
            notValidAfter: Date() + 3600, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: X509.Certificate.Extensions(), issuerPrivateKey: key)
        let bytes = try Data(certificate.serializeAsPEM().derBytes)
        let created = try #require(SecCertificateCreateWithData(nil, bytes as CFData))
        #expect(SecCertificateCopySubjectSummary(created) as String? == "beside.example")
        #expect(SecCertificateCopyData(created) as Data == bytes)
    }
}
#endif
