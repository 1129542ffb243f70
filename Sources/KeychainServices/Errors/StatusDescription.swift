/// A result code with its name and message.
///
/// It is `package` because the command prints them.
package struct StatusDescription: Sendable, Hashable {
    /// The code.
    package let status: OSStatus
    /// The name of the constant, such as `errSecParam`; the first one if there are several.
    package let name: String
    /// The meaning for users, without a full stop. It contains no data of an item.
    package let message: String

    init(_ status: OSStatus, _ name: String, _ message: String) {
        self.status = status
        self.name = name
        self.message = message
    }

    /// The description of a code; `nil` for an unknown one.
    package init?(_ status: OSStatus) {
        guard let known = Self.byStatus[status] else { return nil }
        self = known
    }

    /// Returns the meaning of a code as a sentence; for an unknown code its number.
    static func sentence(_ status: OSStatus) -> String {
        StatusDescription(status).map { $0.message + "." } ?? "OSStatus \(status)"
    }

    private static let byStatus = Dictionary(uniqueKeysWithValues: all.map { ($0.status, $0) })

    /// Every code.
    package static let all = ofItems + ofCertificates + ofModules + ofAttributes + ofRequests + ofTLS

    /// The codes that the functions of this module return, and related ones.
    private static let ofItems: [StatusDescription] = [
        Self(errSecSuccess, "errSecSuccess", "Nothing went wrong"),
        Self(errSecUnimplemented, "errSecUnimplemented", "This function, algorithm or operation is not available"),
        Self(errSecDiskFull, "errSecDiskFull", "There is no space left"),
        Self(errSecIO, "errSecIO", "Reading or writing failed"),
        Self(errSecOpWr, "errSecOpWr", "The file is already open for writing"),
        Self(errSecParam, "errSecParam", "One or more parameters passed to a function were not valid"),
        Self(errSecWrPerm, "errSecWrPerm", "There is no permission to write"),
        Self(errSecAllocate, "errSecAllocate", "There is not enough memory"),
        Self(errSecUserCanceled, "errSecUserCanceled", "The person cancelled the operation"),
        Self(errSecBadReq, "errSecBadReq", "The operation does not fit its parameters or its state"),
        Self(errSecInternalComponent, "errSecInternalComponent", "A component failed"),
        Self(errSecCoreFoundationUnknown, "errSecCoreFoundationUnknown", "An unknown error of Core Foundation"),
        Self(errSecWaitForCallback, "errSecWaitForCallback", "The answer will come through a callback"),
        Self(errSecMissingEntitlement, "errSecMissingEntitlement", "The access group is not one of this process"),
        Self(errSecUpgradePending, "errSecUpgradePending", "The store cannot be read until it has been upgraded"),
        Self(errSecRestrictedAPI, "errSecRestrictedAPI", "This process may not call this function"),
        Self(errSecNotAvailable, "errSecNotAvailable", "No keychain or token is available"),
        Self(errSecReadOnly, "errSecReadOnly", "The keychain or token cannot be written"),
        Self(errSecAuthFailed, "errSecAuthFailed", "The PIN or passphrase is wrong or is blocked"),
        Self(errSecNoSuchKeychain, "errSecNoSuchKeychain", "There is no keychain of that name"),
        Self(errSecInvalidKeychain, "errSecInvalidKeychain", "This is not a valid keychain"),
        Self(errSecDuplicateKeychain, "errSecDuplicateKeychain", "A keychain of that name already exists"),
        Self(errSecDuplicateCallback, "errSecDuplicateCallback", "The callback is registered already"),
        Self(errSecInvalidCallback, "errSecInvalidCallback", "The callback is not valid"),
        Self(errSecDuplicateItem, "errSecDuplicateItem", "The specified item already exists in the keychain"),
        Self(errSecItemNotFound, "errSecItemNotFound", "The specified item could not be found in the keychain"),
        Self(errSecBufferTooSmall, "errSecBufferTooSmall", "The buffer is too small for the answer"),
        Self(errSecDataTooLarge, "errSecDataTooLarge", "The data is larger than the keychain takes"),
        Self(errSecNoSuchAttr, "errSecNoSuchAttr", "The class of the item has no such attribute"),
        Self(errSecInvalidItemRef, "errSecInvalidItemRef", "The reference is not, or is no longer, one of an item"),
        Self(errSecInvalidSearchRef, "errSecInvalidSearchRef", "The search is not valid"),
        Self(errSecNoSuchClass, "errSecNoSuchClass", "There is no such class of items"),
        Self(errSecNoDefaultKeychain, "errSecNoDefaultKeychain", "There is no default keychain"),
        Self(
            errSecInteractionNotAllowed, "errSecInteractionNotAllowed",
            "The keychain is locked, and asking the user is not allowed"),
        Self(errSecReadOnlyAttr, "errSecReadOnlyAttr", "The attribute cannot be changed"),
        Self(errSecWrongSecVersion, "errSecWrongSecVersion", "The keychain was written by another version"),
        Self(errSecKeySizeNotAllowed, "errSecKeySizeNotAllowed", "The size of the key is not allowed"),
        Self(errSecNoStorageModule, "errSecNoStorageModule", "There is no module for the storage"),
        Self(errSecNoCertificateModule, "errSecNoCertificateModule", "There is no module for certificates"),
        Self(errSecNoPolicyModule, "errSecNoPolicyModule", "There is no module for policies"),
        Self(errSecInteractionRequired, "errSecInteractionRequired", "A person must be asked first"),
        Self(errSecDataNotAvailable, "errSecDataNotAvailable", "The contents of the item are not available"),
        Self(errSecDataNotModifiable, "errSecDataNotModifiable", "The contents of the item cannot be changed"),
        Self(errSecCreateChainFailed, "errSecCreateChainFailed", "No chain of certificates could be built"),
        Self(errSecInvalidPrefsDomain, "errSecInvalidPrefsDomain", "The domain of the preferences is not valid"),
        Self(errSecInDarkWake, "errSecInDarkWake", "The user cannot be asked while the display is off"),
        Self(errSecAuthNeeded, "errSecAuthNeeded", "A person must be verified first"),
        Self(errSecACLNotSimple, "errSecACLNotSimple", "The access list is not in its simple form"),
        Self(errSecPolicyNotFound, "errSecPolicyNotFound", "There is no such policy"),
        Self(errSecInvalidTrustSetting, "errSecInvalidTrustSetting", "A trust setting is not valid"),
        Self(errSecNoAccessForItem, "errSecNoAccessForItem", "The item has no access object"),
        Self(errSecInvalidOwnerEdit, "errSecInvalidOwnerEdit", "The owner of the access object cannot be changed so"),
        Self(errSecTrustNotAvailable, "errSecTrustNotAvailable", "There is no result of an evaluation yet"),
        Self(errSecUnsupportedFormat, "errSecUnsupportedFormat", "The format is not supported"),
        Self(errSecUnknownFormat, "errSecUnknownFormat", "The format is not known"),
        Self(errSecKeyIsSensitive, "errSecKeyIsSensitive", "The key can be exported only wrapped"),
        Self(errSecMultiplePrivKeys, "errSecMultiplePrivKeys", "There is more than one private key"),
        Self(errSecPassphraseRequired, "errSecPassphraseRequired", "A passphrase is needed"),
        Self(errSecInvalidPasswordRef, "errSecInvalidPasswordRef", "The reference to a password is not valid"),
        Self(errSecInvalidTrustSettings, "errSecInvalidTrustSettings", "The trust settings are damaged"),
        Self(errSecNoTrustSettings, "errSecNoTrustSettings", "There are no trust settings"),
        Self(
            errSecPkcs12VerifyFailure, "errSecPkcs12VerifyFailure",
            "The passphrase of the PKCS#12 file is wrong, or the file was changed"),
        Self(errSecNotSigner, "errSecNotSigner", "The certificate was not signed by its proposed issuer"),
        Self(errSecPolicyDenied, "errSecPolicyDenied", "A policy forbids the operation"),
        Self(errSecDecode, "errSecDecode", "The data could not be decoded"),
        Self(errSecInternal, "errSecInternal", "An internal error"),
        Self(errSecServiceNotAvailable, "errSecServiceNotAvailable", "The service is not available"),
        Self(errSecDeviceReset, "errSecDeviceReset", "The token was reset"),
        Self(errSecDeviceFailed, "errSecDeviceFailed", "The token failed"),
        Self(errSecQuotaExceeded, "errSecQuotaExceeded", "A quota is exceeded"),
        Self(errSecHostNameMismatch, "errSecHostNameMismatch", "The certificate is for another host"),
        Self(errSecVerifyFailed, "errSecVerifyFailed", "The signature does not verify"),
        Self(errSecInvalidLoginName, "errSecInvalidLoginName", "The login name is not valid"),
        Self(errSecAlreadyLoggedIn, "errSecAlreadyLoggedIn", "There is a login already"),
        Self(
            errSecCertificateCannotOperate, "errSecCertificateCannotOperate",
            "The certificate may not be used for this"),
        Self(errSecCertificateExpired, "errSecCertificateExpired", "The certificate has expired"),
        Self(errSecCertificateNotValidYet, "errSecCertificateNotValidYet", "The certificate is not valid yet"),
        Self(errSecCertificateRevoked, "errSecCertificateRevoked", "The certificate has been revoked"),
        Self(errSecNotTrusted, "errSecNotTrusted", "The chain ends at no trusted certificate"),
        Self(errSecDatabaseLocked, "errSecDatabaseLocked", "The database is locked"),
    ]
}
