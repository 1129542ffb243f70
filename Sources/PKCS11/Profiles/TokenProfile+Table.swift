/// The tokens and libraries with quirks.
extension TokenProfile {
    /// The table. Each entry was tried; `Scripts/token` starts the tokens.
    package static let table = [
        Entry(
            "SoftHSM library", .library(softHSMLibrary),
            [
                .listsAlone:
                    "creates the file of a new object before it takes the lock of its list, so that a thread that "
                    + "lists the objects meets a half-written one (2.6)",
                .computesInProcess: "keeps its objects in files",
            ]),
        // Also behind p11-kit's remote protocol, where the library is p11-kit's.
        Entry(
            "SoftHSM token", .token(softHSMToken),
            [
                .uniqueSerials: "its serial numbers are random",
                .keepsHandles: "counts its handles upwards and uses none twice",
                .vanishesDuringLogin: "empties and rewrites the file of the token at each login",
                .failsMomentarily: "cannot read the file of an object while another process writes it",
            ]),
        Entry(
            "NSS softokn",
            .library(
                .init(
                    manufacturer: "Mozilla Foundation", description: "NSS Internal Crypto Services",
                    versions: Version(major: 3, minor: 0)..<Version(major: 4, minor: 0), file: "libsoftokn3.so")),
            requiredParameter: "configdir=",
            [
                .needsParameters:
                    "finds its database by the parameters of C_Initialize; CKR_ARGUMENTS_BAD without any, and a crash "
                    + "without configdir",
                .computesInProcess: "keeps its objects in a database",
            ]),
        Entry(
            "tpm2-pkcs11",
            .library(
                .init(
                    manufacturer: "tpm2-software.github.io", description: "TPM2.0 Cryptoki",
                    versions: Version(major: 1, minor: 0)..<Version(major: 2, minor: 0), file: "libtpm2_pkcs11.so")),
            pinTries: 3,
            [
                .writesToStandardError:
                    "writes \"ERROR: …\" for each failure, and GLib's warnings; no variable stops all of them",
                .keepsUsedKeysLoaded:
                    "each key that is used takes a place until the logout, and after 28 keys every call fails with "
                    + "CKR_GENERAL_ERROR; also the login, after 14 generated keys were destroyed",
                .reportsNoTries: "sets no flag after a wrong PIN; the fourth locks the TPM",
                .locksOutSecurityOfficer: "the TPM's lockout covers all PINs, and ends with time only",
                .refusesForbiddenUses: "C_GenerateKeyPair fails if CKA_DECRYPT or CKA_ENCRYPT is there as false",
                .losesTriesAfterFork: "a forked process continues its parent's sessions with the TPM, which fail as "
                    + "wrong PINs: nginx used up all tries with the right PIN",
                .refusesDefaultEngine: "uses OpenSSL inside, and the login fails if the pkcs11 engine serves that too",
            ]),
        // The proxy, which runs modules in this process, says the same of itself.
        Entry(
            "remote protocol of p11-kit",
            .library(
                .init(
                    manufacturer: "PKCS#11 Kit", description: "PKCS#11 Kit Proxy Module",
                    versions: Version(major: 1, minor: 0)..<Version(major: 2, minor: 0), file: "p11-kit-client.so")),
            [
                .callsAlone:
                    "all threads read from one connection, and a thread that waits for another one to read its answer "
                    + "waits for ever if the server is killed meanwhile (0.24)"
            ]),
        Entry(
            "OpenSC",
            .library(
                .init(
                    manufacturer: "OpenSC Project", description: "OpenSC smartcard framework",
                    versions: Version(major: 0, minor: 0)..<Version(major: 1, minor: 0), file: "opensc-pkcs11.so")),
            [
                .operatesAlone:
                    "frees the keys of a card that it finds removed, but closes only every other session with it; "
                    + "C_Sign then crashes in a session whose C_SignInit came before (0.23)"
            ]),
        Entry(
            "trust store of p11-kit",
            .library(
                .init(
                    manufacturer: "PKCS#11 Kit", description: "PKCS#11 Kit Trust Module",
                    versions: Version(major: 0, minor: 0)..<Version(major: .max, minor: .max),
                    file: "p11-kit-trust.so")),
            [.holdsNoKeys: "shows the certificates that the system trusts"]),
    ]

    /// SoftHSM, with which Keyfob makes tokens of its own.
    package static let softHSMLibrary = Entry.Library(
        manufacturer: "SoftHSM", description: "Implementation of PKCS11",
        versions: Version(major: 2, minor: 0)..<Version(major: 3, minor: 0), file: "libsofthsm2.so")

    /// The tokens of SoftHSM.
    package static let softHSMToken = Entry.Token(manufacturer: "SoftHSM project", model: "SoftHSM")

    /// The model of the tokens that SoftHSM 2 makes.
    package static let softHSMModel = "SoftHSM v2"

    /// The profile of the tokens that Keyfob makes.
    package static let ownTokens: TokenProfile = {
        var identity = Identity(file: softHSMLibrary.file)
        (identity.manufacturer, identity.model) = (softHSMToken.manufacturer, softHSMModel)
        return TokenProfile(of: identity)
    }()

    /// The profile of the token that a URI names, before it is reached.
    package init(expectedAt uri: PKCS11URI) {
        var identity = Identity()
        (identity.manufacturer, identity.model) = (uri.manufacturer, uri.model)
        self.init(of: identity)
    }
}
