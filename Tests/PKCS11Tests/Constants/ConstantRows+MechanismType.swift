// Written by Scripts/generate-constants; change the script, not this file.

import CP11Kit
import PKCS11

extension ConstantRow {
    /// Every `CKM_*` of the header and the shim.
    static let mechanismTypes: [ConstantRow] = [
        ConstantRow(
            "CKM_RSA_PKCS_KEY_PAIR_GEN", "CKM_RSA_PKCS_KEY_PAIR_GEN",
            MechanismType.rsaPKCSKeyPairGeneration, CKM_RSA_PKCS_KEY_PAIR_GEN),
        ConstantRow("CKM_RSA_PKCS", "CKM_RSA_PKCS", MechanismType.rsaPKCS, CKM_RSA_PKCS),
        ConstantRow("CKM_RSA_9796", "CKM_RSA_9796", MechanismType.rsa9796, CKM_RSA_9796),
        ConstantRow("CKM_RSA_X_509", "CKM_RSA_X_509", MechanismType.rsaX509, CKM_RSA_X_509),
        ConstantRow("CKM_MD2_RSA_PKCS", "CKM_MD2_RSA_PKCS", MechanismType.md2RSAPKCS, CKM_MD2_RSA_PKCS),
        ConstantRow("CKM_MD5_RSA_PKCS", "CKM_MD5_RSA_PKCS", MechanismType.md5RSAPKCS, CKM_MD5_RSA_PKCS),
        ConstantRow("CKM_SHA1_RSA_PKCS", "CKM_SHA1_RSA_PKCS", MechanismType.sha1RSAPKCS, CKM_SHA1_RSA_PKCS),
        ConstantRow(
            "CKM_RIPEMD128_RSA_PKCS", "CKM_RIPEMD128_RSA_PKCS",
            MechanismType.ripemd128RSAPKCS, CKM_RIPEMD128_RSA_PKCS),
        ConstantRow(
            "CKM_RIPEMD160_RSA_PKCS", "CKM_RIPEMD160_RSA_PKCS",
            MechanismType.ripemd160RSAPKCS, CKM_RIPEMD160_RSA_PKCS),
        ConstantRow("CKM_RSA_PKCS_OAEP", "CKM_RSA_PKCS_OAEP", MechanismType.rsaOAEP, CKM_RSA_PKCS_OAEP),
        ConstantRow(
            "CKM_RSA_X9_31_KEY_PAIR_GEN", "CKM_RSA_X9_31_KEY_PAIR_GEN",
            MechanismType.rsaX9_31KeyPairGeneration, CKM_RSA_X9_31_KEY_PAIR_GEN),
        ConstantRow("CKM_RSA_X9_31", "CKM_RSA_X9_31", MechanismType.rsaX9_31, CKM_RSA_X9_31),
        ConstantRow("CKM_SHA1_RSA_X9_31", "CKM_SHA1_RSA_X9_31", MechanismType.sha1RSAX9_31, CKM_SHA1_RSA_X9_31),
        ConstantRow("CKM_RSA_PKCS_PSS", "CKM_RSA_PKCS_PSS", MechanismType.rsaPSS, CKM_RSA_PKCS_PSS),
        ConstantRow("CKM_SHA1_RSA_PKCS_PSS", "CKM_SHA1_RSA_PKCS_PSS", MechanismType.sha1RSAPSS, CKM_SHA1_RSA_PKCS_PSS),
        ConstantRow(
            "CKM_DSA_KEY_PAIR_GEN", "CKM_DSA_KEY_PAIR_GEN",
            MechanismType.dsaKeyPairGeneration, CKM_DSA_KEY_PAIR_GEN),
        ConstantRow("CKM_DSA", "CKM_DSA", MechanismType.dsa, CKM_DSA),
        ConstantRow("CKM_DSA_SHA1", "CKM_DSA_SHA1", MechanismType.dsaSHA1, CKM_DSA_SHA1),
        ConstantRow("CKM_DSA_SHA224", "CKM_DSA_SHA224", MechanismType.dsaSHA224, CKM_DSA_SHA224),
        ConstantRow("CKM_DSA_SHA256", "CKM_DSA_SHA256", MechanismType.dsaSHA256, CKM_DSA_SHA256),
        ConstantRow("CKM_DSA_SHA384", "CKM_DSA_SHA384", MechanismType.dsaSHA384, CKM_DSA_SHA384),
        ConstantRow("CKM_DSA_SHA512", "CKM_DSA_SHA512", MechanismType.dsaSHA512, CKM_DSA_SHA512),
        ConstantRow(
            "CKM_DH_PKCS_KEY_PAIR_GEN", "CKM_DH_PKCS_KEY_PAIR_GEN",
            MechanismType.dhPKCSKeyPairGeneration, CKM_DH_PKCS_KEY_PAIR_GEN),
        ConstantRow("CKM_DH_PKCS_DERIVE", "CKM_DH_PKCS_DERIVE", MechanismType.dhPKCSDerive, CKM_DH_PKCS_DERIVE),
        ConstantRow(
            "CKM_X9_42_DH_KEY_PAIR_GEN", "CKM_X9_42_DH_KEY_PAIR_GEN",
            MechanismType.x9_42DHKeyPairGeneration, CKM_X9_42_DH_KEY_PAIR_GEN),
        ConstantRow("CKM_X9_42_DH_DERIVE", "CKM_X9_42_DH_DERIVE", MechanismType.x9_42DHDerive, CKM_X9_42_DH_DERIVE),
        ConstantRow(
            "CKM_X9_42_DH_HYBRID_DERIVE", "CKM_X9_42_DH_HYBRID_DERIVE",
            MechanismType.x9_42DHHybridDerive, CKM_X9_42_DH_HYBRID_DERIVE),
        ConstantRow("CKM_X9_42_MQV_DERIVE", "CKM_X9_42_MQV_DERIVE", MechanismType.x9_42MQVDerive, CKM_X9_42_MQV_DERIVE),
        ConstantRow("CKM_SHA256_RSA_PKCS", "CKM_SHA256_RSA_PKCS", MechanismType.sha256RSAPKCS, CKM_SHA256_RSA_PKCS),
        ConstantRow("CKM_SHA384_RSA_PKCS", "CKM_SHA384_RSA_PKCS", MechanismType.sha384RSAPKCS, CKM_SHA384_RSA_PKCS),
        ConstantRow("CKM_SHA512_RSA_PKCS", "CKM_SHA512_RSA_PKCS", MechanismType.sha512RSAPKCS, CKM_SHA512_RSA_PKCS),
        ConstantRow(
            "CKM_SHA256_RSA_PKCS_PSS", "CKM_SHA256_RSA_PKCS_PSS",
            MechanismType.sha256RSAPSS, CKM_SHA256_RSA_PKCS_PSS),
        ConstantRow(
            "CKM_SHA384_RSA_PKCS_PSS", "CKM_SHA384_RSA_PKCS_PSS",
            MechanismType.sha384RSAPSS, CKM_SHA384_RSA_PKCS_PSS),
        ConstantRow(
            "CKM_SHA512_RSA_PKCS_PSS", "CKM_SHA512_RSA_PKCS_PSS",
            MechanismType.sha512RSAPSS, CKM_SHA512_RSA_PKCS_PSS),
        ConstantRow("CKM_SHA512_224", "CKM_SHA512_224", MechanismType.sha512_224, CKM_SHA512_224),
        ConstantRow("CKM_SHA512_224_HMAC", "CKM_SHA512_224_HMAC", MechanismType.sha512_224HMAC, CKM_SHA512_224_HMAC),
        ConstantRow(
            "CKM_SHA512_224_HMAC_GENERAL", "CKM_SHA512_224_HMAC_GENERAL",
            MechanismType.sha512_224HMACGeneral, CKM_SHA512_224_HMAC_GENERAL),
        ConstantRow(
            "CKM_SHA512_224_KEY_DERIVATION", "CKM_SHA512_224_KEY_DERIVATION",
            MechanismType.sha512_224KeyDerivation, CKM_SHA512_224_KEY_DERIVATION),
        ConstantRow("CKM_SHA512_256", "CKM_SHA512_256", MechanismType.sha512_256, CKM_SHA512_256),
        ConstantRow("CKM_SHA512_256_HMAC", "CKM_SHA512_256_HMAC", MechanismType.sha512_256HMAC, CKM_SHA512_256_HMAC),
        ConstantRow(
            "CKM_SHA512_256_HMAC_GENERAL", "CKM_SHA512_256_HMAC_GENERAL",
            MechanismType.sha512_256HMACGeneral, CKM_SHA512_256_HMAC_GENERAL),
        ConstantRow(
            "CKM_SHA512_256_KEY_DERIVATION", "CKM_SHA512_256_KEY_DERIVATION",
            MechanismType.sha512_256KeyDerivation, CKM_SHA512_256_KEY_DERIVATION),
        ConstantRow("CKM_SHA512_T", "CKM_SHA512_T", MechanismType.sha512T, CKM_SHA512_T),
        ConstantRow("CKM_SHA512_T_HMAC", "CKM_SHA512_T_HMAC", MechanismType.sha512THMAC, CKM_SHA512_T_HMAC),
        ConstantRow(
            "CKM_SHA512_T_HMAC_GENERAL", "CKM_SHA512_T_HMAC_GENERAL",
            MechanismType.sha512THMACGeneral, CKM_SHA512_T_HMAC_GENERAL),
        ConstantRow(
            "CKM_SHA512_T_KEY_DERIVATION", "CKM_SHA512_T_KEY_DERIVATION",
            MechanismType.sha512TKeyDerivation, CKM_SHA512_T_KEY_DERIVATION),
        ConstantRow("CKM_RC2_KEY_GEN", "CKM_RC2_KEY_GEN", MechanismType.rc2KeyGeneration, CKM_RC2_KEY_GEN),
        ConstantRow("CKM_RC2_ECB", "CKM_RC2_ECB", MechanismType.rc2ECB, CKM_RC2_ECB),
        ConstantRow("CKM_RC2_CBC", "CKM_RC2_CBC", MechanismType.rc2CBC, CKM_RC2_CBC),
        ConstantRow("CKM_RC2_MAC", "CKM_RC2_MAC", MechanismType.rc2MAC, CKM_RC2_MAC),
        ConstantRow("CKM_RC2_MAC_GENERAL", "CKM_RC2_MAC_GENERAL", MechanismType.rc2MACGeneral, CKM_RC2_MAC_GENERAL),
        ConstantRow("CKM_RC2_CBC_PAD", "CKM_RC2_CBC_PAD", MechanismType.rc2CBCPad, CKM_RC2_CBC_PAD),
        ConstantRow("CKM_RC4_KEY_GEN", "CKM_RC4_KEY_GEN", MechanismType.rc4KeyGeneration, CKM_RC4_KEY_GEN),
        ConstantRow("CKM_RC4", "CKM_RC4", MechanismType.rc4, CKM_RC4),
        ConstantRow("CKM_DES_KEY_GEN", "CKM_DES_KEY_GEN", MechanismType.desKeyGeneration, CKM_DES_KEY_GEN),
        ConstantRow("CKM_DES_ECB", "CKM_DES_ECB", MechanismType.desECB, CKM_DES_ECB),
        ConstantRow("CKM_DES_CBC", "CKM_DES_CBC", MechanismType.desCBC, CKM_DES_CBC),
        ConstantRow("CKM_DES_MAC", "CKM_DES_MAC", MechanismType.desMAC, CKM_DES_MAC),
        ConstantRow("CKM_DES_MAC_GENERAL", "CKM_DES_MAC_GENERAL", MechanismType.desMACGeneral, CKM_DES_MAC_GENERAL),
        ConstantRow("CKM_DES_CBC_PAD", "CKM_DES_CBC_PAD", MechanismType.desCBCPad, CKM_DES_CBC_PAD),
        ConstantRow("CKM_DES2_KEY_GEN", "CKM_DES2_KEY_GEN", MechanismType.des2KeyGeneration, CKM_DES2_KEY_GEN),
        ConstantRow("CKM_DES3_KEY_GEN", "CKM_DES3_KEY_GEN", MechanismType.des3KeyGeneration, CKM_DES3_KEY_GEN),
        ConstantRow("CKM_DES3_ECB", "CKM_DES3_ECB", MechanismType.des3ECB, CKM_DES3_ECB),
        ConstantRow("CKM_DES3_CBC", "CKM_DES3_CBC", MechanismType.des3CBC, CKM_DES3_CBC),
        ConstantRow("CKM_DES3_MAC", "CKM_DES3_MAC", MechanismType.des3MAC, CKM_DES3_MAC),
        ConstantRow("CKM_DES3_MAC_GENERAL", "CKM_DES3_MAC_GENERAL", MechanismType.des3MACGeneral, CKM_DES3_MAC_GENERAL),
        ConstantRow("CKM_DES3_CBC_PAD", "CKM_DES3_CBC_PAD", MechanismType.des3CBCPad, CKM_DES3_CBC_PAD),
        ConstantRow(
            "CKM_DES3_CMAC_GENERAL", "CKM_DES3_CMAC_GENERAL",
            MechanismType.des3CMACGeneral, CKM_DES3_CMAC_GENERAL),
        ConstantRow("CKM_DES3_CMAC", "CKM_DES3_CMAC", MechanismType.des3CMAC, CKM_DES3_CMAC),
        ConstantRow("CKM_CDMF_KEY_GEN", "CKM_CDMF_KEY_GEN", MechanismType.cdmfKeyGeneration, CKM_CDMF_KEY_GEN),
        ConstantRow("CKM_CDMF_ECB", "CKM_CDMF_ECB", MechanismType.cdmfECB, CKM_CDMF_ECB),
        ConstantRow("CKM_CDMF_CBC", "CKM_CDMF_CBC", MechanismType.cdmfCBC, CKM_CDMF_CBC),
        ConstantRow("CKM_CDMF_MAC", "CKM_CDMF_MAC", MechanismType.cdmfMAC, CKM_CDMF_MAC),
        ConstantRow("CKM_CDMF_MAC_GENERAL", "CKM_CDMF_MAC_GENERAL", MechanismType.cdmfMACGeneral, CKM_CDMF_MAC_GENERAL),
        ConstantRow("CKM_CDMF_CBC_PAD", "CKM_CDMF_CBC_PAD", MechanismType.cdmfCBCPad, CKM_CDMF_CBC_PAD),
        ConstantRow("CKM_DES_OFB64", "CKM_DES_OFB64", MechanismType.desOFB64, CKM_DES_OFB64),
        ConstantRow("CKM_DES_OFB8", "CKM_DES_OFB8", MechanismType.desOFB8, CKM_DES_OFB8),
        ConstantRow("CKM_DES_CFB64", "CKM_DES_CFB64", MechanismType.desCFB64, CKM_DES_CFB64),
        ConstantRow("CKM_DES_CFB8", "CKM_DES_CFB8", MechanismType.desCFB8, CKM_DES_CFB8),
        ConstantRow("CKM_MD2", "CKM_MD2", MechanismType.md2, CKM_MD2),
        ConstantRow("CKM_MD2_HMAC", "CKM_MD2_HMAC", MechanismType.md2HMAC, CKM_MD2_HMAC),
        ConstantRow("CKM_MD2_HMAC_GENERAL", "CKM_MD2_HMAC_GENERAL", MechanismType.md2HMACGeneral, CKM_MD2_HMAC_GENERAL),
        ConstantRow("CKM_MD5", "CKM_MD5", MechanismType.md5, CKM_MD5),
        ConstantRow("CKM_MD5_HMAC", "CKM_MD5_HMAC", MechanismType.md5HMAC, CKM_MD5_HMAC),
        ConstantRow("CKM_MD5_HMAC_GENERAL", "CKM_MD5_HMAC_GENERAL", MechanismType.md5HMACGeneral, CKM_MD5_HMAC_GENERAL),
        ConstantRow("CKM_SHA_1", "CKM_SHA_1", MechanismType.sha1, CKM_SHA_1),
        ConstantRow("CKM_SHA_1_HMAC", "CKM_SHA_1_HMAC", MechanismType.sha1HMAC, CKM_SHA_1_HMAC),
        ConstantRow(
            "CKM_SHA_1_HMAC_GENERAL", "CKM_SHA_1_HMAC_GENERAL",
            MechanismType.sha1HMACGeneral, CKM_SHA_1_HMAC_GENERAL),
        ConstantRow("CKM_RIPEMD128", "CKM_RIPEMD128", MechanismType.ripemd128, CKM_RIPEMD128),
        ConstantRow("CKM_RIPEMD128_HMAC", "CKM_RIPEMD128_HMAC", MechanismType.ripemd128HMAC, CKM_RIPEMD128_HMAC),
        ConstantRow(
            "CKM_RIPEMD128_HMAC_GENERAL", "CKM_RIPEMD128_HMAC_GENERAL",
            MechanismType.ripemd128HMACGeneral, CKM_RIPEMD128_HMAC_GENERAL),
        ConstantRow("CKM_RIPEMD160", "CKM_RIPEMD160", MechanismType.ripemd160, CKM_RIPEMD160),
        ConstantRow("CKM_RIPEMD160_HMAC", "CKM_RIPEMD160_HMAC", MechanismType.ripemd160HMAC, CKM_RIPEMD160_HMAC),
        ConstantRow(
            "CKM_RIPEMD160_HMAC_GENERAL", "CKM_RIPEMD160_HMAC_GENERAL",
            MechanismType.ripemd160HMACGeneral, CKM_RIPEMD160_HMAC_GENERAL),
        ConstantRow("CKM_SHA256", "CKM_SHA256", MechanismType.sha256, CKM_SHA256),
        ConstantRow("CKM_SHA256_HMAC", "CKM_SHA256_HMAC", MechanismType.sha256HMAC, CKM_SHA256_HMAC),
        ConstantRow(
            "CKM_SHA256_HMAC_GENERAL", "CKM_SHA256_HMAC_GENERAL",
            MechanismType.sha256HMACGeneral, CKM_SHA256_HMAC_GENERAL),
        ConstantRow("CKM_SHA384", "CKM_SHA384", MechanismType.sha384, CKM_SHA384),
        ConstantRow("CKM_SHA384_HMAC", "CKM_SHA384_HMAC", MechanismType.sha384HMAC, CKM_SHA384_HMAC),
        ConstantRow(
            "CKM_SHA384_HMAC_GENERAL", "CKM_SHA384_HMAC_GENERAL",
            MechanismType.sha384HMACGeneral, CKM_SHA384_HMAC_GENERAL),
        ConstantRow("CKM_SHA512", "CKM_SHA512", MechanismType.sha512, CKM_SHA512),
        ConstantRow("CKM_SHA512_HMAC", "CKM_SHA512_HMAC", MechanismType.sha512HMAC, CKM_SHA512_HMAC),
        ConstantRow(
            "CKM_SHA512_HMAC_GENERAL", "CKM_SHA512_HMAC_GENERAL",
            MechanismType.sha512HMACGeneral, CKM_SHA512_HMAC_GENERAL),
        ConstantRow(
            "CKM_SECURID_KEY_GEN", "CKM_SECURID_KEY_GEN",
            MechanismType.securidKeyGeneration, CKM_SECURID_KEY_GEN),
        ConstantRow("CKM_SECURID", "CKM_SECURID", MechanismType.securid, CKM_SECURID),
        ConstantRow("CKM_HOTP_KEY_GEN", "CKM_HOTP_KEY_GEN", MechanismType.hotpKeyGeneration, CKM_HOTP_KEY_GEN),
        ConstantRow("CKM_HOTP", "CKM_HOTP", MechanismType.hotp, CKM_HOTP),
        ConstantRow("CKM_ACTI", "CKM_ACTI", MechanismType.acti, CKM_ACTI),
        ConstantRow("CKM_ACTI_KEY_GEN", "CKM_ACTI_KEY_GEN", MechanismType.actiKeyGeneration, CKM_ACTI_KEY_GEN),
        ConstantRow("CKM_CAST_KEY_GEN", "CKM_CAST_KEY_GEN", MechanismType.castKeyGeneration, CKM_CAST_KEY_GEN),
        ConstantRow("CKM_CAST_ECB", "CKM_CAST_ECB", MechanismType.castECB, CKM_CAST_ECB),
        ConstantRow("CKM_CAST_CBC", "CKM_CAST_CBC", MechanismType.castCBC, CKM_CAST_CBC),
        ConstantRow("CKM_CAST_MAC", "CKM_CAST_MAC", MechanismType.castMAC, CKM_CAST_MAC),
        ConstantRow("CKM_CAST_MAC_GENERAL", "CKM_CAST_MAC_GENERAL", MechanismType.castMACGeneral, CKM_CAST_MAC_GENERAL),
        ConstantRow("CKM_CAST_CBC_PAD", "CKM_CAST_CBC_PAD", MechanismType.castCBCPad, CKM_CAST_CBC_PAD),
        ConstantRow("CKM_CAST3_KEY_GEN", "CKM_CAST3_KEY_GEN", MechanismType.cast3KeyGeneration, CKM_CAST3_KEY_GEN),
        ConstantRow("CKM_CAST3_ECB", "CKM_CAST3_ECB", MechanismType.cast3ECB, CKM_CAST3_ECB),
        ConstantRow("CKM_CAST3_CBC", "CKM_CAST3_CBC", MechanismType.cast3CBC, CKM_CAST3_CBC),
        ConstantRow("CKM_CAST3_MAC", "CKM_CAST3_MAC", MechanismType.cast3MAC, CKM_CAST3_MAC),
        ConstantRow(
            "CKM_CAST3_MAC_GENERAL", "CKM_CAST3_MAC_GENERAL",
            MechanismType.cast3MACGeneral, CKM_CAST3_MAC_GENERAL),
        ConstantRow("CKM_CAST3_CBC_PAD", "CKM_CAST3_CBC_PAD", MechanismType.cast3CBCPad, CKM_CAST3_CBC_PAD),
        ConstantRow("CKM_CAST5_KEY_GEN", "CKM_CAST5_KEY_GEN", MechanismType.cast5KeyGeneration, CKM_CAST5_KEY_GEN),
        ConstantRow("CKM_CAST128_KEY_GEN", "CKM_CAST5_KEY_GEN", MechanismType.cast5KeyGeneration, CKM_CAST128_KEY_GEN),
        ConstantRow("CKM_CAST5_ECB", "CKM_CAST5_ECB", MechanismType.cast5ECB, CKM_CAST5_ECB),
        ConstantRow("CKM_CAST128_ECB", "CKM_CAST5_ECB", MechanismType.cast5ECB, CKM_CAST128_ECB),
        ConstantRow("CKM_CAST5_CBC", "CKM_CAST5_CBC", MechanismType.cast5CBC, CKM_CAST5_CBC),
        ConstantRow("CKM_CAST128_CBC", "CKM_CAST5_CBC", MechanismType.cast5CBC, CKM_CAST128_CBC),
        ConstantRow("CKM_CAST5_MAC", "CKM_CAST5_MAC", MechanismType.cast5MAC, CKM_CAST5_MAC),
        ConstantRow("CKM_CAST128_MAC", "CKM_CAST5_MAC", MechanismType.cast5MAC, CKM_CAST128_MAC),
        ConstantRow(
            "CKM_CAST5_MAC_GENERAL", "CKM_CAST5_MAC_GENERAL",
            MechanismType.cast5MACGeneral, CKM_CAST5_MAC_GENERAL),
        ConstantRow(
            "CKM_CAST128_MAC_GENERAL", "CKM_CAST5_MAC_GENERAL",
            MechanismType.cast5MACGeneral, CKM_CAST128_MAC_GENERAL),
        ConstantRow("CKM_CAST5_CBC_PAD", "CKM_CAST5_CBC_PAD", MechanismType.cast5CBCPad, CKM_CAST5_CBC_PAD),
        ConstantRow("CKM_CAST128_CBC_PAD", "CKM_CAST5_CBC_PAD", MechanismType.cast5CBCPad, CKM_CAST128_CBC_PAD),
        ConstantRow("CKM_RC5_KEY_GEN", "CKM_RC5_KEY_GEN", MechanismType.rc5KeyGeneration, CKM_RC5_KEY_GEN),
        ConstantRow("CKM_RC5_ECB", "CKM_RC5_ECB", MechanismType.rc5ECB, CKM_RC5_ECB),
        ConstantRow("CKM_RC5_CBC", "CKM_RC5_CBC", MechanismType.rc5CBC, CKM_RC5_CBC),
        ConstantRow("CKM_RC5_MAC", "CKM_RC5_MAC", MechanismType.rc5MAC, CKM_RC5_MAC),
        ConstantRow("CKM_RC5_MAC_GENERAL", "CKM_RC5_MAC_GENERAL", MechanismType.rc5MACGeneral, CKM_RC5_MAC_GENERAL),
        ConstantRow("CKM_RC5_CBC_PAD", "CKM_RC5_CBC_PAD", MechanismType.rc5CBCPad, CKM_RC5_CBC_PAD),
        ConstantRow("CKM_IDEA_KEY_GEN", "CKM_IDEA_KEY_GEN", MechanismType.ideaKeyGeneration, CKM_IDEA_KEY_GEN),
        ConstantRow("CKM_IDEA_ECB", "CKM_IDEA_ECB", MechanismType.ideaECB, CKM_IDEA_ECB),
        ConstantRow("CKM_IDEA_CBC", "CKM_IDEA_CBC", MechanismType.ideaCBC, CKM_IDEA_CBC),
        ConstantRow("CKM_IDEA_MAC", "CKM_IDEA_MAC", MechanismType.ideaMAC, CKM_IDEA_MAC),
        ConstantRow("CKM_IDEA_MAC_GENERAL", "CKM_IDEA_MAC_GENERAL", MechanismType.ideaMACGeneral, CKM_IDEA_MAC_GENERAL),
        ConstantRow("CKM_IDEA_CBC_PAD", "CKM_IDEA_CBC_PAD", MechanismType.ideaCBCPad, CKM_IDEA_CBC_PAD),
        ConstantRow(
            "CKM_GENERIC_SECRET_KEY_GEN", "CKM_GENERIC_SECRET_KEY_GEN",
            MechanismType.genericSecretKeyGeneration, CKM_GENERIC_SECRET_KEY_GEN),
        ConstantRow(
            "CKM_CONCATENATE_BASE_AND_KEY", "CKM_CONCATENATE_BASE_AND_KEY",
            MechanismType.concatenateBaseAndKey, CKM_CONCATENATE_BASE_AND_KEY),
        ConstantRow(
            "CKM_CONCATENATE_BASE_AND_DATA", "CKM_CONCATENATE_BASE_AND_DATA",
            MechanismType.concatenateBaseAndData, CKM_CONCATENATE_BASE_AND_DATA),
        ConstantRow(
            "CKM_CONCATENATE_DATA_AND_BASE", "CKM_CONCATENATE_DATA_AND_BASE",
            MechanismType.concatenateDataAndBase, CKM_CONCATENATE_DATA_AND_BASE),
        ConstantRow(
            "CKM_XOR_BASE_AND_DATA", "CKM_XOR_BASE_AND_DATA",
            MechanismType.xorBaseAndData, CKM_XOR_BASE_AND_DATA),
        ConstantRow(
            "CKM_EXTRACT_KEY_FROM_KEY", "CKM_EXTRACT_KEY_FROM_KEY",
            MechanismType.extractKeyFromKey, CKM_EXTRACT_KEY_FROM_KEY),
        ConstantRow(
            "CKM_SSL3_PRE_MASTER_KEY_GEN", "CKM_SSL3_PRE_MASTER_KEY_GEN",
            MechanismType.ssl3PreMasterKeyGeneration, CKM_SSL3_PRE_MASTER_KEY_GEN),
        ConstantRow(
            "CKM_SSL3_MASTER_KEY_DERIVE", "CKM_SSL3_MASTER_KEY_DERIVE",
            MechanismType.ssl3MasterKeyDerive, CKM_SSL3_MASTER_KEY_DERIVE),
        ConstantRow(
            "CKM_SSL3_KEY_AND_MAC_DERIVE", "CKM_SSL3_KEY_AND_MAC_DERIVE",
            MechanismType.ssl3KeyAndMACDerive, CKM_SSL3_KEY_AND_MAC_DERIVE),
        ConstantRow(
            "CKM_SSL3_MASTER_KEY_DERIVE_DH", "CKM_SSL3_MASTER_KEY_DERIVE_DH",
            MechanismType.ssl3MasterKeyDeriveDH, CKM_SSL3_MASTER_KEY_DERIVE_DH),
        ConstantRow(
            "CKM_TLS_PRE_MASTER_KEY_GEN", "CKM_TLS_PRE_MASTER_KEY_GEN",
            MechanismType.tlsPreMasterKeyGeneration, CKM_TLS_PRE_MASTER_KEY_GEN),
        ConstantRow(
            "CKM_TLS_MASTER_KEY_DERIVE", "CKM_TLS_MASTER_KEY_DERIVE",
            MechanismType.tlsMasterKeyDerive, CKM_TLS_MASTER_KEY_DERIVE),
        ConstantRow(
            "CKM_TLS_KEY_AND_MAC_DERIVE", "CKM_TLS_KEY_AND_MAC_DERIVE",
            MechanismType.tlsKeyAndMACDerive, CKM_TLS_KEY_AND_MAC_DERIVE),
        ConstantRow(
            "CKM_TLS_MASTER_KEY_DERIVE_DH", "CKM_TLS_MASTER_KEY_DERIVE_DH",
            MechanismType.tlsMasterKeyDeriveDH, CKM_TLS_MASTER_KEY_DERIVE_DH),
        ConstantRow("CKM_TLS_PRF", "CKM_TLS_PRF", MechanismType.tlsPRF, CKM_TLS_PRF),
        ConstantRow("CKM_SSL3_MD5_MAC", "CKM_SSL3_MD5_MAC", MechanismType.ssl3MD5MAC, CKM_SSL3_MD5_MAC),
        ConstantRow("CKM_SSL3_SHA1_MAC", "CKM_SSL3_SHA1_MAC", MechanismType.ssl3SHA1MAC, CKM_SSL3_SHA1_MAC),
        ConstantRow(
            "CKM_MD5_KEY_DERIVATION", "CKM_MD5_KEY_DERIVATION",
            MechanismType.md5KeyDerivation, CKM_MD5_KEY_DERIVATION),
        ConstantRow(
            "CKM_MD2_KEY_DERIVATION", "CKM_MD2_KEY_DERIVATION",
            MechanismType.md2KeyDerivation, CKM_MD2_KEY_DERIVATION),
        ConstantRow(
            "CKM_SHA1_KEY_DERIVATION", "CKM_SHA1_KEY_DERIVATION",
            MechanismType.sha1KeyDerivation, CKM_SHA1_KEY_DERIVATION),
        ConstantRow(
            "CKM_SHA256_KEY_DERIVATION", "CKM_SHA256_KEY_DERIVATION",
            MechanismType.sha256KeyDerivation, CKM_SHA256_KEY_DERIVATION),
        ConstantRow(
            "CKM_SHA384_KEY_DERIVATION", "CKM_SHA384_KEY_DERIVATION",
            MechanismType.sha384KeyDerivation, CKM_SHA384_KEY_DERIVATION),
        ConstantRow(
            "CKM_SHA512_KEY_DERIVATION", "CKM_SHA512_KEY_DERIVATION",
            MechanismType.sha512KeyDerivation, CKM_SHA512_KEY_DERIVATION),
        ConstantRow("CKM_PBE_MD2_DES_CBC", "CKM_PBE_MD2_DES_CBC", MechanismType.pbeMD2DesCBC, CKM_PBE_MD2_DES_CBC),
        ConstantRow("CKM_PBE_MD5_DES_CBC", "CKM_PBE_MD5_DES_CBC", MechanismType.pbeMD5DesCBC, CKM_PBE_MD5_DES_CBC),
        ConstantRow("CKM_PBE_MD5_CAST_CBC", "CKM_PBE_MD5_CAST_CBC", MechanismType.pbeMD5CASTCBC, CKM_PBE_MD5_CAST_CBC),
        ConstantRow(
            "CKM_PBE_MD5_CAST3_CBC", "CKM_PBE_MD5_CAST3_CBC",
            MechanismType.pbeMD5CAST3CBC, CKM_PBE_MD5_CAST3_CBC),
        ConstantRow(
            "CKM_PBE_MD5_CAST5_CBC", "CKM_PBE_MD5_CAST5_CBC",
            MechanismType.pbeMD5CAST5CBC, CKM_PBE_MD5_CAST5_CBC),
        ConstantRow(
            "CKM_PBE_MD5_CAST128_CBC", "CKM_PBE_MD5_CAST5_CBC",
            MechanismType.pbeMD5CAST5CBC, CKM_PBE_MD5_CAST128_CBC),
        ConstantRow(
            "CKM_PBE_SHA1_CAST5_CBC", "CKM_PBE_SHA1_CAST5_CBC",
            MechanismType.pbeSHA1CAST5CBC, CKM_PBE_SHA1_CAST5_CBC),
        ConstantRow(
            "CKM_PBE_SHA1_CAST128_CBC", "CKM_PBE_SHA1_CAST5_CBC",
            MechanismType.pbeSHA1CAST5CBC, CKM_PBE_SHA1_CAST128_CBC),
        ConstantRow("CKM_PBE_SHA1_RC4_128", "CKM_PBE_SHA1_RC4_128", MechanismType.pbeSHA1RC4_128, CKM_PBE_SHA1_RC4_128),
        ConstantRow("CKM_PBE_SHA1_RC4_40", "CKM_PBE_SHA1_RC4_40", MechanismType.pbeSHA1RC4_40, CKM_PBE_SHA1_RC4_40),
        ConstantRow(
            "CKM_PBE_SHA1_DES3_EDE_CBC", "CKM_PBE_SHA1_DES3_EDE_CBC",
            MechanismType.pbeSHA1DES3EDECBC, CKM_PBE_SHA1_DES3_EDE_CBC),
        ConstantRow(
            "CKM_PBE_SHA1_DES2_EDE_CBC", "CKM_PBE_SHA1_DES2_EDE_CBC",
            MechanismType.pbeSHA1DES2EDECBC, CKM_PBE_SHA1_DES2_EDE_CBC),
        ConstantRow(
            "CKM_PBE_SHA1_RC2_128_CBC", "CKM_PBE_SHA1_RC2_128_CBC",
            MechanismType.pbeSHA1RC2_128CBC, CKM_PBE_SHA1_RC2_128_CBC),
        ConstantRow(
            "CKM_PBE_SHA1_RC2_40_CBC", "CKM_PBE_SHA1_RC2_40_CBC",
            MechanismType.pbeSHA1RC2_40CBC, CKM_PBE_SHA1_RC2_40_CBC),
        ConstantRow("CKM_PKCS5_PBKD2", "CKM_PKCS5_PBKD2", MechanismType.pkcs5PBKD2, CKM_PKCS5_PBKD2),
        ConstantRow(
            "CKM_PBA_SHA1_WITH_SHA1_HMAC", "CKM_PBA_SHA1_WITH_SHA1_HMAC",
            MechanismType.pbaSHA1WithSHA1HMAC, CKM_PBA_SHA1_WITH_SHA1_HMAC),
        ConstantRow(
            "CKM_WTLS_PRE_MASTER_KEY_GEN", "CKM_WTLS_PRE_MASTER_KEY_GEN",
            MechanismType.wtlsPreMasterKeyGeneration, CKM_WTLS_PRE_MASTER_KEY_GEN),
        ConstantRow(
            "CKM_WTLS_MASTER_KEY_DERIVE", "CKM_WTLS_MASTER_KEY_DERIVE",
            MechanismType.wtlsMasterKeyDerive, CKM_WTLS_MASTER_KEY_DERIVE),
        ConstantRow(
            "CKM_WTLS_MASTER_KEY_DERIVE_DH_ECC", "CKM_WTLS_MASTER_KEY_DERIVE_DH_ECC",
            MechanismType.wtlsMasterKeyDeriveDHECC, CKM_WTLS_MASTER_KEY_DERIVE_DH_ECC),
        ConstantRow("CKM_WTLS_PRF", "CKM_WTLS_PRF", MechanismType.wtlsPRF, CKM_WTLS_PRF),
        ConstantRow(
            "CKM_WTLS_SERVER_KEY_AND_MAC_DERIVE", "CKM_WTLS_SERVER_KEY_AND_MAC_DERIVE",
            MechanismType.wtlsServerKeyAndMACDerive, CKM_WTLS_SERVER_KEY_AND_MAC_DERIVE),
        ConstantRow(
            "CKM_WTLS_CLIENT_KEY_AND_MAC_DERIVE", "CKM_WTLS_CLIENT_KEY_AND_MAC_DERIVE",
            MechanismType.wtlsClientKeyAndMACDerive, CKM_WTLS_CLIENT_KEY_AND_MAC_DERIVE),
        ConstantRow("CKM_TLS10_MAC_SERVER", "CKM_TLS10_MAC_SERVER", MechanismType.tls10MACServer, CKM_TLS10_MAC_SERVER),
        ConstantRow("CKM_TLS10_MAC_CLIENT", "CKM_TLS10_MAC_CLIENT", MechanismType.tls10MACClient, CKM_TLS10_MAC_CLIENT),
        ConstantRow("CKM_TLS12_MAC", "CKM_TLS12_MAC", MechanismType.tls12MAC, CKM_TLS12_MAC),
        ConstantRow("CKM_TLS12_KDF", "CKM_TLS12_KDF", MechanismType.tls12KDF, CKM_TLS12_KDF),
        ConstantRow(
            "CKM_TLS12_MASTER_KEY_DERIVE", "CKM_TLS12_MASTER_KEY_DERIVE",
            MechanismType.tls12MasterKeyDerive, CKM_TLS12_MASTER_KEY_DERIVE),
        ConstantRow(
            "CKM_TLS12_KEY_AND_MAC_DERIVE", "CKM_TLS12_KEY_AND_MAC_DERIVE",
            MechanismType.tls12KeyAndMACDerive, CKM_TLS12_KEY_AND_MAC_DERIVE),
        ConstantRow(
            "CKM_TLS12_MASTER_KEY_DERIVE_DH", "CKM_TLS12_MASTER_KEY_DERIVE_DH",
            MechanismType.tls12MasterKeyDeriveDH, CKM_TLS12_MASTER_KEY_DERIVE_DH),
        ConstantRow(
            "CKM_TLS12_KEY_SAFE_DERIVE", "CKM_TLS12_KEY_SAFE_DERIVE",
            MechanismType.tls12KeySafeDerive, CKM_TLS12_KEY_SAFE_DERIVE),
        ConstantRow("CKM_TLS_MAC", "CKM_TLS_MAC", MechanismType.tlsMAC, CKM_TLS_MAC),
        ConstantRow("CKM_TLS_KDF", "CKM_TLS_KDF", MechanismType.tlsKDF, CKM_TLS_KDF),
        ConstantRow("CKM_KEY_WRAP_LYNKS", "CKM_KEY_WRAP_LYNKS", MechanismType.keyWrapLynks, CKM_KEY_WRAP_LYNKS),
        ConstantRow(
            "CKM_KEY_WRAP_SET_OAEP", "CKM_KEY_WRAP_SET_OAEP",
            MechanismType.keyWrapSetOAEP, CKM_KEY_WRAP_SET_OAEP),
        ConstantRow("CKM_CMS_SIG", "CKM_CMS_SIG", MechanismType.cmsSig, CKM_CMS_SIG),
        ConstantRow("CKM_KIP_DERIVE", "CKM_KIP_DERIVE", MechanismType.kipDerive, CKM_KIP_DERIVE),
        ConstantRow("CKM_KIP_WRAP", "CKM_KIP_WRAP", MechanismType.kipWrap, CKM_KIP_WRAP),
        ConstantRow("CKM_KIP_MAC", "CKM_KIP_MAC", MechanismType.kipMAC, CKM_KIP_MAC),
        ConstantRow("CKM_ARIA_KEY_GEN", "CKM_ARIA_KEY_GEN", MechanismType.ariaKeyGeneration, CKM_ARIA_KEY_GEN),
        ConstantRow("CKM_ARIA_ECB", "CKM_ARIA_ECB", MechanismType.ariaECB, CKM_ARIA_ECB),
        ConstantRow("CKM_ARIA_CBC", "CKM_ARIA_CBC", MechanismType.ariaCBC, CKM_ARIA_CBC),
        ConstantRow("CKM_ARIA_MAC", "CKM_ARIA_MAC", MechanismType.ariaMAC, CKM_ARIA_MAC),
        ConstantRow("CKM_ARIA_MAC_GENERAL", "CKM_ARIA_MAC_GENERAL", MechanismType.ariaMACGeneral, CKM_ARIA_MAC_GENERAL),
        ConstantRow("CKM_ARIA_CBC_PAD", "CKM_ARIA_CBC_PAD", MechanismType.ariaCBCPad, CKM_ARIA_CBC_PAD),
        ConstantRow(
            "CKM_ARIA_ECB_ENCRYPT_DATA", "CKM_ARIA_ECB_ENCRYPT_DATA",
            MechanismType.ariaECBEncryptData, CKM_ARIA_ECB_ENCRYPT_DATA),
        ConstantRow(
            "CKM_ARIA_CBC_ENCRYPT_DATA", "CKM_ARIA_CBC_ENCRYPT_DATA",
            MechanismType.ariaCBCEncryptData, CKM_ARIA_CBC_ENCRYPT_DATA),
        ConstantRow("CKM_SEED_KEY_GEN", "CKM_SEED_KEY_GEN", MechanismType.seedKeyGeneration, CKM_SEED_KEY_GEN),
        ConstantRow("CKM_SEED_ECB", "CKM_SEED_ECB", MechanismType.seedECB, CKM_SEED_ECB),
        ConstantRow("CKM_SEED_CBC", "CKM_SEED_CBC", MechanismType.seedCBC, CKM_SEED_CBC),
        ConstantRow("CKM_SEED_MAC", "CKM_SEED_MAC", MechanismType.seedMAC, CKM_SEED_MAC),
        ConstantRow("CKM_SEED_MAC_GENERAL", "CKM_SEED_MAC_GENERAL", MechanismType.seedMACGeneral, CKM_SEED_MAC_GENERAL),
        ConstantRow("CKM_SEED_CBC_PAD", "CKM_SEED_CBC_PAD", MechanismType.seedCBCPad, CKM_SEED_CBC_PAD),
        ConstantRow(
            "CKM_SEED_ECB_ENCRYPT_DATA", "CKM_SEED_ECB_ENCRYPT_DATA",
            MechanismType.seedECBEncryptData, CKM_SEED_ECB_ENCRYPT_DATA),
        ConstantRow(
            "CKM_SEED_CBC_ENCRYPT_DATA", "CKM_SEED_CBC_ENCRYPT_DATA",
            MechanismType.seedCBCEncryptData, CKM_SEED_CBC_ENCRYPT_DATA),
        ConstantRow(
            "CKM_SKIPJACK_KEY_GEN", "CKM_SKIPJACK_KEY_GEN",
            MechanismType.skipjackKeyGeneration, CKM_SKIPJACK_KEY_GEN),
        ConstantRow("CKM_SKIPJACK_ECB64", "CKM_SKIPJACK_ECB64", MechanismType.skipjackECB64, CKM_SKIPJACK_ECB64),
        ConstantRow("CKM_SKIPJACK_CBC64", "CKM_SKIPJACK_CBC64", MechanismType.skipjackCBC64, CKM_SKIPJACK_CBC64),
        ConstantRow("CKM_SKIPJACK_OFB64", "CKM_SKIPJACK_OFB64", MechanismType.skipjackOFB64, CKM_SKIPJACK_OFB64),
        ConstantRow("CKM_SKIPJACK_CFB64", "CKM_SKIPJACK_CFB64", MechanismType.skipjackCFB64, CKM_SKIPJACK_CFB64),
        ConstantRow("CKM_SKIPJACK_CFB32", "CKM_SKIPJACK_CFB32", MechanismType.skipjackCFB32, CKM_SKIPJACK_CFB32),
        ConstantRow("CKM_SKIPJACK_CFB16", "CKM_SKIPJACK_CFB16", MechanismType.skipjackCFB16, CKM_SKIPJACK_CFB16),
        ConstantRow("CKM_SKIPJACK_CFB8", "CKM_SKIPJACK_CFB8", MechanismType.skipjackCFB8, CKM_SKIPJACK_CFB8),
        ConstantRow("CKM_SKIPJACK_WRAP", "CKM_SKIPJACK_WRAP", MechanismType.skipjackWrap, CKM_SKIPJACK_WRAP),
        ConstantRow(
            "CKM_SKIPJACK_PRIVATE_WRAP", "CKM_SKIPJACK_PRIVATE_WRAP",
            MechanismType.skipjackPrivateWrap, CKM_SKIPJACK_PRIVATE_WRAP),
        ConstantRow("CKM_SKIPJACK_RELAYX", "CKM_SKIPJACK_RELAYX", MechanismType.skipjackRelayx, CKM_SKIPJACK_RELAYX),
        ConstantRow(
            "CKM_KEA_KEY_PAIR_GEN", "CKM_KEA_KEY_PAIR_GEN",
            MechanismType.keaKeyPairGeneration, CKM_KEA_KEY_PAIR_GEN),
        ConstantRow("CKM_KEA_KEY_DERIVE", "CKM_KEA_KEY_DERIVE", MechanismType.keaKeyDerive, CKM_KEA_KEY_DERIVE),
        ConstantRow(
            "CKM_FORTEZZA_TIMESTAMP", "CKM_FORTEZZA_TIMESTAMP",
            MechanismType.fortezzaTimestamp, CKM_FORTEZZA_TIMESTAMP),
        ConstantRow("CKM_BATON_KEY_GEN", "CKM_BATON_KEY_GEN", MechanismType.batonKeyGeneration, CKM_BATON_KEY_GEN),
        ConstantRow("CKM_BATON_ECB128", "CKM_BATON_ECB128", MechanismType.batonECB128, CKM_BATON_ECB128),
        ConstantRow("CKM_BATON_ECB96", "CKM_BATON_ECB96", MechanismType.batonECB96, CKM_BATON_ECB96),
        ConstantRow("CKM_BATON_CBC128", "CKM_BATON_CBC128", MechanismType.batonCBC128, CKM_BATON_CBC128),
        ConstantRow("CKM_BATON_COUNTER", "CKM_BATON_COUNTER", MechanismType.batonCounter, CKM_BATON_COUNTER),
        ConstantRow("CKM_BATON_SHUFFLE", "CKM_BATON_SHUFFLE", MechanismType.batonShuffle, CKM_BATON_SHUFFLE),
        ConstantRow("CKM_BATON_WRAP", "CKM_BATON_WRAP", MechanismType.batonWrap, CKM_BATON_WRAP),
        ConstantRow(
            "CKM_ECDSA_KEY_PAIR_GEN", "CKM_EC_KEY_PAIR_GEN",
            MechanismType.ecKeyPairGeneration, CKM_ECDSA_KEY_PAIR_GEN),
        ConstantRow(
            "CKM_EC_KEY_PAIR_GEN", "CKM_EC_KEY_PAIR_GEN",
            MechanismType.ecKeyPairGeneration, CKM_EC_KEY_PAIR_GEN),
        ConstantRow("CKM_ECDSA", "CKM_ECDSA", MechanismType.ecdsa, CKM_ECDSA),
        ConstantRow("CKM_ECDSA_SHA1", "CKM_ECDSA_SHA1", MechanismType.ecdsaSHA1, CKM_ECDSA_SHA1),
        ConstantRow("CKM_ECDSA_SHA224", "CKM_ECDSA_SHA224", MechanismType.ecdsaSHA224, CKM_ECDSA_SHA224),
        ConstantRow("CKM_ECDSA_SHA256", "CKM_ECDSA_SHA256", MechanismType.ecdsaSHA256, CKM_ECDSA_SHA256),
        ConstantRow("CKM_ECDSA_SHA384", "CKM_ECDSA_SHA384", MechanismType.ecdsaSHA384, CKM_ECDSA_SHA384),
        ConstantRow("CKM_ECDSA_SHA512", "CKM_ECDSA_SHA512", MechanismType.ecdsaSHA512, CKM_ECDSA_SHA512),
        ConstantRow("CKM_ECDH1_DERIVE", "CKM_ECDH1_DERIVE", MechanismType.ecdh1Derive, CKM_ECDH1_DERIVE),
        ConstantRow(
            "CKM_ECDH1_COFACTOR_DERIVE", "CKM_ECDH1_COFACTOR_DERIVE",
            MechanismType.ecdh1CofactorDerive, CKM_ECDH1_COFACTOR_DERIVE),
        ConstantRow("CKM_ECMQV_DERIVE", "CKM_ECMQV_DERIVE", MechanismType.ecmqvDerive, CKM_ECMQV_DERIVE),
        ConstantRow(
            "CKM_ECDH_AES_KEY_WRAP", "CKM_ECDH_AES_KEY_WRAP",
            MechanismType.ecdhAESKeyWrap, CKM_ECDH_AES_KEY_WRAP),
        ConstantRow("CKM_RSA_AES_KEY_WRAP", "CKM_RSA_AES_KEY_WRAP", MechanismType.rsaAESKeyWrap, CKM_RSA_AES_KEY_WRAP),
        ConstantRow(
            "CKM_JUNIPER_KEY_GEN", "CKM_JUNIPER_KEY_GEN",
            MechanismType.juniperKeyGeneration, CKM_JUNIPER_KEY_GEN),
        ConstantRow("CKM_JUNIPER_ECB128", "CKM_JUNIPER_ECB128", MechanismType.juniperECB128, CKM_JUNIPER_ECB128),
        ConstantRow("CKM_JUNIPER_CBC128", "CKM_JUNIPER_CBC128", MechanismType.juniperCBC128, CKM_JUNIPER_CBC128),
        ConstantRow("CKM_JUNIPER_COUNTER", "CKM_JUNIPER_COUNTER", MechanismType.juniperCounter, CKM_JUNIPER_COUNTER),
        ConstantRow("CKM_JUNIPER_SHUFFLE", "CKM_JUNIPER_SHUFFLE", MechanismType.juniperShuffle, CKM_JUNIPER_SHUFFLE),
        ConstantRow("CKM_JUNIPER_WRAP", "CKM_JUNIPER_WRAP", MechanismType.juniperWrap, CKM_JUNIPER_WRAP),
        ConstantRow("CKM_FASTHASH", "CKM_FASTHASH", MechanismType.fasthash, CKM_FASTHASH),
        ConstantRow("CKM_AES_KEY_GEN", "CKM_AES_KEY_GEN", MechanismType.aesKeyGeneration, CKM_AES_KEY_GEN),
        ConstantRow("CKM_AES_ECB", "CKM_AES_ECB", MechanismType.aesECB, CKM_AES_ECB),
        ConstantRow("CKM_AES_CBC", "CKM_AES_CBC", MechanismType.aesCBC, CKM_AES_CBC),
        ConstantRow("CKM_AES_MAC", "CKM_AES_MAC", MechanismType.aesMAC, CKM_AES_MAC),
        ConstantRow("CKM_AES_MAC_GENERAL", "CKM_AES_MAC_GENERAL", MechanismType.aesMACGeneral, CKM_AES_MAC_GENERAL),
        ConstantRow("CKM_AES_CBC_PAD", "CKM_AES_CBC_PAD", MechanismType.aesCBCPad, CKM_AES_CBC_PAD),
        ConstantRow("CKM_AES_CTR", "CKM_AES_CTR", MechanismType.aesCTR, CKM_AES_CTR),
        ConstantRow("CKM_AES_GCM", "CKM_AES_GCM", MechanismType.aesGCM, CKM_AES_GCM),
        ConstantRow("CKM_AES_CCM", "CKM_AES_CCM", MechanismType.aesCCM, CKM_AES_CCM),
        ConstantRow("CKM_AES_CTS", "CKM_AES_CTS", MechanismType.aesCTS, CKM_AES_CTS),
        ConstantRow("CKM_AES_CMAC", "CKM_AES_CMAC", MechanismType.aesCMAC, CKM_AES_CMAC),
        ConstantRow("CKM_AES_CMAC_GENERAL", "CKM_AES_CMAC_GENERAL", MechanismType.aesCMACGeneral, CKM_AES_CMAC_GENERAL),
        ConstantRow("CKM_AES_XCBC_MAC", "CKM_AES_XCBC_MAC", MechanismType.aesXCBCMAC, CKM_AES_XCBC_MAC),
        ConstantRow("CKM_AES_XCBC_MAC_96", "CKM_AES_XCBC_MAC_96", MechanismType.aesXCBCMAC96, CKM_AES_XCBC_MAC_96),
        ConstantRow("CKM_AES_GMAC", "CKM_AES_GMAC", MechanismType.aesGMAC, CKM_AES_GMAC),
        ConstantRow(
            "CKM_BLOWFISH_KEY_GEN", "CKM_BLOWFISH_KEY_GEN",
            MechanismType.blowfishKeyGeneration, CKM_BLOWFISH_KEY_GEN),
        ConstantRow("CKM_BLOWFISH_CBC", "CKM_BLOWFISH_CBC", MechanismType.blowfishCBC, CKM_BLOWFISH_CBC),
        ConstantRow(
            "CKM_TWOFISH_KEY_GEN", "CKM_TWOFISH_KEY_GEN",
            MechanismType.twofishKeyGeneration, CKM_TWOFISH_KEY_GEN),
        ConstantRow("CKM_TWOFISH_CBC", "CKM_TWOFISH_CBC", MechanismType.twofishCBC, CKM_TWOFISH_CBC),
        ConstantRow("CKM_BLOWFISH_CBC_PAD", "CKM_BLOWFISH_CBC_PAD", MechanismType.blowfishCBCPad, CKM_BLOWFISH_CBC_PAD),
        ConstantRow("CKM_TWOFISH_CBC_PAD", "CKM_TWOFISH_CBC_PAD", MechanismType.twofishCBCPad, CKM_TWOFISH_CBC_PAD),
        ConstantRow(
            "CKM_DES_ECB_ENCRYPT_DATA", "CKM_DES_ECB_ENCRYPT_DATA",
            MechanismType.desECBEncryptData, CKM_DES_ECB_ENCRYPT_DATA),
        ConstantRow(
            "CKM_DES_CBC_ENCRYPT_DATA", "CKM_DES_CBC_ENCRYPT_DATA",
            MechanismType.desCBCEncryptData, CKM_DES_CBC_ENCRYPT_DATA),
        ConstantRow(
            "CKM_DES3_ECB_ENCRYPT_DATA", "CKM_DES3_ECB_ENCRYPT_DATA",
            MechanismType.des3ECBEncryptData, CKM_DES3_ECB_ENCRYPT_DATA),
        ConstantRow(
            "CKM_DES3_CBC_ENCRYPT_DATA", "CKM_DES3_CBC_ENCRYPT_DATA",
            MechanismType.des3CBCEncryptData, CKM_DES3_CBC_ENCRYPT_DATA),
        ConstantRow(
            "CKM_AES_ECB_ENCRYPT_DATA", "CKM_AES_ECB_ENCRYPT_DATA",
            MechanismType.aesECBEncryptData, CKM_AES_ECB_ENCRYPT_DATA),
        ConstantRow(
            "CKM_AES_CBC_ENCRYPT_DATA", "CKM_AES_CBC_ENCRYPT_DATA",
            MechanismType.aesCBCEncryptData, CKM_AES_CBC_ENCRYPT_DATA),
        ConstantRow(
            "CKM_GOSTR3410_KEY_PAIR_GEN", "CKM_GOSTR3410_KEY_PAIR_GEN",
            MechanismType.gostr3410KeyPairGeneration, CKM_GOSTR3410_KEY_PAIR_GEN),
        ConstantRow("CKM_GOSTR3410", "CKM_GOSTR3410", MechanismType.gostr3410, CKM_GOSTR3410),
        ConstantRow(
            "CKM_GOSTR3410_WITH_GOSTR3411", "CKM_GOSTR3410_WITH_GOSTR3411",
            MechanismType.gostr3410WithGOSTR3411, CKM_GOSTR3410_WITH_GOSTR3411),
        ConstantRow(
            "CKM_GOSTR3410_KEY_WRAP", "CKM_GOSTR3410_KEY_WRAP",
            MechanismType.gostr3410KeyWrap, CKM_GOSTR3410_KEY_WRAP),
        ConstantRow(
            "CKM_GOSTR3410_DERIVE", "CKM_GOSTR3410_DERIVE",
            MechanismType.gostr3410Derive, CKM_GOSTR3410_DERIVE),
        ConstantRow("CKM_GOSTR3411", "CKM_GOSTR3411", MechanismType.gostr3411, CKM_GOSTR3411),
        ConstantRow("CKM_GOSTR3411_HMAC", "CKM_GOSTR3411_HMAC", MechanismType.gostr3411HMAC, CKM_GOSTR3411_HMAC),
        ConstantRow(
            "CKM_GOST28147_KEY_GEN", "CKM_GOST28147_KEY_GEN",
            MechanismType.gost28147KeyGeneration, CKM_GOST28147_KEY_GEN),
        ConstantRow("CKM_GOST28147_ECB", "CKM_GOST28147_ECB", MechanismType.gost28147ECB, CKM_GOST28147_ECB),
        ConstantRow("CKM_GOST28147", "CKM_GOST28147", MechanismType.gost28147, CKM_GOST28147),
        ConstantRow("CKM_GOST28147_MAC", "CKM_GOST28147_MAC", MechanismType.gost28147MAC, CKM_GOST28147_MAC),
        ConstantRow(
            "CKM_GOST28147_KEY_WRAP", "CKM_GOST28147_KEY_WRAP",
            MechanismType.gost28147KeyWrap, CKM_GOST28147_KEY_WRAP),
        ConstantRow(
            "CKM_DSA_PARAMETER_GEN", "CKM_DSA_PARAMETER_GEN",
            MechanismType.dsaParameterGeneration, CKM_DSA_PARAMETER_GEN),
        ConstantRow(
            "CKM_DH_PKCS_PARAMETER_GEN", "CKM_DH_PKCS_PARAMETER_GEN",
            MechanismType.dhPKCSParameterGeneration, CKM_DH_PKCS_PARAMETER_GEN),
        ConstantRow(
            "CKM_X9_42_DH_PARAMETER_GEN", "CKM_X9_42_DH_PARAMETER_GEN",
            MechanismType.x9_42DHParameterGeneration, CKM_X9_42_DH_PARAMETER_GEN),
        ConstantRow(
            "CKM_DSA_PROBABLISTIC_PARAMETER_GEN", "CKM_DSA_PROBABLISTIC_PARAMETER_GEN",
            MechanismType.dsaProbablisticParameterGeneration, CKM_DSA_PROBABLISTIC_PARAMETER_GEN),
        ConstantRow(
            "CKM_DSA_SHAWE_TAYLOR_PARAMETER_GEN", "CKM_DSA_SHAWE_TAYLOR_PARAMETER_GEN",
            MechanismType.dsaShaweTaylorParameterGeneration, CKM_DSA_SHAWE_TAYLOR_PARAMETER_GEN),
        ConstantRow("CKM_AES_OFB", "CKM_AES_OFB", MechanismType.aesOFB, CKM_AES_OFB),
        ConstantRow("CKM_AES_CFB64", "CKM_AES_CFB64", MechanismType.aesCFB64, CKM_AES_CFB64),
        ConstantRow("CKM_AES_CFB8", "CKM_AES_CFB8", MechanismType.aesCFB8, CKM_AES_CFB8),
        ConstantRow("CKM_AES_CFB128", "CKM_AES_CFB128", MechanismType.aesCFB128, CKM_AES_CFB128),
        ConstantRow("CKM_AES_CFB1", "CKM_AES_CFB1", MechanismType.aesCFB1, CKM_AES_CFB1),
        ConstantRow("CKM_SHA224", "CKM_SHA224", MechanismType.sha224, CKM_SHA224),
        ConstantRow("CKM_SHA224_HMAC", "CKM_SHA224_HMAC", MechanismType.sha224HMAC, CKM_SHA224_HMAC),
        ConstantRow(
            "CKM_SHA224_HMAC_GENERAL", "CKM_SHA224_HMAC_GENERAL",
            MechanismType.sha224HMACGeneral, CKM_SHA224_HMAC_GENERAL),
        ConstantRow("CKM_SHA224_RSA_PKCS", "CKM_SHA224_RSA_PKCS", MechanismType.sha224RSAPKCS, CKM_SHA224_RSA_PKCS),
        ConstantRow(
            "CKM_SHA224_RSA_PKCS_PSS", "CKM_SHA224_RSA_PKCS_PSS",
            MechanismType.sha224RSAPSS, CKM_SHA224_RSA_PKCS_PSS),
        ConstantRow(
            "CKM_SHA224_KEY_DERIVATION", "CKM_SHA224_KEY_DERIVATION",
            MechanismType.sha224KeyDerivation, CKM_SHA224_KEY_DERIVATION),
        ConstantRow(
            "CKM_CAMELLIA_KEY_GEN", "CKM_CAMELLIA_KEY_GEN",
            MechanismType.camelliaKeyGeneration, CKM_CAMELLIA_KEY_GEN),
        ConstantRow("CKM_CAMELLIA_ECB", "CKM_CAMELLIA_ECB", MechanismType.camelliaECB, CKM_CAMELLIA_ECB),
        ConstantRow("CKM_CAMELLIA_CBC", "CKM_CAMELLIA_CBC", MechanismType.camelliaCBC, CKM_CAMELLIA_CBC),
        ConstantRow("CKM_CAMELLIA_MAC", "CKM_CAMELLIA_MAC", MechanismType.camelliaMAC, CKM_CAMELLIA_MAC),
        ConstantRow(
            "CKM_CAMELLIA_MAC_GENERAL", "CKM_CAMELLIA_MAC_GENERAL",
            MechanismType.camelliaMACGeneral, CKM_CAMELLIA_MAC_GENERAL),
        ConstantRow("CKM_CAMELLIA_CBC_PAD", "CKM_CAMELLIA_CBC_PAD", MechanismType.camelliaCBCPad, CKM_CAMELLIA_CBC_PAD),
        ConstantRow(
            "CKM_CAMELLIA_ECB_ENCRYPT_DATA", "CKM_CAMELLIA_ECB_ENCRYPT_DATA",
            MechanismType.camelliaECBEncryptData, CKM_CAMELLIA_ECB_ENCRYPT_DATA),
        ConstantRow(
            "CKM_CAMELLIA_CBC_ENCRYPT_DATA", "CKM_CAMELLIA_CBC_ENCRYPT_DATA",
            MechanismType.camelliaCBCEncryptData, CKM_CAMELLIA_CBC_ENCRYPT_DATA),
        ConstantRow("CKM_CAMELLIA_CTR", "CKM_CAMELLIA_CTR", MechanismType.camelliaCTR, CKM_CAMELLIA_CTR),
        ConstantRow("CKM_AES_KEY_WRAP", "CKM_AES_KEY_WRAP", MechanismType.aesKeyWrap, CKM_AES_KEY_WRAP),
        ConstantRow("CKM_AES_KEY_WRAP_PAD", "CKM_AES_KEY_WRAP_PAD", MechanismType.aesKeyWrapPad, CKM_AES_KEY_WRAP_PAD),
        ConstantRow("CKM_RSA_PKCS_TPM_1_1", "CKM_RSA_PKCS_TPM_1_1", MechanismType.rsaPKCSTPM1_1, CKM_RSA_PKCS_TPM_1_1),
        ConstantRow(
            "CKM_RSA_PKCS_OAEP_TPM_1_1", "CKM_RSA_PKCS_OAEP_TPM_1_1",
            MechanismType.rsaPKCSOAEPTPM1_1, CKM_RSA_PKCS_OAEP_TPM_1_1),
        ConstantRow(
            "CKM_EC_EDWARDS_KEY_PAIR_GEN", "CKM_EC_EDWARDS_KEY_PAIR_GEN",
            MechanismType.ecEdwardsKeyPairGeneration, CKM_EC_EDWARDS_KEY_PAIR_GEN),
        ConstantRow("CKM_EDDSA", "CKM_EDDSA", MechanismType.eddsa, CKM_EDDSA),
        ConstantRow(
            "CKM_EC_MONTGOMERY_KEY_PAIR_GEN", "CKM_EC_MONTGOMERY_KEY_PAIR_GEN",
            MechanismType.ecMontgomeryKeyPairGeneration, CKM_EC_MONTGOMERY_KEY_PAIR_GEN),
        ConstantRow("CKM_XEDDSA", "CKM_XEDDSA", MechanismType.xeddsa, CKM_XEDDSA),
        ConstantRow("CKM_AES_KEY_WRAP_KWP", "CKM_AES_KEY_WRAP_KWP", MechanismType.aesKeyWrapKWP, CKM_AES_KEY_WRAP_KWP),
        ConstantRow(
            "CKM_AES_KEY_WRAP_PKCS7", "CKM_AES_KEY_WRAP_PKCS7",
            MechanismType.aesKeyWrapPKCS7, CKM_AES_KEY_WRAP_PKCS7),
        ConstantRow("CKM_HKDF_DERIVE", "CKM_HKDF_DERIVE", MechanismType.hkdfDerive, CKM_HKDF_DERIVE),
        ConstantRow("CKM_HKDF_DATA", "CKM_HKDF_DATA", MechanismType.hkdfData, CKM_HKDF_DATA),
        ConstantRow("CKM_HKDF_KEY_GEN", "CKM_HKDF_KEY_GEN", MechanismType.hkdfKeyGeneration, CKM_HKDF_KEY_GEN),
    ]
}
