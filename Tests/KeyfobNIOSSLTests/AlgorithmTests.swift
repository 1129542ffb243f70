#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import NIOSSL
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

/// Keys that allow fewer algorithms than their token lists.
struct AlgorithmTests {
    /// An RSA identity whose key has `CKA_ALLOWED_MECHANISMS`, which SoftHSM enforces.
    private func restricted(_ home: TLSHome, to mechanisms: [MechanismType], bits: Int = 2048) throws {
        try home.shell("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:\(bits) -out web.key")
        try home.shell(
            """
            openssl req -new -key web.key -subj /CN=localhost |
                openssl x509 -req -CA inter.pem -CAkey inter.key -set_serial 77 -days 9 -extfile ext -extensions server -out web.pem
            """)
        let certificate = try home.certificate("web")
        let key = try PrivateKey.load(home.contents("web.key"))
        guard case .rsa(let n, let e, let d, let p, let q, let dp, let dq, let qinv) = try key.components() else {
            throw KeychainError(.failed, "openssl made no RSA key.")
        }
        try home.withSession { session in
            _ = try session.create([
                .objectClass(.privateKey), .keyType(.rsa), .token(true), .isPrivate(true), .sensitive(true),
                .extractable(false), .sign(true), .decrypt(false), .label("web"),
                .id([UInt8](certificate.publicKey.identifier)), .modulus([UInt8](n)), .publicExponent([UInt8](e)),
                .secret(.privateExponent, d), .secret(.prime1, p), .secret(.prime2, q), .secret(.exponent1, dp),
                .secret(.exponent2, dq), .secret(.coefficient, qinv), .allowedMechanisms(mechanisms),
            ])
        }
        try home.keychain.certificates.add(contentsOf: [
            CertificateItem(certificate, label: "web"), CertificateItem(home.certificate("inter")),
        ])
    }

    @Test(arguments: [2048, 3072])
    func `if the token has raw RSA only, the padding of PSS is made in the process`(bits: Int) async throws {
        let home = try TLSHome()
        try restricted(home, to: [.rsaPKCS, .rsaX509], bits: bits)
        let identity = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(identity.key.signatureAlgorithms.count == 6)
        let server = try await TLSServer(identity.serverConfiguration())
        for algorithm in ["rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384", "rsa_pss_rsae_sha512"] {
            let result = try server.sClient(home, ["-tls1_3", "-sigalgs", algorithm])
            #expect(result.status == 0 && result.stdout.contains("Peer signature type: RSA-PSS"), "\(result.stderr)")
        }
    }

    @Test func `a key with RSA PKCS#1 only serves TLS 1_2, and reports that where 1_3 is required`() async throws {
        let home = try TLSHome()
        try restricted(home, to: [.rsaPKCS])
        let identity = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(identity.key.signatureAlgorithms == [.rsaPkcs1Sha256, .rsaPkcs1Sha384, .rsaPkcs1Sha512])
        #expect(!identity.key.supportsTLS13)
        let server = try await TLSServer(identity.serverConfiguration())
        #expect(try server.sClient(home, ["-tls1_2"]).stdout.contains("Peer signature type: RSA\n"))
        #expect(try server.sClient(home, ["-tls1_3"]).status != 0)
        // A client that supports both gets the version that works.
        #expect(try server.curl(home).body == "ok")
        var requirements = TLSRequirements.server
        requirements.requiresTLS13 = true
        let found = await code {
            _ = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain, requirements: requirements)
        }
        #expect(found == .mechanismUnsupported)
    }

    @Test func `a key that cannot sign at all is refused at load`() async throws {
        let home = try TLSHome()
        try restricted(home, to: [.rsaOAEP])
        let found = await code { _ = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain) }
        #expect(found == .mechanismUnsupported)
    }

    @Test(arguments: [
        (KeyKind.p256, SignatureAlgorithm.ecdsaSecp256R1Sha256), (.p384, .ecdsaSecp384R1Sha384),
        (.p521, .ecdsaSecp521R1Sha512), (.ed25519, .ed25519), (.rsa, .rsaPssRsaeSha256),
    ])
    func `the algorithm of TLS 1_3 comes first`(kind: KeyKind, first: SignatureAlgorithm) async throws {
        let home = try TLSHome()
        try home.add("web", kind)
        let identity = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(identity.key.signatureAlgorithms.first == first)
        #expect(identity.key.supportsTLS13)
    }
}
#endif
