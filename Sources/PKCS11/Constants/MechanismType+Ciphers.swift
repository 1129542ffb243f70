// Written by Scripts/generate-constants; change the script, not this file.

/// Mechanisms of symmetric ciphers, and key wrapping by them.
extension MechanismType {
    /// Corresponds to `CKM_RC2_KEY_GEN`.
    public static let rc2KeyGeneration = MechanismType(rawValue: 0x100)
    /// Corresponds to `CKM_RC2_ECB`.
    public static let rc2ECB = MechanismType(rawValue: 0x101)
    /// Corresponds to `CKM_RC2_CBC`.
    public static let rc2CBC = MechanismType(rawValue: 0x102)
    /// Corresponds to `CKM_RC2_MAC`.
    public static let rc2MAC = MechanismType(rawValue: 0x103)
    /// Corresponds to `CKM_RC2_MAC_GENERAL`.
    public static let rc2MACGeneral = MechanismType(rawValue: 0x104)
    /// Corresponds to `CKM_RC2_CBC_PAD`.
    public static let rc2CBCPad = MechanismType(rawValue: 0x105)
    /// Corresponds to `CKM_RC4_KEY_GEN`.
    public static let rc4KeyGeneration = MechanismType(rawValue: 0x110)
    /// Corresponds to `CKM_RC4`.
    public static let rc4 = MechanismType(rawValue: 0x111)
    /// Corresponds to `CKM_DES_KEY_GEN`.
    public static let desKeyGeneration = MechanismType(rawValue: 0x120)
    /// Corresponds to `CKM_DES_ECB`.
    public static let desECB = MechanismType(rawValue: 0x121)
    /// Corresponds to `CKM_DES_CBC`.
    public static let desCBC = MechanismType(rawValue: 0x122)
    /// Corresponds to `CKM_DES_MAC`.
    public static let desMAC = MechanismType(rawValue: 0x123)
    /// Corresponds to `CKM_DES_MAC_GENERAL`.
    public static let desMACGeneral = MechanismType(rawValue: 0x124)
    /// Corresponds to `CKM_DES_CBC_PAD`.
    public static let desCBCPad = MechanismType(rawValue: 0x125)
    /// Corresponds to `CKM_DES2_KEY_GEN`.
    public static let des2KeyGeneration = MechanismType(rawValue: 0x130)
    /// Corresponds to `CKM_DES3_KEY_GEN`.
    public static let des3KeyGeneration = MechanismType(rawValue: 0x131)
    /// Corresponds to `CKM_DES3_ECB`.
    public static let des3ECB = MechanismType(rawValue: 0x132)
    /// Corresponds to `CKM_DES3_CBC`.
    public static let des3CBC = MechanismType(rawValue: 0x133)
    /// Corresponds to `CKM_DES3_MAC`.
    public static let des3MAC = MechanismType(rawValue: 0x134)
    /// Corresponds to `CKM_DES3_MAC_GENERAL`.
    public static let des3MACGeneral = MechanismType(rawValue: 0x135)
    /// Corresponds to `CKM_DES3_CBC_PAD`.
    public static let des3CBCPad = MechanismType(rawValue: 0x136)
    /// Corresponds to `CKM_DES3_CMAC_GENERAL`.
    public static let des3CMACGeneral = MechanismType(rawValue: 0x137)
    /// Corresponds to `CKM_DES3_CMAC`.
    public static let des3CMAC = MechanismType(rawValue: 0x138)
    /// Corresponds to `CKM_CDMF_KEY_GEN`.
    public static let cdmfKeyGeneration = MechanismType(rawValue: 0x140)
    /// Corresponds to `CKM_CDMF_ECB`.
    public static let cdmfECB = MechanismType(rawValue: 0x141)
    /// Corresponds to `CKM_CDMF_CBC`.
    public static let cdmfCBC = MechanismType(rawValue: 0x142)
    /// Corresponds to `CKM_CDMF_MAC`.
    public static let cdmfMAC = MechanismType(rawValue: 0x143)
    /// Corresponds to `CKM_CDMF_MAC_GENERAL`.
    public static let cdmfMACGeneral = MechanismType(rawValue: 0x144)
    /// Corresponds to `CKM_CDMF_CBC_PAD`.
    public static let cdmfCBCPad = MechanismType(rawValue: 0x145)
    /// Corresponds to `CKM_DES_OFB64`.
    public static let desOFB64 = MechanismType(rawValue: 0x150)
    /// Corresponds to `CKM_DES_OFB8`.
    public static let desOFB8 = MechanismType(rawValue: 0x151)
    /// Corresponds to `CKM_DES_CFB64`.
    public static let desCFB64 = MechanismType(rawValue: 0x152)
    /// Corresponds to `CKM_DES_CFB8`.
    public static let desCFB8 = MechanismType(rawValue: 0x153)
    /// Corresponds to `CKM_CAST_KEY_GEN`.
    public static let castKeyGeneration = MechanismType(rawValue: 0x300)
    /// Corresponds to `CKM_CAST_ECB`.
    public static let castECB = MechanismType(rawValue: 0x301)
    /// Corresponds to `CKM_CAST_CBC`.
    public static let castCBC = MechanismType(rawValue: 0x302)
    /// Corresponds to `CKM_CAST_MAC`.
    public static let castMAC = MechanismType(rawValue: 0x303)
    /// Corresponds to `CKM_CAST_MAC_GENERAL`.
    public static let castMACGeneral = MechanismType(rawValue: 0x304)
    /// Corresponds to `CKM_CAST_CBC_PAD`.
    public static let castCBCPad = MechanismType(rawValue: 0x305)
    /// Corresponds to `CKM_CAST3_KEY_GEN`.
    public static let cast3KeyGeneration = MechanismType(rawValue: 0x310)
    /// Corresponds to `CKM_CAST3_ECB`.
    public static let cast3ECB = MechanismType(rawValue: 0x311)
    /// Corresponds to `CKM_CAST3_CBC`.
    public static let cast3CBC = MechanismType(rawValue: 0x312)
    /// Corresponds to `CKM_CAST3_MAC`.
    public static let cast3MAC = MechanismType(rawValue: 0x313)
    /// Corresponds to `CKM_CAST3_MAC_GENERAL`.
    public static let cast3MACGeneral = MechanismType(rawValue: 0x314)
    /// Corresponds to `CKM_CAST3_CBC_PAD`.
    public static let cast3CBCPad = MechanismType(rawValue: 0x315)
    /// Corresponds to `CKM_CAST5_KEY_GEN`.
    public static let cast5KeyGeneration = MechanismType(rawValue: 0x320)
    /// Corresponds to `CKM_CAST5_ECB`.
    public static let cast5ECB = MechanismType(rawValue: 0x321)
    /// Corresponds to `CKM_CAST5_CBC`.
    public static let cast5CBC = MechanismType(rawValue: 0x322)
    /// Corresponds to `CKM_CAST5_MAC`.
    public static let cast5MAC = MechanismType(rawValue: 0x323)
    /// Corresponds to `CKM_CAST5_MAC_GENERAL`.
    public static let cast5MACGeneral = MechanismType(rawValue: 0x324)
    /// Corresponds to `CKM_CAST5_CBC_PAD`.
    public static let cast5CBCPad = MechanismType(rawValue: 0x325)
    /// Corresponds to `CKM_RC5_KEY_GEN`.
    public static let rc5KeyGeneration = MechanismType(rawValue: 0x330)
    /// Corresponds to `CKM_RC5_ECB`.
    public static let rc5ECB = MechanismType(rawValue: 0x331)
    /// Corresponds to `CKM_RC5_CBC`.
    public static let rc5CBC = MechanismType(rawValue: 0x332)
    /// Corresponds to `CKM_RC5_MAC`.
    public static let rc5MAC = MechanismType(rawValue: 0x333)
    /// Corresponds to `CKM_RC5_MAC_GENERAL`.
    public static let rc5MACGeneral = MechanismType(rawValue: 0x334)
    /// Corresponds to `CKM_RC5_CBC_PAD`.
    public static let rc5CBCPad = MechanismType(rawValue: 0x335)
    /// Corresponds to `CKM_IDEA_KEY_GEN`.
    public static let ideaKeyGeneration = MechanismType(rawValue: 0x340)
    /// Corresponds to `CKM_IDEA_ECB`.
    public static let ideaECB = MechanismType(rawValue: 0x341)
    /// Corresponds to `CKM_IDEA_CBC`.
    public static let ideaCBC = MechanismType(rawValue: 0x342)
    /// Corresponds to `CKM_IDEA_MAC`.
    public static let ideaMAC = MechanismType(rawValue: 0x343)
    /// Corresponds to `CKM_IDEA_MAC_GENERAL`.
    public static let ideaMACGeneral = MechanismType(rawValue: 0x344)
    /// Corresponds to `CKM_IDEA_CBC_PAD`.
    public static let ideaCBCPad = MechanismType(rawValue: 0x345)
    /// Corresponds to `CKM_KEY_WRAP_LYNKS`.
    public static let keyWrapLynks = MechanismType(rawValue: 0x400)
    /// Corresponds to `CKM_KEY_WRAP_SET_OAEP`.
    public static let keyWrapSetOAEP = MechanismType(rawValue: 0x401)
    /// Corresponds to `CKM_CAMELLIA_KEY_GEN`.
    public static let camelliaKeyGeneration = MechanismType(rawValue: 0x550)
    /// Corresponds to `CKM_CAMELLIA_ECB`.
    public static let camelliaECB = MechanismType(rawValue: 0x551)
    /// Corresponds to `CKM_CAMELLIA_CBC`.
    public static let camelliaCBC = MechanismType(rawValue: 0x552)
    /// Corresponds to `CKM_CAMELLIA_MAC`.
    public static let camelliaMAC = MechanismType(rawValue: 0x553)
    /// Corresponds to `CKM_CAMELLIA_MAC_GENERAL`.
    public static let camelliaMACGeneral = MechanismType(rawValue: 0x554)
    /// Corresponds to `CKM_CAMELLIA_CBC_PAD`.
    public static let camelliaCBCPad = MechanismType(rawValue: 0x555)
    /// Corresponds to `CKM_CAMELLIA_ECB_ENCRYPT_DATA`.
    public static let camelliaECBEncryptData = MechanismType(rawValue: 0x556)
    /// Corresponds to `CKM_CAMELLIA_CBC_ENCRYPT_DATA`.
    public static let camelliaCBCEncryptData = MechanismType(rawValue: 0x557)
    /// Corresponds to `CKM_CAMELLIA_CTR`.
    public static let camelliaCTR = MechanismType(rawValue: 0x558)
    /// Corresponds to `CKM_ARIA_KEY_GEN`.
    public static let ariaKeyGeneration = MechanismType(rawValue: 0x560)
    /// Corresponds to `CKM_ARIA_ECB`.
    public static let ariaECB = MechanismType(rawValue: 0x561)
    /// Corresponds to `CKM_ARIA_CBC`.
    public static let ariaCBC = MechanismType(rawValue: 0x562)
    /// Corresponds to `CKM_ARIA_MAC`.
    public static let ariaMAC = MechanismType(rawValue: 0x563)
    /// Corresponds to `CKM_ARIA_MAC_GENERAL`.
    public static let ariaMACGeneral = MechanismType(rawValue: 0x564)
    /// Corresponds to `CKM_ARIA_CBC_PAD`.
    public static let ariaCBCPad = MechanismType(rawValue: 0x565)
    /// Corresponds to `CKM_ARIA_ECB_ENCRYPT_DATA`.
    public static let ariaECBEncryptData = MechanismType(rawValue: 0x566)
    /// Corresponds to `CKM_ARIA_CBC_ENCRYPT_DATA`.
    public static let ariaCBCEncryptData = MechanismType(rawValue: 0x567)
    /// Corresponds to `CKM_SEED_KEY_GEN`.
    public static let seedKeyGeneration = MechanismType(rawValue: 0x650)
    /// Corresponds to `CKM_SEED_ECB`.
    public static let seedECB = MechanismType(rawValue: 0x651)
    /// Corresponds to `CKM_SEED_CBC`.
    public static let seedCBC = MechanismType(rawValue: 0x652)
    /// Corresponds to `CKM_SEED_MAC`.
    public static let seedMAC = MechanismType(rawValue: 0x653)
    /// Corresponds to `CKM_SEED_MAC_GENERAL`.
    public static let seedMACGeneral = MechanismType(rawValue: 0x654)
    /// Corresponds to `CKM_SEED_CBC_PAD`.
    public static let seedCBCPad = MechanismType(rawValue: 0x655)
    /// Corresponds to `CKM_SEED_ECB_ENCRYPT_DATA`.
    public static let seedECBEncryptData = MechanismType(rawValue: 0x656)
    /// Corresponds to `CKM_SEED_CBC_ENCRYPT_DATA`.
    public static let seedCBCEncryptData = MechanismType(rawValue: 0x657)
    /// Corresponds to `CKM_SKIPJACK_KEY_GEN`.
    public static let skipjackKeyGeneration = MechanismType(rawValue: 0x1000)
    /// Corresponds to `CKM_SKIPJACK_ECB64`.
    public static let skipjackECB64 = MechanismType(rawValue: 0x1001)
    /// Corresponds to `CKM_SKIPJACK_CBC64`.
    public static let skipjackCBC64 = MechanismType(rawValue: 0x1002)
    /// Corresponds to `CKM_SKIPJACK_OFB64`.
    public static let skipjackOFB64 = MechanismType(rawValue: 0x1003)
    /// Corresponds to `CKM_SKIPJACK_CFB64`.
    public static let skipjackCFB64 = MechanismType(rawValue: 0x1004)
    /// Corresponds to `CKM_SKIPJACK_CFB32`.
    public static let skipjackCFB32 = MechanismType(rawValue: 0x1005)
    /// Corresponds to `CKM_SKIPJACK_CFB16`.
    public static let skipjackCFB16 = MechanismType(rawValue: 0x1006)
    /// Corresponds to `CKM_SKIPJACK_CFB8`.
    public static let skipjackCFB8 = MechanismType(rawValue: 0x1007)
    /// Corresponds to `CKM_SKIPJACK_WRAP`.
    public static let skipjackWrap = MechanismType(rawValue: 0x1008)
    /// Corresponds to `CKM_SKIPJACK_PRIVATE_WRAP`.
    public static let skipjackPrivateWrap = MechanismType(rawValue: 0x1009)
    /// Corresponds to `CKM_SKIPJACK_RELAYX`.
    public static let skipjackRelayx = MechanismType(rawValue: 0x100a)
    /// Corresponds to `CKM_FORTEZZA_TIMESTAMP`.
    public static let fortezzaTimestamp = MechanismType(rawValue: 0x1020)
    /// Corresponds to `CKM_BATON_KEY_GEN`.
    public static let batonKeyGeneration = MechanismType(rawValue: 0x1030)
    /// Corresponds to `CKM_BATON_ECB128`.
    public static let batonECB128 = MechanismType(rawValue: 0x1031)
    /// Corresponds to `CKM_BATON_ECB96`.
    public static let batonECB96 = MechanismType(rawValue: 0x1032)
    /// Corresponds to `CKM_BATON_CBC128`.
    public static let batonCBC128 = MechanismType(rawValue: 0x1033)
    /// Corresponds to `CKM_BATON_COUNTER`.
    public static let batonCounter = MechanismType(rawValue: 0x1034)
    /// Corresponds to `CKM_BATON_SHUFFLE`.
    public static let batonShuffle = MechanismType(rawValue: 0x1035)
    /// Corresponds to `CKM_BATON_WRAP`.
    public static let batonWrap = MechanismType(rawValue: 0x1036)
    /// Corresponds to `CKM_JUNIPER_KEY_GEN`.
    public static let juniperKeyGeneration = MechanismType(rawValue: 0x1060)
    /// Corresponds to `CKM_JUNIPER_ECB128`.
    public static let juniperECB128 = MechanismType(rawValue: 0x1061)
    /// Corresponds to `CKM_JUNIPER_CBC128`.
    public static let juniperCBC128 = MechanismType(rawValue: 0x1062)
    /// Corresponds to `CKM_JUNIPER_COUNTER`.
    public static let juniperCounter = MechanismType(rawValue: 0x1063)
    /// Corresponds to `CKM_JUNIPER_SHUFFLE`.
    public static let juniperShuffle = MechanismType(rawValue: 0x1064)
    /// Corresponds to `CKM_JUNIPER_WRAP`.
    public static let juniperWrap = MechanismType(rawValue: 0x1065)
    /// Corresponds to `CKM_AES_KEY_GEN`.
    public static let aesKeyGeneration = MechanismType(rawValue: 0x1080)
    /// Corresponds to `CKM_AES_ECB`.
    public static let aesECB = MechanismType(rawValue: 0x1081)
    /// Corresponds to `CKM_AES_CBC`.
    public static let aesCBC = MechanismType(rawValue: 0x1082)
    /// Corresponds to `CKM_AES_MAC`.
    public static let aesMAC = MechanismType(rawValue: 0x1083)
    /// Corresponds to `CKM_AES_MAC_GENERAL`.
    public static let aesMACGeneral = MechanismType(rawValue: 0x1084)
    /// Corresponds to `CKM_AES_CBC_PAD`.
    public static let aesCBCPad = MechanismType(rawValue: 0x1085)
    /// Corresponds to `CKM_AES_CTR`.
    public static let aesCTR = MechanismType(rawValue: 0x1086)
    /// Corresponds to `CKM_AES_GCM`.
    public static let aesGCM = MechanismType(rawValue: 0x1087)
    /// Corresponds to `CKM_AES_CCM`.
    public static let aesCCM = MechanismType(rawValue: 0x1088)
    /// Corresponds to `CKM_AES_CTS`.
    public static let aesCTS = MechanismType(rawValue: 0x1089)
    /// Corresponds to `CKM_AES_CMAC`.
    public static let aesCMAC = MechanismType(rawValue: 0x108a)
    /// Corresponds to `CKM_AES_CMAC_GENERAL`.
    public static let aesCMACGeneral = MechanismType(rawValue: 0x108b)
    /// Corresponds to `CKM_AES_XCBC_MAC`.
    public static let aesXCBCMAC = MechanismType(rawValue: 0x108c)
    /// Corresponds to `CKM_AES_XCBC_MAC_96`.
    public static let aesXCBCMAC96 = MechanismType(rawValue: 0x108d)
    /// Corresponds to `CKM_AES_GMAC`.
    public static let aesGMAC = MechanismType(rawValue: 0x108e)
    /// Corresponds to `CKM_BLOWFISH_KEY_GEN`.
    public static let blowfishKeyGeneration = MechanismType(rawValue: 0x1090)
    /// Corresponds to `CKM_BLOWFISH_CBC`.
    public static let blowfishCBC = MechanismType(rawValue: 0x1091)
    /// Corresponds to `CKM_TWOFISH_KEY_GEN`.
    public static let twofishKeyGeneration = MechanismType(rawValue: 0x1092)
    /// Corresponds to `CKM_TWOFISH_CBC`.
    public static let twofishCBC = MechanismType(rawValue: 0x1093)
    /// Corresponds to `CKM_BLOWFISH_CBC_PAD`.
    public static let blowfishCBCPad = MechanismType(rawValue: 0x1094)
    /// Corresponds to `CKM_TWOFISH_CBC_PAD`.
    public static let twofishCBCPad = MechanismType(rawValue: 0x1095)
    /// Corresponds to `CKM_DES_ECB_ENCRYPT_DATA`.
    public static let desECBEncryptData = MechanismType(rawValue: 0x1100)
    /// Corresponds to `CKM_DES_CBC_ENCRYPT_DATA`.
    public static let desCBCEncryptData = MechanismType(rawValue: 0x1101)
    /// Corresponds to `CKM_DES3_ECB_ENCRYPT_DATA`.
    public static let des3ECBEncryptData = MechanismType(rawValue: 0x1102)
    /// Corresponds to `CKM_DES3_CBC_ENCRYPT_DATA`.
    public static let des3CBCEncryptData = MechanismType(rawValue: 0x1103)
    /// Corresponds to `CKM_AES_ECB_ENCRYPT_DATA`.
    public static let aesECBEncryptData = MechanismType(rawValue: 0x1104)
    /// Corresponds to `CKM_AES_CBC_ENCRYPT_DATA`.
    public static let aesCBCEncryptData = MechanismType(rawValue: 0x1105)
    /// Corresponds to `CKM_GOST28147_KEY_GEN`.
    public static let gost28147KeyGeneration = MechanismType(rawValue: 0x1220)
    /// Corresponds to `CKM_GOST28147_ECB`.
    public static let gost28147ECB = MechanismType(rawValue: 0x1221)
    /// Corresponds to `CKM_GOST28147`.
    public static let gost28147 = MechanismType(rawValue: 0x1222)
    /// Corresponds to `CKM_GOST28147_MAC`.
    public static let gost28147MAC = MechanismType(rawValue: 0x1223)
    /// Corresponds to `CKM_GOST28147_KEY_WRAP`.
    public static let gost28147KeyWrap = MechanismType(rawValue: 0x1224)
    /// Corresponds to `CKM_AES_OFB`.
    public static let aesOFB = MechanismType(rawValue: 0x2104)
    /// Corresponds to `CKM_AES_CFB64`.
    public static let aesCFB64 = MechanismType(rawValue: 0x2105)
    /// Corresponds to `CKM_AES_CFB8`.
    public static let aesCFB8 = MechanismType(rawValue: 0x2106)
    /// Corresponds to `CKM_AES_CFB128`.
    public static let aesCFB128 = MechanismType(rawValue: 0x2107)
    /// Corresponds to `CKM_AES_CFB1`.
    public static let aesCFB1 = MechanismType(rawValue: 0x2108)
    /// AES key wrap of RFC 3394: a multiple of eight bytes. Corresponds to `CKM_AES_KEY_WRAP`.
    public static let aesKeyWrap = MechanismType(rawValue: 0x2109)
    /// Padded AES key wrap; RFC 5649 on SoftHSM, RFC 3394 under PKCS #7 padding on NSS.
    ///
    /// Corresponds to `CKM_AES_KEY_WRAP_PAD`.
    public static let aesKeyWrapPad = MechanismType(rawValue: 0x210a)
    /// Padded AES key wrap of RFC 5649 (Cryptoki 3.0). Corresponds to `CKM_AES_KEY_WRAP_KWP`.
    public static let aesKeyWrapKWP = MechanismType(rawValue: 0x210b)
    /// Corresponds to `CKM_AES_KEY_WRAP_PKCS7`.
    public static let aesKeyWrapPKCS7 = MechanismType(rawValue: 0x210c)
}
