import COpenSSL
import KeyfobPrimitives

/// The padding and encryption of a message with an RSA key.
public struct EncryptionScheme: Hashable, Sendable, CustomStringConvertible {
    enum Family: Hashable, Sendable { case rsaRaw, rsaPKCS1, rsaOAEP }

    let family: Family
    /// The digest of OAEP and of its MGF1; `nil` for the other schemes.
    public let digest: Digest?

    /// RSAES-OAEP with MGF1 of the same digest and an empty label (RFC 8017 7.1).
    public static func rsaOAEP(_ digest: Digest) -> Self { Self(family: .rsaOAEP, digest: digest) }
    /// RSAES-PKCS1-v1_5 (RFC 8017 section 7.2), for old protocols only.
    public static let rsaPKCS1 = Self(family: .rsaPKCS1, digest: nil)
    /// The RSA primitive (RFC 8017 section 5.1) on a number below the modulus; the result has the size of the key.
    ///
    /// > Important: Without padding, a guessable message can be confirmed. Only for protocols that pad by themselves.
    public static let rsaRaw = Self(family: .rsaRaw, digest: nil)

    /// How many bytes of a block the padding takes.
    public var overhead: Int {
        switch family {
        case .rsaRaw: 0
        case .rsaPKCS1: 11
        case .rsaOAEP: 2 * (digest?.count ?? 0) + 2
        }
    }

    /// The family and digest.
    public var description: String { digest.map { "\(family) \($0)" } ?? "\(family)" }

    /// Sets the padding on a context of EVP_PKEY_encrypt_init(3) or EVP_PKEY_decrypt_init(3).
    func configure(_ context: OpaquePointer) throws(OpenSSLError) {
        switch family {
        case .rsaRaw:
            try check("EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING))
        case .rsaPKCS1:
            try check("EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING))
        case .rsaOAEP:
            try check(
                "EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING))
            try check(
                "EVP_PKEY_CTX_set_rsa_oaep_md_name",
                unsafe EVP_PKEY_CTX_set_rsa_oaep_md_name(context, digest?.name, nil))
            try check(
                "EVP_PKEY_CTX_set_rsa_mgf1_md_name",
                unsafe EVP_PKEY_CTX_set_rsa_mgf1_md_name(context, digest?.name, nil))
        }
    }
}
