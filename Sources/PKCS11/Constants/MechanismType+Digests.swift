// Written by Scripts/generate-constants; change the script, not this file.

/// Mechanisms that digest, authenticate or derive.
extension MechanismType {
    /// Corresponds to `CKM_SHA512_224`.
    public static let sha512_224 = MechanismType(rawValue: 0x48)
    /// Corresponds to `CKM_SHA512_224_HMAC`.
    public static let sha512_224HMAC = MechanismType(rawValue: 0x49)
    /// Corresponds to `CKM_SHA512_224_HMAC_GENERAL`.
    public static let sha512_224HMACGeneral = MechanismType(rawValue: 0x4a)
    /// Corresponds to `CKM_SHA512_224_KEY_DERIVATION`.
    public static let sha512_224KeyDerivation = MechanismType(rawValue: 0x4b)
    /// Corresponds to `CKM_SHA512_256`.
    public static let sha512_256 = MechanismType(rawValue: 0x4c)
    /// Corresponds to `CKM_SHA512_256_HMAC`.
    public static let sha512_256HMAC = MechanismType(rawValue: 0x4d)
    /// Corresponds to `CKM_SHA512_256_HMAC_GENERAL`.
    public static let sha512_256HMACGeneral = MechanismType(rawValue: 0x4e)
    /// Corresponds to `CKM_SHA512_256_KEY_DERIVATION`.
    public static let sha512_256KeyDerivation = MechanismType(rawValue: 0x4f)
    /// Corresponds to `CKM_SHA512_T`.
    public static let sha512T = MechanismType(rawValue: 0x50)
    /// Corresponds to `CKM_SHA512_T_HMAC`.
    public static let sha512THMAC = MechanismType(rawValue: 0x51)
    /// Corresponds to `CKM_SHA512_T_HMAC_GENERAL`.
    public static let sha512THMACGeneral = MechanismType(rawValue: 0x52)
    /// Corresponds to `CKM_SHA512_T_KEY_DERIVATION`.
    public static let sha512TKeyDerivation = MechanismType(rawValue: 0x53)
    /// Corresponds to `CKM_MD2`.
    public static let md2 = MechanismType(rawValue: 0x200)
    /// Corresponds to `CKM_MD2_HMAC`.
    public static let md2HMAC = MechanismType(rawValue: 0x201)
    /// Corresponds to `CKM_MD2_HMAC_GENERAL`.
    public static let md2HMACGeneral = MechanismType(rawValue: 0x202)
    /// Corresponds to `CKM_MD5`.
    public static let md5 = MechanismType(rawValue: 0x210)
    /// Corresponds to `CKM_MD5_HMAC`.
    public static let md5HMAC = MechanismType(rawValue: 0x211)
    /// Corresponds to `CKM_MD5_HMAC_GENERAL`.
    public static let md5HMACGeneral = MechanismType(rawValue: 0x212)
    /// Corresponds to `CKM_SHA_1`.
    public static let sha1 = MechanismType(rawValue: 0x220)
    /// Corresponds to `CKM_SHA_1_HMAC`.
    public static let sha1HMAC = MechanismType(rawValue: 0x221)
    /// Corresponds to `CKM_SHA_1_HMAC_GENERAL`.
    public static let sha1HMACGeneral = MechanismType(rawValue: 0x222)
    /// Corresponds to `CKM_RIPEMD128`.
    public static let ripemd128 = MechanismType(rawValue: 0x230)
    /// Corresponds to `CKM_RIPEMD128_HMAC`.
    public static let ripemd128HMAC = MechanismType(rawValue: 0x231)
    /// Corresponds to `CKM_RIPEMD128_HMAC_GENERAL`.
    public static let ripemd128HMACGeneral = MechanismType(rawValue: 0x232)
    /// Corresponds to `CKM_RIPEMD160`.
    public static let ripemd160 = MechanismType(rawValue: 0x240)
    /// Corresponds to `CKM_RIPEMD160_HMAC`.
    public static let ripemd160HMAC = MechanismType(rawValue: 0x241)
    /// Corresponds to `CKM_RIPEMD160_HMAC_GENERAL`.
    public static let ripemd160HMACGeneral = MechanismType(rawValue: 0x242)
    /// Corresponds to `CKM_SHA256`.
    public static let sha256 = MechanismType(rawValue: 0x250)
    /// Corresponds to `CKM_SHA256_HMAC`.
    public static let sha256HMAC = MechanismType(rawValue: 0x251)
    /// Corresponds to `CKM_SHA256_HMAC_GENERAL`.
    public static let sha256HMACGeneral = MechanismType(rawValue: 0x252)
    /// Corresponds to `CKM_SHA224`.
    public static let sha224 = MechanismType(rawValue: 0x255)
    /// Corresponds to `CKM_SHA224_HMAC`.
    public static let sha224HMAC = MechanismType(rawValue: 0x256)
    /// Corresponds to `CKM_SHA224_HMAC_GENERAL`.
    public static let sha224HMACGeneral = MechanismType(rawValue: 0x257)
    /// Corresponds to `CKM_SHA384`.
    public static let sha384 = MechanismType(rawValue: 0x260)
    /// Corresponds to `CKM_SHA384_HMAC`.
    public static let sha384HMAC = MechanismType(rawValue: 0x261)
    /// Corresponds to `CKM_SHA384_HMAC_GENERAL`.
    public static let sha384HMACGeneral = MechanismType(rawValue: 0x262)
    /// Corresponds to `CKM_SHA512`.
    public static let sha512 = MechanismType(rawValue: 0x270)
    /// Corresponds to `CKM_SHA512_HMAC`.
    public static let sha512HMAC = MechanismType(rawValue: 0x271)
    /// Corresponds to `CKM_SHA512_HMAC_GENERAL`.
    public static let sha512HMACGeneral = MechanismType(rawValue: 0x272)
    /// Corresponds to `CKM_SECURID_KEY_GEN`.
    public static let securidKeyGeneration = MechanismType(rawValue: 0x280)
    /// Corresponds to `CKM_SECURID`.
    public static let securid = MechanismType(rawValue: 0x282)
    /// Corresponds to `CKM_HOTP_KEY_GEN`.
    public static let hotpKeyGeneration = MechanismType(rawValue: 0x290)
    /// Corresponds to `CKM_HOTP`.
    public static let hotp = MechanismType(rawValue: 0x291)
    /// Corresponds to `CKM_ACTI`.
    public static let acti = MechanismType(rawValue: 0x2a0)
    /// Corresponds to `CKM_ACTI_KEY_GEN`.
    public static let actiKeyGeneration = MechanismType(rawValue: 0x2a1)
    /// Corresponds to `CKM_GENERIC_SECRET_KEY_GEN`.
    public static let genericSecretKeyGeneration = MechanismType(rawValue: 0x350)
    /// Corresponds to `CKM_CONCATENATE_BASE_AND_KEY`.
    public static let concatenateBaseAndKey = MechanismType(rawValue: 0x360)
    /// Corresponds to `CKM_CONCATENATE_BASE_AND_DATA`.
    public static let concatenateBaseAndData = MechanismType(rawValue: 0x362)
    /// Corresponds to `CKM_CONCATENATE_DATA_AND_BASE`.
    public static let concatenateDataAndBase = MechanismType(rawValue: 0x363)
    /// Corresponds to `CKM_XOR_BASE_AND_DATA`.
    public static let xorBaseAndData = MechanismType(rawValue: 0x364)
    /// Corresponds to `CKM_EXTRACT_KEY_FROM_KEY`.
    public static let extractKeyFromKey = MechanismType(rawValue: 0x365)
    /// Corresponds to `CKM_SSL3_PRE_MASTER_KEY_GEN`.
    public static let ssl3PreMasterKeyGeneration = MechanismType(rawValue: 0x370)
    /// Corresponds to `CKM_SSL3_MASTER_KEY_DERIVE`.
    public static let ssl3MasterKeyDerive = MechanismType(rawValue: 0x371)
    /// Corresponds to `CKM_SSL3_KEY_AND_MAC_DERIVE`.
    public static let ssl3KeyAndMACDerive = MechanismType(rawValue: 0x372)
    /// Corresponds to `CKM_SSL3_MASTER_KEY_DERIVE_DH`.
    public static let ssl3MasterKeyDeriveDH = MechanismType(rawValue: 0x373)
    /// Corresponds to `CKM_TLS_PRE_MASTER_KEY_GEN`.
    public static let tlsPreMasterKeyGeneration = MechanismType(rawValue: 0x374)
    /// Corresponds to `CKM_TLS_MASTER_KEY_DERIVE`.
    public static let tlsMasterKeyDerive = MechanismType(rawValue: 0x375)
    /// Corresponds to `CKM_TLS_KEY_AND_MAC_DERIVE`.
    public static let tlsKeyAndMACDerive = MechanismType(rawValue: 0x376)
    /// Corresponds to `CKM_TLS_MASTER_KEY_DERIVE_DH`.
    public static let tlsMasterKeyDeriveDH = MechanismType(rawValue: 0x377)
    /// Corresponds to `CKM_TLS_PRF`.
    public static let tlsPRF = MechanismType(rawValue: 0x378)
    /// Corresponds to `CKM_SSL3_MD5_MAC`.
    public static let ssl3MD5MAC = MechanismType(rawValue: 0x380)
    /// Corresponds to `CKM_SSL3_SHA1_MAC`.
    public static let ssl3SHA1MAC = MechanismType(rawValue: 0x381)
    /// Corresponds to `CKM_MD5_KEY_DERIVATION`.
    public static let md5KeyDerivation = MechanismType(rawValue: 0x390)
    /// Corresponds to `CKM_MD2_KEY_DERIVATION`.
    public static let md2KeyDerivation = MechanismType(rawValue: 0x391)
    /// Corresponds to `CKM_SHA1_KEY_DERIVATION`.
    public static let sha1KeyDerivation = MechanismType(rawValue: 0x392)
    /// Corresponds to `CKM_SHA256_KEY_DERIVATION`.
    public static let sha256KeyDerivation = MechanismType(rawValue: 0x393)
    /// Corresponds to `CKM_SHA384_KEY_DERIVATION`.
    public static let sha384KeyDerivation = MechanismType(rawValue: 0x394)
    /// Corresponds to `CKM_SHA512_KEY_DERIVATION`.
    public static let sha512KeyDerivation = MechanismType(rawValue: 0x395)
    /// Corresponds to `CKM_SHA224_KEY_DERIVATION`.
    public static let sha224KeyDerivation = MechanismType(rawValue: 0x396)
    /// Corresponds to `CKM_PBE_MD2_DES_CBC`.
    public static let pbeMD2DesCBC = MechanismType(rawValue: 0x3a0)
    /// Corresponds to `CKM_PBE_MD5_DES_CBC`.
    public static let pbeMD5DesCBC = MechanismType(rawValue: 0x3a1)
    /// Corresponds to `CKM_PBE_MD5_CAST_CBC`.
    public static let pbeMD5CASTCBC = MechanismType(rawValue: 0x3a2)
    /// Corresponds to `CKM_PBE_MD5_CAST3_CBC`.
    public static let pbeMD5CAST3CBC = MechanismType(rawValue: 0x3a3)
    /// Corresponds to `CKM_PBE_MD5_CAST5_CBC`.
    public static let pbeMD5CAST5CBC = MechanismType(rawValue: 0x3a4)
    /// Corresponds to `CKM_PBE_SHA1_CAST5_CBC`.
    public static let pbeSHA1CAST5CBC = MechanismType(rawValue: 0x3a5)
    /// Corresponds to `CKM_PBE_SHA1_RC4_128`.
    public static let pbeSHA1RC4_128 = MechanismType(rawValue: 0x3a6)
    /// Corresponds to `CKM_PBE_SHA1_RC4_40`.
    public static let pbeSHA1RC4_40 = MechanismType(rawValue: 0x3a7)
    /// Corresponds to `CKM_PBE_SHA1_DES3_EDE_CBC`.
    public static let pbeSHA1DES3EDECBC = MechanismType(rawValue: 0x3a8)
    /// Corresponds to `CKM_PBE_SHA1_DES2_EDE_CBC`.
    public static let pbeSHA1DES2EDECBC = MechanismType(rawValue: 0x3a9)
    /// Corresponds to `CKM_PBE_SHA1_RC2_128_CBC`.
    public static let pbeSHA1RC2_128CBC = MechanismType(rawValue: 0x3aa)
    /// Corresponds to `CKM_PBE_SHA1_RC2_40_CBC`.
    public static let pbeSHA1RC2_40CBC = MechanismType(rawValue: 0x3ab)
    /// Corresponds to `CKM_PKCS5_PBKD2`.
    public static let pkcs5PBKD2 = MechanismType(rawValue: 0x3b0)
    /// Corresponds to `CKM_PBA_SHA1_WITH_SHA1_HMAC`.
    public static let pbaSHA1WithSHA1HMAC = MechanismType(rawValue: 0x3c0)
    /// Corresponds to `CKM_WTLS_PRE_MASTER_KEY_GEN`.
    public static let wtlsPreMasterKeyGeneration = MechanismType(rawValue: 0x3d0)
    /// Corresponds to `CKM_WTLS_MASTER_KEY_DERIVE`.
    public static let wtlsMasterKeyDerive = MechanismType(rawValue: 0x3d1)
    /// Corresponds to `CKM_WTLS_MASTER_KEY_DERIVE_DH_ECC`.
    public static let wtlsMasterKeyDeriveDHECC = MechanismType(rawValue: 0x3d2)
    /// Corresponds to `CKM_WTLS_PRF`.
    public static let wtlsPRF = MechanismType(rawValue: 0x3d3)
    /// Corresponds to `CKM_WTLS_SERVER_KEY_AND_MAC_DERIVE`.
    public static let wtlsServerKeyAndMACDerive = MechanismType(rawValue: 0x3d4)
    /// Corresponds to `CKM_WTLS_CLIENT_KEY_AND_MAC_DERIVE`.
    public static let wtlsClientKeyAndMACDerive = MechanismType(rawValue: 0x3d5)
    /// Corresponds to `CKM_TLS10_MAC_SERVER`.
    public static let tls10MACServer = MechanismType(rawValue: 0x3d6)
    /// Corresponds to `CKM_TLS10_MAC_CLIENT`.
    public static let tls10MACClient = MechanismType(rawValue: 0x3d7)
    /// Corresponds to `CKM_TLS12_MAC`.
    public static let tls12MAC = MechanismType(rawValue: 0x3d8)
    /// Corresponds to `CKM_TLS12_KDF`.
    public static let tls12KDF = MechanismType(rawValue: 0x3d9)
    /// Corresponds to `CKM_TLS12_MASTER_KEY_DERIVE`.
    public static let tls12MasterKeyDerive = MechanismType(rawValue: 0x3e0)
    /// Corresponds to `CKM_TLS12_KEY_AND_MAC_DERIVE`.
    public static let tls12KeyAndMACDerive = MechanismType(rawValue: 0x3e1)
    /// Corresponds to `CKM_TLS12_MASTER_KEY_DERIVE_DH`.
    public static let tls12MasterKeyDeriveDH = MechanismType(rawValue: 0x3e2)
    /// Corresponds to `CKM_TLS12_KEY_SAFE_DERIVE`.
    public static let tls12KeySafeDerive = MechanismType(rawValue: 0x3e3)
    /// Corresponds to `CKM_TLS_MAC`.
    public static let tlsMAC = MechanismType(rawValue: 0x3e4)
    /// Corresponds to `CKM_TLS_KDF`.
    public static let tlsKDF = MechanismType(rawValue: 0x3e5)
    /// Corresponds to `CKM_CMS_SIG`.
    public static let cmsSig = MechanismType(rawValue: 0x500)
    /// Corresponds to `CKM_KIP_DERIVE`.
    public static let kipDerive = MechanismType(rawValue: 0x510)
    /// Corresponds to `CKM_KIP_WRAP`.
    public static let kipWrap = MechanismType(rawValue: 0x511)
    /// Corresponds to `CKM_KIP_MAC`.
    public static let kipMAC = MechanismType(rawValue: 0x512)
    /// Corresponds to `CKM_FASTHASH`.
    public static let fasthash = MechanismType(rawValue: 0x1070)
    /// Corresponds to `CKM_GOSTR3411`.
    public static let gostr3411 = MechanismType(rawValue: 0x1210)
    /// Corresponds to `CKM_GOSTR3411_HMAC`.
    public static let gostr3411HMAC = MechanismType(rawValue: 0x1211)
    /// Corresponds to `CKM_HKDF_DERIVE`.
    public static let hkdfDerive = MechanismType(rawValue: 0x402a)
    /// Corresponds to `CKM_HKDF_DATA`.
    public static let hkdfData = MechanismType(rawValue: 0x402b)
    /// Corresponds to `CKM_HKDF_KEY_GEN`.
    public static let hkdfKeyGeneration = MechanismType(rawValue: 0x402c)
}
