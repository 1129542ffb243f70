#if NIOSSL
import NIOSSL
import KeyfobOpenSSL

extension SignatureAlgorithm {
    /// The algorithms of RFC 8446 4.2.3 and RFC 5246 7.4.1.4.1 for keys of a kind, best first.
    ///
    /// None uses SHA-1. TLS 1.3 binds a curve to one hash, which comes first; TLS 1.2 allows any.
    static func candidates(for algorithm: KeyAlgorithm) -> [SignatureAlgorithm] {
        switch algorithm {
        case .rsa:
            [
                .rsaPssRsaeSha256, .rsaPssRsaeSha384, .rsaPssRsaeSha512,
                .rsaPkcs1Sha256, .rsaPkcs1Sha384, .rsaPkcs1Sha512,
            ]
        case .ec(.p256): [.ecdsaSecp256R1Sha256, .ecdsaSecp384R1Sha384, .ecdsaSecp521R1Sha512]
        case .ec(.p384): [.ecdsaSecp384R1Sha384, .ecdsaSecp256R1Sha256, .ecdsaSecp521R1Sha512]
        case .ec(.p521): [.ecdsaSecp521R1Sha512, .ecdsaSecp384R1Sha384, .ecdsaSecp256R1Sha256]
        case .ed25519: [.ed25519]
        default: []
        }
    }

    /// The algorithms for all kinds of keys, best first.
    static let all: [SignatureAlgorithm] =
        candidates(for: .ec(.p256)) + [.ed25519] + candidates(for: .rsa(bits: 2048))

    /// Whether it is RSA-PSS.
    var isPSS: Bool { [.rsaPssRsaeSha256, .rsaPssRsaeSha384, .rsaPssRsaeSha512].contains(self) }

    /// The scheme with which the token signs for the algorithm; `nil` for algorithms that are not offered.
    var scheme: SignatureScheme? {
        switch self {
        case .rsaPssRsaeSha256: .rsaPSS(.sha256)
        case .rsaPssRsaeSha384: .rsaPSS(.sha384)
        case .rsaPssRsaeSha512: .rsaPSS(.sha512)
        case .rsaPkcs1Sha256: .rsaPKCS1(.sha256)
        case .rsaPkcs1Sha384: .rsaPKCS1(.sha384)
        case .rsaPkcs1Sha512: .rsaPKCS1(.sha512)
        case .ecdsaSecp256R1Sha256: .ecdsa(.sha256)
        case .ecdsaSecp384R1Sha384: .ecdsa(.sha384)
        case .ecdsaSecp521R1Sha512: .ecdsa(.sha512)
        case .ed25519: .ed25519
        default: nil
        }
    }

    /// Returns whether a key of a kind may sign a TLS 1.3 handshake with the algorithm (RFC 8446 4.2.3).
    func servesTLS13(with algorithm: KeyAlgorithm) -> Bool {
        switch (self, algorithm) {
        case (.rsaPssRsaeSha256, .rsa), (.rsaPssRsaeSha384, .rsa), (.rsaPssRsaeSha512, .rsa): true
        case (.ecdsaSecp256R1Sha256, .ec(.p256)), (.ecdsaSecp384R1Sha384, .ec(.p384)): true
        case (.ecdsaSecp521R1Sha512, .ec(.p521)), (.ed25519, .ed25519): true
        default: false
        }
    }
}
#endif
