public import Foundation

// MARK: Filters of a query

/// A `SecPolicy` that a certificate must satisfy.
@safe nonisolated(unsafe) public let kSecMatchPolicy: CFString = "m_Policy"
/// An array of references; only these items are searched.
@safe nonisolated(unsafe) public let kSecMatchItemList: CFString = "m_ItemList"
/// An array of keychains; accepted and ignored.
@safe nonisolated(unsafe) public let kSecMatchSearchList: CFString = "m_SearchList"
/// An array of names in DER, one of which issued the certificate or an issuer above it.
@safe nonisolated(unsafe) public let kSecMatchIssuers: CFString = "m_Issuers"
/// An e-mail address that the certificate must contain.
@safe nonisolated(unsafe) public let kSecMatchEmailAddressIfPresent: CFString = "m_EmailAddressIfPresent"
/// Text that the certificate's common name contains.
@safe nonisolated(unsafe) public let kSecMatchSubjectContains: CFString = "m_SubjectContains"
/// Text that the certificate's common name begins with.
@safe nonisolated(unsafe) public let kSecMatchSubjectStartsWith: CFString = "m_SubjectStartsWith"
/// Text that the certificate's common name ends with.
@safe nonisolated(unsafe) public let kSecMatchSubjectEndsWith: CFString = "m_SubjectEndsWith"
/// The certificate's whole common name.
@safe nonisolated(unsafe) public let kSecMatchSubjectWholeString: CFString = "m_SubjectWholeString"
/// Whether the filters on the common name ignore case.
@safe nonisolated(unsafe) public let kSecMatchCaseInsensitive: CFString = "m_CaseInsensitive"
/// Whether the filters on the common name ignore diacritics.
@safe nonisolated(unsafe) public let kSecMatchDiacriticInsensitive: CFString = "m_DiacriticInsensitive"
/// Whether the filters on the common name ignore the width of characters.
@safe nonisolated(unsafe) public let kSecMatchWidthInsensitive: CFString = "m_WidthInsensitive"
/// Whether certificates must chain to an anchor of the system.
@safe nonisolated(unsafe) public let kSecMatchTrustedOnly: CFString = "m_TrustedOnly"
/// A date at which the certificate is valid; `NSNull` stands for now.
@safe nonisolated(unsafe) public let kSecMatchValidOnDate: CFString = "m_ValidOnDate"
/// A domain; the server equals it or is below it.
@safe nonisolated(unsafe) public let kSecMatchHostOrSubdomainOfHost: CFString = "m_HostOrSubdomainOfHost"
/// The number of results: one of the `kSecMatchLimit…` values, or a number.
@safe nonisolated(unsafe) public let kSecMatchLimit: CFString = "m_Limit"
/// One result, without an array around it.
@safe nonisolated(unsafe) public let kSecMatchLimitOne: CFString = "m_LimitOne"
/// All results, in an array.
@safe nonisolated(unsafe) public let kSecMatchLimitAll: CFString = "m_LimitAll"

// MARK: What is returned

/// Whether the secret or encoded bytes are returned.
@safe nonisolated(unsafe) public let kSecReturnData: CFString = "r_Data"
/// Whether a dictionary of attributes is returned.
@safe nonisolated(unsafe) public let kSecReturnAttributes: CFString = "r_Attributes"
/// Whether a `SecKey`, `SecCertificate` or `SecIdentity` is returned.
@safe nonisolated(unsafe) public let kSecReturnRef: CFString = "r_Ref"
/// Whether a persistent reference is returned.
@safe nonisolated(unsafe) public let kSecReturnPersistentRef: CFString = "r_PersistentRef"

// MARK: The item itself

/// The secret, or the encoded key or certificate.
@safe nonisolated(unsafe) public let kSecValueData: CFString = "v_Data"
/// A `SecKey`, `SecCertificate` or `SecIdentity`.
@safe nonisolated(unsafe) public let kSecValueRef: CFString = "v_Ref"
/// A persistent reference.
@safe nonisolated(unsafe) public let kSecValuePersistentRef: CFString = "v_PersistentRef"

// MARK: How the call is made

/// An array of references to work upon.
@safe nonisolated(unsafe) public let kSecUseItemList: CFString = "u_ItemList"
/// A file keychain of macOS; accepted and ignored.
@safe nonisolated(unsafe) public let kSecUseKeychain: CFString = "u_Keychain"
/// Whether a deletion leaves a tombstone.
@safe nonisolated(unsafe) public let kSecUseTombstones: CFString = "u_Tomb"
/// The password for items whose access control has `applicationPassword`, as data.
@safe nonisolated(unsafe) public let kSecUseCredentialReference: CFString = "u_CredRef"
/// The text of a prompt; ignored.
@safe nonisolated(unsafe) public let kSecUseOperationPrompt: CFString = "u_OpPrompt"
/// The older form of `kSecUseAuthenticationUIFail`.
@safe nonisolated(unsafe) public let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"
/// Whether user interaction is allowed; one of the `kSecUseAuthenticationUI…` values.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUI: CFString = "u_AuthUI"
/// User interaction is allowed.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"
/// A call that requires user interaction fails with `errSecInteractionNotAllowed`.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"
/// Items that require user interaction are left out.
@safe nonisolated(unsafe) public let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"
/// A context of LocalAuthentication, which Linux does not have.
@safe nonisolated(unsafe) public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"
/// The items of the system instead of the user's.
@safe nonisolated(unsafe) public let kSecUseSystemKeychain: CFString = "u_SystemKeychain"
/// The items of the system instead of the user's; the same as `kSecUseSystemKeychain`.
@safe nonisolated(unsafe) public let kSecUseSystemKeychainAlways: CFString = "u_SystemKeychainAlways"
/// The items of the machine, for every user.
@safe nonisolated(unsafe) public let kSecUseUserIndependentKeychain: CFString = "u_UserIndependentKeychain"
/// The items of another synchronizing user.
@safe nonisolated(unsafe) public let kSecUseSyncBubbleKeychain: CFString = "u_SyncBubbleKeychain"
/// The name of the calling program.
@safe nonisolated(unsafe) public let kSecUseCallerName: CFString = "u_CallerName"
/// The items of a token in their stored form.
@safe nonisolated(unsafe) public let kSecUseTokenRawItems: CFString = "u_TokenRawItems"
/// Whether `kSecMatchIssuers` applies to certificates too.
@safe nonisolated(unsafe) public let kSecUseCertificatesWithMatchIssuers: CFString = "u_CertWithIssuers"
/// The data-protection keychain, which is the only one here; ignored.
@safe nonisolated(unsafe) public let kSecUseDataProtectionKeychain: CFString = "nleg"
