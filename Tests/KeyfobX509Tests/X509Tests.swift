#if X509
import Foundation
import Keyfob
import KeyfobTesting
import KeyfobX509
import KeyfobOpenSSL
import SwiftASN1
import TestSupport
import Testing
import X509

struct X509Tests {
    private let directory: TemporaryDirectory
    private let throwaway: ThrowawayKeychain
    private var keychain: Keychain { throwaway.keychain }

    init() throws {
        directory = try TemporaryDirectory()
        throwaway = try TestToken.retrying { try ThrowawayKeychain() }
    }

    @discardableResult
    private func shell(_ script: String) throws -> String {
        let result = try run("sh", ["-euc", script], directory: directory.path)
        try #require(result.status == 0, "\(script): \(result.stderr)")
        return result.stdout
    }

    private func write(_ value: some PEMSerializable, to name: String) throws {
        try directory.write(value.serializeAsPEM().pemString.utf8, to: name)
    }

    static let kinds: [(KeySpecification, X509.Certificate.SignatureAlgorithm)] = [
        (.rsa(bits: 2048), .sha256WithRSAEncryption), (.p256, .ecdsaWithSHA256), (.p384, .ecdsaWithSHA384),
        (.p521, .ecdsaWithSHA512), (.ed25519, .ed25519),
    ]

    @Test(arguments: 0..<5)
    func `openssl verifies a request and a certificate that the token signed`(row: Int) async throws {
        let (specification, algorithm) = Self.kinds[row]
        let item = try await keychain.keys.generate(specification, label: "web")
        let signer = try await TokenSigningKey(keychain.keys.tokenKey(for: item))
        #expect(signer.defaultSignatureAlgorithm == algorithm)
        let key = X509.Certificate.PrivateKey(signer)
        let name = try DistinguishedName { CommonName("www.example.org") }

        for algorithm in signer.supportedSignatureAlgorithms {
            let request = try await CertificateSigningRequest(
                version: .v1, subject: name, asyncPrivateKey: key, attributes: .init(), signatureAlgorithm: algorithm)
            try write(request, to: "web.csr")
            try shell("openssl req -in web.csr -verify -noout -subject 2>&1 | grep -q 'verify OK'")
        }
        let certificate = try X509.Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Date() - 60,
            notValidAfter: Date() + 86400, issuer: name, subject: name, signatureAlgorithm: algorithm,
            extensions: X509.Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            },
            issuerPrivateKey: key)
        try write(certificate, to: "web.pem")
        try shell("openssl verify -CAfile web.pem -check_ss_sig web.pem")

        // Convert it to a keychain item and back. With the key, it is an identity now.
        try await keychain.add(CertificateItem(certificate, label: "web"))
        let identity = try await keychain.only(.identity(label: "web"))
        #expect(try X509.Certificate(identity) == certificate)
        #expect(try X509.Certificate(KeyfobOpenSSL.Certificate(certificate)) == certificate)
        #expect(try X509.Certificate.PrivateKey(identity, in: keychain).publicKey == key.publicKey)
    }

    @Test func `the key is never exported, and algorithms that do not fit it are refused`() async throws {
        let item = try await keychain.keys.generate(.p256, label: "web")
        let key = X509.Certificate.PrivateKey(try await TokenSigningKey(keychain.keys.tokenKey(for: item)))
        #expect(throws: KeychainError.self) { try key.serializeAsPEM() }
        for algorithm in [X509.Certificate.SignatureAlgorithm.sha256WithRSAEncryption, .ed25519,
            .sha1WithRSAEncryption] {
            #expect(throws: KeychainError.self) { try key.sign(bytes: Data([1]), signatureAlgorithm: algorithm) }
        }
    }

    @Test func `a verifier trusts the keychain's anchors and nothing else`() async throws {
        try shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out root.key
            openssl req -x509 -new -key root.key -subj /CN=Root -days 9 -addext keyUsage=critical,keyCertSign -out root.pem
            openssl ecparam -name prime256v1 -genkey -noout -out web.key
            printf 'subjectAltName=DNS:www.example.org\\nbasicConstraints=CA:false\\n' > ext
            openssl req -new -key web.key -subj /CN=web | \
                openssl x509 -req -CA root.pem -CAkey root.key -set_serial 7 -days 9 -extfile ext -out web.pem
            """)
        let root = try KeyfobOpenSSL.Certificate(pem: Data(contentsOf: directory.url("root.pem")))
        let leaf = try X509.Certificate(KeyfobOpenSSL.Certificate(pem: Data(contentsOf: directory.url("web.pem"))))
        func isBelieved(for usage: CertificateUsage) async throws -> Bool {
            let store = try await CertificateStore(trustedBy: keychain, for: usage)
            var verifier = Verifier(rootCertificates: store) { RFC5280Policy() }
            let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore())
            if case .validCertificate = result { return true }
            return false
        }
        #expect(try await !isBelieved(for: .server))
        try await keychain.trust.add(root, for: [.server])
        #expect(try await isBelieved(for: .server))
        #expect(try await !isBelieved(for: .email))
        try await keychain.trust.remove(root)
        #expect(try await !isBelieved(for: .server))
    }
}
#endif
