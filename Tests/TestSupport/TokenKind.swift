/// The kinds of tokens that the tests run on.
///
/// The abilities are measured with the versions of Debian 12; `Scripts/test-tokens` runs the tests of each.
public enum TokenKind: String, Sendable, CaseIterable {
    case softhsm, nss, opencryptoki, tpm2, remote, piv, ykcs11

    /// The features that a test can depend on.
    public enum Ability: String, Sendable, CaseIterable {
        /// A new token for each keychain, which belongs to Keyfob.
        case ownToken
        case makesECKeys, makesP521Keys, makesEd25519Keys, makesRSAKeys, makesAESKeys
        case importsECKeys, importsRSAKeys, importsEd25519Keys
        case storesCertificates
        /// `C_SetAttributeValue` changes labels and ids.
        case changesAttributes
        /// `C_WrapKey` gives out keys that allow it.
        case exportsKeys
        case derivesSecrets
        /// `C_Decrypt` with RSA.
        case decrypts
        /// A second process can load the module without parameters, and write to the token.
        case otherPrograms
        /// A process sees the objects that another one makes after it has started.
        case seesOtherPrograms
        /// The token allows several wrong PINs in a row.
        case forgivesWrongPINs
        /// Other programs can make keys without `CKA_ID`, and with one that Keyfob would not choose.
        case foreignIdentifiers
        /// `C_Sign` obeys `CKA_ALLOWED_MECHANISMS`.
        case enforcesAllowedMechanisms
        /// AES keys that wrap others, so that a keychain has a symmetric wrapping key.
        case wrapsWithAES
        /// NSS's certutil changes the token.
        case changedByCertutil
    }

    /// The features that tokens of this kind have.
    public var abilities: Set<Ability> {
        switch self {
        case .softhsm: Self.all(but: .changedByCertutil)
        case .nss:
            Self.all(
                but: .ownToken, .makesEd25519Keys, .importsEd25519Keys, .otherPrograms, .seesOtherPrograms,
                .enforcesAllowedMechanisms, .foreignIdentifiers)
        case .opencryptoki:
            Self.all(
                but: .ownToken, .makesECKeys, .makesP521Keys, .makesEd25519Keys, .importsECKeys, .importsEd25519Keys,
                .derivesSecrets, .enforcesAllowedMechanisms, .exportsKeys, .wrapsWithAES, .forgivesWrongPINs,
                .changedByCertutil)
        case .tpm2:
            [.makesECKeys, .makesRSAKeys, .storesCertificates, .changesAttributes, .decrypts, .otherPrograms]
        case .remote:
            Self.all(
                but: .ownToken, .makesEd25519Keys, .importsEd25519Keys, .derivesSecrets, .exportsKeys, .wrapsWithAES,
                .changedByCertutil)
        // Their keys and certificates are made by other tools.
        case .piv, .ykcs11: [.decrypts, .derivesSecrets, .otherPrograms, .seesOtherPrograms, .forgivesWrongPINs]
        }
    }

    /// The URI of the key that seals keychains, on tokens where Keyfob makes none.
    public var wrappingKey: String? {
        switch self {
        case .piv, .ykcs11: "pkcs11:id=%03;type=private"
        default: nil
        }
    }

    private static func all(but missing: Ability...) -> Set<Ability> { Set(Ability.allCases).subtracting(missing) }
}
