// Written by Scripts/generate-constants; change the script, not this file.

/// Mechanisms of public-key algorithms.
extension MechanismType {
    /// Corresponds to `CKM_RSA_PKCS_KEY_PAIR_GEN`.
    public static let rsaPKCSKeyPairGeneration = MechanismType(rawValue: 0x0)
    /// Corresponds to `CKM_RSA_PKCS`.
    public static let rsaPKCS = MechanismType(rawValue: 0x1)
    /// Corresponds to `CKM_RSA_9796`.
    public static let rsa9796 = MechanismType(rawValue: 0x2)
    /// RSA without padding. Corresponds to `CKM_RSA_X_509`.
    public static let rsaX509 = MechanismType(rawValue: 0x3)
    /// Corresponds to `CKM_MD2_RSA_PKCS`.
    public static let md2RSAPKCS = MechanismType(rawValue: 0x4)
    /// Corresponds to `CKM_MD5_RSA_PKCS`.
    public static let md5RSAPKCS = MechanismType(rawValue: 0x5)
    /// Corresponds to `CKM_SHA1_RSA_PKCS`.
    public static let sha1RSAPKCS = MechanismType(rawValue: 0x6)
    /// Corresponds to `CKM_RIPEMD128_RSA_PKCS`.
    public static let ripemd128RSAPKCS = MechanismType(rawValue: 0x7)
    /// Corresponds to `CKM_RIPEMD160_RSA_PKCS`.
    public static let ripemd160RSAPKCS = MechanismType(rawValue: 0x8)
    /// Corresponds to `CKM_RSA_PKCS_OAEP`.
    public static let rsaOAEP = MechanismType(rawValue: 0x9)
    /// Corresponds to `CKM_RSA_X9_31_KEY_PAIR_GEN`.
    public static let rsaX9_31KeyPairGeneration = MechanismType(rawValue: 0xa)
    /// Corresponds to `CKM_RSA_X9_31`.
    public static let rsaX9_31 = MechanismType(rawValue: 0xb)
    /// Corresponds to `CKM_SHA1_RSA_X9_31`.
    public static let sha1RSAX9_31 = MechanismType(rawValue: 0xc)
    /// RSA-PSS over a digest made by the caller. Corresponds to `CKM_RSA_PKCS_PSS`.
    public static let rsaPSS = MechanismType(rawValue: 0xd)
    /// Corresponds to `CKM_SHA1_RSA_PKCS_PSS`.
    public static let sha1RSAPSS = MechanismType(rawValue: 0xe)
    /// Corresponds to `CKM_DSA_KEY_PAIR_GEN`.
    public static let dsaKeyPairGeneration = MechanismType(rawValue: 0x10)
    /// Corresponds to `CKM_DSA`.
    public static let dsa = MechanismType(rawValue: 0x11)
    /// Corresponds to `CKM_DSA_SHA1`.
    public static let dsaSHA1 = MechanismType(rawValue: 0x12)
    /// Corresponds to `CKM_DSA_SHA224`.
    public static let dsaSHA224 = MechanismType(rawValue: 0x13)
    /// Corresponds to `CKM_DSA_SHA256`.
    public static let dsaSHA256 = MechanismType(rawValue: 0x14)
    /// Corresponds to `CKM_DSA_SHA384`.
    public static let dsaSHA384 = MechanismType(rawValue: 0x15)
    /// Corresponds to `CKM_DSA_SHA512`.
    public static let dsaSHA512 = MechanismType(rawValue: 0x16)
    /// Corresponds to `CKM_DH_PKCS_KEY_PAIR_GEN`.
    public static let dhPKCSKeyPairGeneration = MechanismType(rawValue: 0x20)
    /// Corresponds to `CKM_DH_PKCS_DERIVE`.
    public static let dhPKCSDerive = MechanismType(rawValue: 0x21)
    /// Corresponds to `CKM_X9_42_DH_KEY_PAIR_GEN`.
    public static let x9_42DHKeyPairGeneration = MechanismType(rawValue: 0x30)
    /// Corresponds to `CKM_X9_42_DH_DERIVE`.
    public static let x9_42DHDerive = MechanismType(rawValue: 0x31)
    /// Corresponds to `CKM_X9_42_DH_HYBRID_DERIVE`.
    public static let x9_42DHHybridDerive = MechanismType(rawValue: 0x32)
    /// Corresponds to `CKM_X9_42_MQV_DERIVE`.
    public static let x9_42MQVDerive = MechanismType(rawValue: 0x33)
    /// Corresponds to `CKM_SHA256_RSA_PKCS`.
    public static let sha256RSAPKCS = MechanismType(rawValue: 0x40)
    /// Corresponds to `CKM_SHA384_RSA_PKCS`.
    public static let sha384RSAPKCS = MechanismType(rawValue: 0x41)
    /// Corresponds to `CKM_SHA512_RSA_PKCS`.
    public static let sha512RSAPKCS = MechanismType(rawValue: 0x42)
    /// Corresponds to `CKM_SHA256_RSA_PKCS_PSS`.
    public static let sha256RSAPSS = MechanismType(rawValue: 0x43)
    /// Corresponds to `CKM_SHA384_RSA_PKCS_PSS`.
    public static let sha384RSAPSS = MechanismType(rawValue: 0x44)
    /// Corresponds to `CKM_SHA512_RSA_PKCS_PSS`.
    public static let sha512RSAPSS = MechanismType(rawValue: 0x45)
    /// Corresponds to `CKM_SHA224_RSA_PKCS`.
    public static let sha224RSAPKCS = MechanismType(rawValue: 0x46)
    /// Corresponds to `CKM_SHA224_RSA_PKCS_PSS`.
    public static let sha224RSAPSS = MechanismType(rawValue: 0x47)
    /// Corresponds to `CKM_KEA_KEY_PAIR_GEN`.
    public static let keaKeyPairGeneration = MechanismType(rawValue: 0x1010)
    /// Corresponds to `CKM_KEA_KEY_DERIVE`.
    public static let keaKeyDerive = MechanismType(rawValue: 0x1011)
    /// Corresponds to `CKM_EC_KEY_PAIR_GEN`.
    public static let ecKeyPairGeneration = MechanismType(rawValue: 0x1040)
    /// ECDSA over a digest made by the caller. Corresponds to `CKM_ECDSA`.
    public static let ecdsa = MechanismType(rawValue: 0x1041)
    /// Corresponds to `CKM_ECDSA_SHA1`.
    public static let ecdsaSHA1 = MechanismType(rawValue: 0x1042)
    /// Corresponds to `CKM_ECDSA_SHA224`.
    public static let ecdsaSHA224 = MechanismType(rawValue: 0x1043)
    /// Corresponds to `CKM_ECDSA_SHA256`.
    public static let ecdsaSHA256 = MechanismType(rawValue: 0x1044)
    /// Corresponds to `CKM_ECDSA_SHA384`.
    public static let ecdsaSHA384 = MechanismType(rawValue: 0x1045)
    /// Corresponds to `CKM_ECDSA_SHA512`.
    public static let ecdsaSHA512 = MechanismType(rawValue: 0x1046)
    /// Corresponds to `CKM_ECDH1_DERIVE`.
    public static let ecdh1Derive = MechanismType(rawValue: 0x1050)
    /// Corresponds to `CKM_ECDH1_COFACTOR_DERIVE`.
    public static let ecdh1CofactorDerive = MechanismType(rawValue: 0x1051)
    /// Corresponds to `CKM_ECMQV_DERIVE`.
    public static let ecmqvDerive = MechanismType(rawValue: 0x1052)
    /// Corresponds to `CKM_ECDH_AES_KEY_WRAP`.
    public static let ecdhAESKeyWrap = MechanismType(rawValue: 0x1053)
    /// Corresponds to `CKM_RSA_AES_KEY_WRAP`.
    public static let rsaAESKeyWrap = MechanismType(rawValue: 0x1054)
    /// Corresponds to `CKM_EC_EDWARDS_KEY_PAIR_GEN`.
    public static let ecEdwardsKeyPairGeneration = MechanismType(rawValue: 0x1055)
    /// Corresponds to `CKM_EC_MONTGOMERY_KEY_PAIR_GEN`.
    public static let ecMontgomeryKeyPairGeneration = MechanismType(rawValue: 0x1056)
    /// EdDSA over the message itself (Cryptoki 3.0). Corresponds to `CKM_EDDSA`.
    public static let eddsa = MechanismType(rawValue: 0x1057)
    /// Corresponds to `CKM_XEDDSA`.
    public static let xeddsa = MechanismType(rawValue: 0x1058)
    /// Corresponds to `CKM_GOSTR3410_KEY_PAIR_GEN`.
    public static let gostr3410KeyPairGeneration = MechanismType(rawValue: 0x1200)
    /// Corresponds to `CKM_GOSTR3410`.
    public static let gostr3410 = MechanismType(rawValue: 0x1201)
    /// Corresponds to `CKM_GOSTR3410_WITH_GOSTR3411`.
    public static let gostr3410WithGOSTR3411 = MechanismType(rawValue: 0x1202)
    /// Corresponds to `CKM_GOSTR3410_KEY_WRAP`.
    public static let gostr3410KeyWrap = MechanismType(rawValue: 0x1203)
    /// Corresponds to `CKM_GOSTR3410_DERIVE`.
    public static let gostr3410Derive = MechanismType(rawValue: 0x1204)
    /// Corresponds to `CKM_DSA_PARAMETER_GEN`.
    public static let dsaParameterGeneration = MechanismType(rawValue: 0x2000)
    /// Corresponds to `CKM_DH_PKCS_PARAMETER_GEN`.
    public static let dhPKCSParameterGeneration = MechanismType(rawValue: 0x2001)
    /// Corresponds to `CKM_X9_42_DH_PARAMETER_GEN`.
    public static let x9_42DHParameterGeneration = MechanismType(rawValue: 0x2002)
    /// Corresponds to `CKM_DSA_PROBABLISTIC_PARAMETER_GEN`.
    public static let dsaProbablisticParameterGeneration = MechanismType(rawValue: 0x2003)
    /// Corresponds to `CKM_DSA_SHAWE_TAYLOR_PARAMETER_GEN`.
    public static let dsaShaweTaylorParameterGeneration = MechanismType(rawValue: 0x2004)
    /// Corresponds to `CKM_RSA_PKCS_TPM_1_1`.
    public static let rsaPKCSTPM1_1 = MechanismType(rawValue: 0x4001)
    /// Corresponds to `CKM_RSA_PKCS_OAEP_TPM_1_1`.
    public static let rsaPKCSOAEPTPM1_1 = MechanismType(rawValue: 0x4002)
}
