/// A function of the C interface, identified by its name in the specification.
public struct PKCS11Function: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name, such as `C_Sign`.
    public let rawValue: String

    /// Wraps a name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The same as `rawValue`.
    public var description: String { rawValue }

    /// Loading a module by path, before any Cryptoki call. Stands for `p11_kit_module_load`.
    public static let moduleLoad = PKCS11Function(rawValue: "p11_kit_module_load")
    /// Loading the modules of p11-kit's configuration. Stands for `p11_kit_modules_load`.
    public static let modulesLoad = PKCS11Function(rawValue: "p11_kit_modules_load")
    /// Stands for `C_Initialize`.
    public static let initialize = PKCS11Function(rawValue: "C_Initialize")
    /// Stands for `C_Finalize`.
    public static let finalize = PKCS11Function(rawValue: "C_Finalize")
    /// Stands for `C_GetInfo`.
    public static let getInfo = PKCS11Function(rawValue: "C_GetInfo")
    /// Stands for `C_GetFunctionList`.
    public static let getFunctionList = PKCS11Function(rawValue: "C_GetFunctionList")
    /// Stands for `C_GetSlotList`.
    public static let getSlotList = PKCS11Function(rawValue: "C_GetSlotList")
    /// Stands for `C_GetSlotInfo`.
    public static let getSlotInfo = PKCS11Function(rawValue: "C_GetSlotInfo")
    /// Stands for `C_GetTokenInfo`.
    public static let getTokenInfo = PKCS11Function(rawValue: "C_GetTokenInfo")
    /// Stands for `C_GetMechanismList`.
    public static let getMechanismList = PKCS11Function(rawValue: "C_GetMechanismList")
    /// Stands for `C_GetMechanismInfo`.
    public static let getMechanismInfo = PKCS11Function(rawValue: "C_GetMechanismInfo")
    /// Stands for `C_InitToken`.
    public static let initializeToken = PKCS11Function(rawValue: "C_InitToken")
    /// Stands for `C_InitPIN`.
    public static let initializePIN = PKCS11Function(rawValue: "C_InitPIN")
    /// Stands for `C_SetPIN`.
    public static let setPIN = PKCS11Function(rawValue: "C_SetPIN")
    /// Stands for `C_OpenSession`.
    public static let openSession = PKCS11Function(rawValue: "C_OpenSession")
    /// Stands for `C_CloseSession`.
    public static let closeSession = PKCS11Function(rawValue: "C_CloseSession")
    /// Stands for `C_CloseAllSessions`.
    public static let closeAllSessions = PKCS11Function(rawValue: "C_CloseAllSessions")
    /// Stands for `C_GetSessionInfo`.
    public static let getSessionInfo = PKCS11Function(rawValue: "C_GetSessionInfo")
    /// Stands for `C_GetOperationState`.
    public static let getOperationState = PKCS11Function(rawValue: "C_GetOperationState")
    /// Stands for `C_SetOperationState`.
    public static let setOperationState = PKCS11Function(rawValue: "C_SetOperationState")
    /// Stands for `C_Login`.
    public static let login = PKCS11Function(rawValue: "C_Login")
    /// Stands for `C_Logout`.
    public static let logout = PKCS11Function(rawValue: "C_Logout")
    /// Stands for `C_CreateObject`.
    public static let createObject = PKCS11Function(rawValue: "C_CreateObject")
    /// Stands for `C_CopyObject`.
    public static let copyObject = PKCS11Function(rawValue: "C_CopyObject")
    /// Stands for `C_DestroyObject`.
    public static let destroyObject = PKCS11Function(rawValue: "C_DestroyObject")
    /// Stands for `C_GetObjectSize`.
    public static let getObjectSize = PKCS11Function(rawValue: "C_GetObjectSize")
    /// Stands for `C_GetAttributeValue`.
    public static let getAttributeValue = PKCS11Function(rawValue: "C_GetAttributeValue")
    /// Stands for `C_SetAttributeValue`.
    public static let setAttributeValue = PKCS11Function(rawValue: "C_SetAttributeValue")
    /// Stands for `C_FindObjectsInit`.
    public static let findObjectsInit = PKCS11Function(rawValue: "C_FindObjectsInit")
    /// Stands for `C_FindObjects`.
    public static let findObjects = PKCS11Function(rawValue: "C_FindObjects")
    /// Stands for `C_FindObjectsFinal`.
    public static let findObjectsFinal = PKCS11Function(rawValue: "C_FindObjectsFinal")
    /// Stands for `C_EncryptInit`.
    public static let encryptInit = PKCS11Function(rawValue: "C_EncryptInit")
    /// Stands for `C_Encrypt`.
    public static let encrypt = PKCS11Function(rawValue: "C_Encrypt")
    /// Stands for `C_EncryptUpdate`.
    public static let encryptUpdate = PKCS11Function(rawValue: "C_EncryptUpdate")
    /// Stands for `C_EncryptFinal`.
    public static let encryptFinal = PKCS11Function(rawValue: "C_EncryptFinal")
    /// Stands for `C_DecryptInit`.
    public static let decryptInit = PKCS11Function(rawValue: "C_DecryptInit")
    /// Stands for `C_Decrypt`.
    public static let decrypt = PKCS11Function(rawValue: "C_Decrypt")
    /// Stands for `C_DecryptUpdate`.
    public static let decryptUpdate = PKCS11Function(rawValue: "C_DecryptUpdate")
    /// Stands for `C_DecryptFinal`.
    public static let decryptFinal = PKCS11Function(rawValue: "C_DecryptFinal")
    /// Stands for `C_DigestInit`.
    public static let digestInit = PKCS11Function(rawValue: "C_DigestInit")
    /// Stands for `C_Digest`.
    public static let digest = PKCS11Function(rawValue: "C_Digest")
    /// Stands for `C_DigestUpdate`.
    public static let digestUpdate = PKCS11Function(rawValue: "C_DigestUpdate")
    /// Stands for `C_DigestKey`.
    public static let digestKey = PKCS11Function(rawValue: "C_DigestKey")
    /// Stands for `C_DigestFinal`.
    public static let digestFinal = PKCS11Function(rawValue: "C_DigestFinal")
    /// Stands for `C_SignInit`.
    public static let signInit = PKCS11Function(rawValue: "C_SignInit")
    /// Stands for `C_Sign`.
    public static let sign = PKCS11Function(rawValue: "C_Sign")
    /// Stands for `C_SignUpdate`.
    public static let signUpdate = PKCS11Function(rawValue: "C_SignUpdate")
    /// Stands for `C_SignFinal`.
    public static let signFinal = PKCS11Function(rawValue: "C_SignFinal")
    /// Stands for `C_SignRecoverInit`.
    public static let signRecoverInit = PKCS11Function(rawValue: "C_SignRecoverInit")
    /// Stands for `C_SignRecover`.
    public static let signRecover = PKCS11Function(rawValue: "C_SignRecover")
    /// Stands for `C_VerifyInit`.
    public static let verifyInit = PKCS11Function(rawValue: "C_VerifyInit")
    /// Stands for `C_Verify`.
    public static let verify = PKCS11Function(rawValue: "C_Verify")
    /// Stands for `C_VerifyUpdate`.
    public static let verifyUpdate = PKCS11Function(rawValue: "C_VerifyUpdate")
    /// Stands for `C_VerifyFinal`.
    public static let verifyFinal = PKCS11Function(rawValue: "C_VerifyFinal")
    /// Stands for `C_VerifyRecoverInit`.
    public static let verifyRecoverInit = PKCS11Function(rawValue: "C_VerifyRecoverInit")
    /// Stands for `C_VerifyRecover`.
    public static let verifyRecover = PKCS11Function(rawValue: "C_VerifyRecover")
    /// Stands for `C_GenerateKey`.
    public static let generateKey = PKCS11Function(rawValue: "C_GenerateKey")
    /// Stands for `C_GenerateKeyPair`.
    public static let generateKeyPair = PKCS11Function(rawValue: "C_GenerateKeyPair")
    /// Stands for `C_WrapKey`.
    public static let wrapKey = PKCS11Function(rawValue: "C_WrapKey")
    /// Stands for `C_UnwrapKey`.
    public static let unwrapKey = PKCS11Function(rawValue: "C_UnwrapKey")
    /// Stands for `C_DeriveKey`.
    public static let deriveKey = PKCS11Function(rawValue: "C_DeriveKey")
    /// Stands for `C_SeedRandom`.
    public static let seedRandom = PKCS11Function(rawValue: "C_SeedRandom")
    /// Stands for `C_GenerateRandom`.
    public static let generateRandom = PKCS11Function(rawValue: "C_GenerateRandom")
    /// Stands for `C_WaitForSlotEvent`.
    public static let waitForSlotEvent = PKCS11Function(rawValue: "C_WaitForSlotEvent")
}
