import Foundation
import KeychainServices
import Testing

/// Every constant against Apple's value.
@Suite struct ConstantTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let raw: String
        let constant: String
        var testDescription: String { raw }
        init(_ raw: String, _ constant: CFString) { (self.raw, self.constant) = (raw, constant as String) }
    }

    static let rows: [Row] = sections.flatMap { $0 }

    @Test(arguments: rows) func `A constant has Apple's raw value`(row: Row) {
        #expect(row.constant == row.raw)
    }

    @Test(arguments: [
        (.digitalSignature, 0), (.nonRepudiation, 1), (.contentCommitment, 1), (.keyEncipherment, 2),
        (.dataEncipherment, 3), (.keyAgreement, 4), (.keyCertSign, 5), (.crlSign, 6), (.encipherOnly, 7),
        (.decipherOnly, 8), (.critical, 31),
    ] as [(SecKeyUsage, UInt32)])
    func `A usage of a certificate's key has Apple's bit`(row: (usage: SecKeyUsage, bit: UInt32)) {
        #expect(row.usage.rawValue == 1 << row.bit && (row.usage == .critical) == SecKeyUsage.all.isDisjoint(with: row.usage))
        #expect(SecKeyUsage.all.rawValue == 0x7FFF_FFFF && SecKeyUsage().rawValue == 0)
    }

    private static let sections: [[Row]] = [
        // Classes
        [
            Row("class", kSecClass),
            Row("genp", kSecClassGenericPassword),
            Row("inet", kSecClassInternetPassword),
            Row("cert", kSecClassCertificate),
            Row("keys", kSecClassKey),
            Row("idnt", kSecClassIdentity),
            Row("apls", kSecClassAppleSharePassword),
        ],
        // Common attributes
        [
            Row("agrp", kSecAttrAccessGroup),
            Row("pdmn", kSecAttrAccessible),
            Row("accc", kSecAttrAccessControl),
            Row("sync", kSecAttrSynchronizable),
            Row("syna", kSecAttrSynchronizableAny),
            Row("cdat", kSecAttrCreationDate),
            Row("mdat", kSecAttrModificationDate),
            Row("labl", kSecAttrLabel),
            Row("tkid", kSecAttrTokenID),
            Row("vwht", kSecAttrSyncViewHint),
            Row("ggrp", kSecAttrSharingGroup),
            Row("musr", kSecAttrMultiUser),
            Row("tomb", kSecAttrTombstone),
            Row("sha1", kSecAttrSHA1),
            Row("sysb", kSecAttrSysBound),
            Row("pcss", kSecAttrPCSPlaintextServiceIdentifier),
            Row("pcsk", kSecAttrPCSPlaintextPublicKey),
            Row("pcsi", kSecAttrPCSPlaintextPublicIdentity),
            Row("UUID", kSecAttrUUID),
            Row("persistref", kSecAttrPersistentReference),
            Row("persistref", kSecAttrPersistantReference),
            Row("clip", kSecAttrAppClipItem),
            Row("nleg", kSecAttrNoLegacy),
        ],
        // Generic passwords
        [
            Row("acct", kSecAttrAccount),
            Row("svce", kSecAttrService),
            Row("gena", kSecAttrGeneric),
            Row("desc", kSecAttrDescription),
            Row("icmt", kSecAttrComment),
            Row("crtr", kSecAttrCreator),
            Row("type", kSecAttrType),
            Row("scrp", kSecAttrScriptCode),
            Row("alis", kSecAttrAlias),
            Row("invi", kSecAttrIsInvisible),
            Row("nega", kSecAttrIsNegative),
            Row("cusi", kSecAttrHasCustomIcon),
            Row("prot", kSecAttrProtected),
        ],
        // Internet passwords
        [
            Row("sdmn", kSecAttrSecurityDomain),
            Row("srvr", kSecAttrServer),
            Row("ptcl", kSecAttrProtocol),
            Row("atyp", kSecAttrAuthenticationType),
            Row("port", kSecAttrPort),
            Row("path", kSecAttrPath),
            Row("binn", kSecDataInetExtraNotes),
            Row("bini", kSecDataInetExtraHistory),
            Row("bin0", kSecDataInetExtraClientDefined0),
            Row("bin1", kSecDataInetExtraClientDefined1),
            Row("bin2", kSecDataInetExtraClientDefined2),
            Row("bin3", kSecDataInetExtraClientDefined3),
        ],
        // Protocols
        [
            Row("ftp ", kSecAttrProtocolFTP),
            Row("ftpa", kSecAttrProtocolFTPAccount),
            Row("http", kSecAttrProtocolHTTP),
            Row("irc ", kSecAttrProtocolIRC),
            Row("nntp", kSecAttrProtocolNNTP),
            Row("pop3", kSecAttrProtocolPOP3),
            Row("smtp", kSecAttrProtocolSMTP),
            Row("sox ", kSecAttrProtocolSOCKS),
            Row("imap", kSecAttrProtocolIMAP),
            Row("ldap", kSecAttrProtocolLDAP),
            Row("atlk", kSecAttrProtocolAppleTalk),
            Row("afp ", kSecAttrProtocolAFP),
            Row("teln", kSecAttrProtocolTelnet),
            Row("ssh ", kSecAttrProtocolSSH),
            Row("ftps", kSecAttrProtocolFTPS),
            Row("htps", kSecAttrProtocolHTTPS),
            Row("htpx", kSecAttrProtocolHTTPProxy),
            Row("htsx", kSecAttrProtocolHTTPSProxy),
            Row("ftpx", kSecAttrProtocolFTPProxy),
            Row("smb ", kSecAttrProtocolSMB),
            Row("rtsp", kSecAttrProtocolRTSP),
            Row("rtsx", kSecAttrProtocolRTSPProxy),
            Row("daap", kSecAttrProtocolDAAP),
            Row("eppc", kSecAttrProtocolEPPC),
            Row("ipp ", kSecAttrProtocolIPP),
            Row("ntps", kSecAttrProtocolNNTPS),
            Row("ldps", kSecAttrProtocolLDAPS),
            Row("tels", kSecAttrProtocolTelnetS),
            Row("imps", kSecAttrProtocolIMAPS),
            Row("ircs", kSecAttrProtocolIRCS),
            Row("pops", kSecAttrProtocolPOP3S),
        ],
        // Authentication types
        [
            Row("ntlm", kSecAttrAuthenticationTypeNTLM),
            Row("msna", kSecAttrAuthenticationTypeMSN),
            Row("dpaa", kSecAttrAuthenticationTypeDPA),
            Row("rpaa", kSecAttrAuthenticationTypeRPA),
            Row("http", kSecAttrAuthenticationTypeHTTPBasic),
            Row("httd", kSecAttrAuthenticationTypeHTTPDigest),
            Row("form", kSecAttrAuthenticationTypeHTMLForm),
            Row("dflt", kSecAttrAuthenticationTypeDefault),
        ],
        // Certificates
        [
            Row("ctyp", kSecAttrCertificateType),
            Row("cenc", kSecAttrCertificateEncoding),
            Row("subj", kSecAttrSubject),
            Row("issr", kSecAttrIssuer),
            Row("slnr", kSecAttrSerialNumber),
            Row("skid", kSecAttrSubjectKeyID),
            Row("pkhh", kSecAttrPublicKeyHash),
        ],
        // Keys
        [
            Row("kcls", kSecAttrKeyClass),
            Row("klbl", kSecAttrApplicationLabel),
            Row("atag", kSecAttrApplicationTag),
            Row("crtr", kSecAttrKeyCreator),
            Row("type", kSecAttrKeyType),
            Row("bsiz", kSecAttrKeySizeInBits),
            Row("esiz", kSecAttrEffectiveKeySize),
            Row("sdat", kSecAttrStartDate),
            Row("edat", kSecAttrEndDate),
            Row("perm", kSecAttrIsPermanent),
            Row("priv", kSecAttrIsPrivate),
            Row("modi", kSecAttrIsModifiable),
            Row("sens", kSecAttrIsSensitive),
            Row("asen", kSecAttrWasAlwaysSensitive),
            Row("extr", kSecAttrIsExtractable),
            Row("next", kSecAttrWasNeverExtractable),
            Row("encr", kSecAttrCanEncrypt),
            Row("decr", kSecAttrCanDecrypt),
            Row("drve", kSecAttrCanDerive),
            Row("sign", kSecAttrCanSign),
            Row("vrfy", kSecAttrCanVerify),
            Row("wrap", kSecAttrCanWrap),
            Row("unwp", kSecAttrCanUnwrap),
            Row("snrc", kSecAttrCanSignRecover),
            Row("vyrc", kSecAttrCanVerifyRecover),
            Row("0", kSecAttrKeyClassPublic),
            Row("1", kSecAttrKeyClassPrivate),
            Row("2", kSecAttrKeyClassSymmetric),
        ],
        // Key types
        [
            Row("42", kSecAttrKeyTypeRSA),
            Row("73", kSecAttrKeyTypeEC),
            Row("73", kSecAttrKeyTypeECSECPrimeRandom),
            Row("105", kSecAttrKeyTypeEd25519),
            Row("106", kSecAttrKeyTypeX25519),
            Row("107", kSecAttrKeyTypeEd448),
            Row("108", kSecAttrKeyTypeX448),
            Row("109", kSecAttrKeyTypeKyber),
            Row("110", kSecAttrKeyTypeMLKEM),
            Row("111", kSecAttrKeyTypeMLDSA),
            Row("2147483678", kSecAttrKeyTypeECSECPrimeRandomPKA),
            Row("2147483679", kSecAttrKeyTypeSecureEnclaveAttestation),
            Row("2147483680", kSecAttrKeyTypeSecureEnclaveAnonymousAttestation),
        ],
        // Accessibility
        [
            Row("ak", kSecAttrAccessibleWhenUnlocked),
            Row("ck", kSecAttrAccessibleAfterFirstUnlock),
            Row("dk", kSecAttrAccessibleAlways),
            Row("aku", kSecAttrAccessibleWhenUnlockedThisDeviceOnly),
            Row("cku", kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly),
            Row("dku", kSecAttrAccessibleAlwaysThisDeviceOnly),
            Row("akpu", kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly),
            Row("f", kSecAttrAccessibleUntilReboot),
        ],
        // Filters
        [
            Row("m_Policy", kSecMatchPolicy),
            Row("m_Issuers", kSecMatchIssuers),
            Row("m_EmailAddressIfPresent", kSecMatchEmailAddressIfPresent),
            Row("m_ValidOnDate", kSecMatchValidOnDate),
            Row("m_TrustedOnly", kSecMatchTrustedOnly),
            Row("m_HostOrSubdomainOfHost", kSecMatchHostOrSubdomainOfHost),
            Row("m_SubjectContains", kSecMatchSubjectContains),
            Row("m_SubjectStartsWith", kSecMatchSubjectStartsWith),
            Row("m_SubjectEndsWith", kSecMatchSubjectEndsWith),
            Row("m_SubjectWholeString", kSecMatchSubjectWholeString),
            Row("m_CaseInsensitive", kSecMatchCaseInsensitive),
            Row("m_DiacriticInsensitive", kSecMatchDiacriticInsensitive),
            Row("m_WidthInsensitive", kSecMatchWidthInsensitive),
            Row("m_ItemList", kSecMatchItemList),
            Row("m_SearchList", kSecMatchSearchList),
            Row("m_Limit", kSecMatchLimit),
            Row("m_LimitOne", kSecMatchLimitOne),
            Row("m_LimitAll", kSecMatchLimitAll),
        ],
        // Returns and values
        [
            Row("r_Data", kSecReturnData),
            Row("r_Attributes", kSecReturnAttributes),
            Row("r_Ref", kSecReturnRef),
            Row("r_PersistentRef", kSecReturnPersistentRef),
            Row("v_Data", kSecValueData),
            Row("v_Ref", kSecValueRef),
            Row("v_PersistentRef", kSecValuePersistentRef),
        ],
        // Uses
        [
            Row("u_ItemList", kSecUseItemList),
            Row("u_Tomb", kSecUseTombstones),
            Row("u_OpPrompt", kSecUseOperationPrompt),
            Row("u_NoAuthUI", kSecUseNoAuthenticationUI),
            Row("u_AuthUI", kSecUseAuthenticationUI),
            Row("u_AuthUIA", kSecUseAuthenticationUIAllow),
            Row("u_AuthUIF", kSecUseAuthenticationUIFail),
            Row("u_AuthUIS", kSecUseAuthenticationUISkip),
            Row("u_AuthCtx", kSecUseAuthenticationContext),
            Row("u_CredRef", kSecUseCredentialReference),
            Row("u_SystemKeychain", kSecUseSystemKeychain),
            Row("u_SystemKeychainAlways", kSecUseSystemKeychainAlways),
            Row("u_UserIndependentKeychain", kSecUseUserIndependentKeychain),
            Row("u_SyncBubbleKeychain", kSecUseSyncBubbleKeychain),
            Row("u_CallerName", kSecUseCallerName),
            Row("u_TokenRawItems", kSecUseTokenRawItems),
            Row("u_CertWithIssuers", kSecUseCertificatesWithMatchIssuers),
            Row("nleg", kSecUseDataProtectionKeychain),
        ],
        // Tokens
        [
            Row("com.apple.setoken", kSecAttrTokenIDSecureEnclave),
            Row("com.apple.setoken:aks", kSecAttrTokenIDAppleKeyStore),
            Row("com.apple.secelemtoken", kSecAttrTokenIDSecureElement),
            Row("toid", kSecAttrTokenOID),
            Row("com.apple.token", kSecAttrAccessGroupToken),
            Row("private", kSecPrivateKeyAttrs),
            Row("public", kSecPublicKeyAttrs),
        ],
        // Import
        [
            Row("passphrase", kSecImportExportPassphrase),
            Row("access", kSecImportExportAccess),
            Row("keychain", kSecImportExportKeychain),
            Row("memory", kSecImportToMemoryOnly),
            Row("identity", kSecImportItemIdentity),
            Row("trust", kSecImportItemTrust),
            Row("chain", kSecImportItemCertChain),
            Row("label", kSecImportItemLabel),
            Row("keyid", kSecImportItemKeyID),
        ],
        // Properties of policies
        [
            Row("SecPolicyOid", kSecPolicyOid),
            Row("SecPolicyName", kSecPolicyName),
            Row("SecPolicyClient", kSecPolicyClient),
            Row("SecPolicyRevocationFlags", kSecPolicyRevocationFlags),
            Row("SecPolicyTeamIdentifier", kSecPolicyTeamIdentifier),
            Row("CE_KU_DigitalSignature", kSecPolicyKU_DigitalSignature),
            Row("CE_KU_NonRepudiation", kSecPolicyKU_NonRepudiation),
            Row("CE_KU_KeyEncipherment", kSecPolicyKU_KeyEncipherment),
            Row("CE_KU_DataEncipherment", kSecPolicyKU_DataEncipherment),
            Row("CE_KU_KeyAgreement", kSecPolicyKU_KeyAgreement),
            Row("CE_KU_KeyCertSign", kSecPolicyKU_KeyCertSign),
            Row("CE_KU_CRLSign", kSecPolicyKU_CRLSign),
            Row("CE_KU_EncipherOnly", kSecPolicyKU_EncipherOnly),
            Row("CE_KU_DecipherOnly", kSecPolicyKU_DecipherOnly),
        ],
    ]
}
