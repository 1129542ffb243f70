// The result codes of Apple's Security framework in SecBase.h. `SecCopyErrorMessageString` returns their messages.

/// Nothing went wrong.
public let errSecSuccess: OSStatus = 0
/// This function, algorithm or operation is not available.
public let errSecUnimplemented: OSStatus = -4
/// There is no space left.
public let errSecDiskFull: OSStatus = -34
/// Reading or writing failed.
public let errSecIO: OSStatus = -36
/// The file is already open for writing.
public let errSecOpWr: OSStatus = -49
/// One or more parameters passed to a function were not valid.
public let errSecParam: OSStatus = -50
/// There is no permission to write.
public let errSecWrPerm: OSStatus = -61
/// There is not enough memory.
public let errSecAllocate: OSStatus = -108
/// The user cancelled the operation.
public let errSecUserCanceled: OSStatus = -128
/// The operation does not fit its parameters or its state.
public let errSecBadReq: OSStatus = -909
/// A component failed.
public let errSecInternalComponent: OSStatus = -2070
/// An unknown error of Core Foundation.
public let errSecCoreFoundationUnknown: OSStatus = -4960
/// The answer will come through a callback.
public let errSecWaitForCallback: OSStatus = -34017
/// The access group is not one of this process.
public let errSecMissingEntitlement: OSStatus = -34018
/// The store cannot be read until it has been upgraded.
public let errSecUpgradePending: OSStatus = -34019
/// This process may not call this function.
public let errSecRestrictedAPI: OSStatus = -34020
/// No keychain or token is available.
public let errSecNotAvailable: OSStatus = -25291
/// The keychain or token cannot be written.
public let errSecReadOnly: OSStatus = -25292
/// The PIN or passphrase is wrong or is blocked.
public let errSecAuthFailed: OSStatus = -25293
/// There is no keychain of that name.
public let errSecNoSuchKeychain: OSStatus = -25294
/// This is not a valid keychain.
public let errSecInvalidKeychain: OSStatus = -25295
/// A keychain of that name already exists.
public let errSecDuplicateKeychain: OSStatus = -25296
/// The callback is registered already.
public let errSecDuplicateCallback: OSStatus = -25297
/// The callback is not valid.
public let errSecInvalidCallback: OSStatus = -25298
/// The specified item already exists in the keychain.
public let errSecDuplicateItem: OSStatus = -25299
/// The specified item could not be found in the keychain.
public let errSecItemNotFound: OSStatus = -25300
/// The buffer is too small for the answer.
public let errSecBufferTooSmall: OSStatus = -25301
/// The data is larger than the keychain takes.
public let errSecDataTooLarge: OSStatus = -25302
/// The class of the item has no such attribute.
public let errSecNoSuchAttr: OSStatus = -25303
/// The reference is invalid, or its item no longer exists.
public let errSecInvalidItemRef: OSStatus = -25304
/// The search is not valid.
public let errSecInvalidSearchRef: OSStatus = -25305
/// There is no such class of items.
public let errSecNoSuchClass: OSStatus = -25306
/// There is no default keychain.
public let errSecNoDefaultKeychain: OSStatus = -25307
/// The keychain is locked, and user interaction is not allowed.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// The attribute cannot be changed.
public let errSecReadOnlyAttr: OSStatus = -25309
/// The keychain was written by another version.
public let errSecWrongSecVersion: OSStatus = -25310
/// The size of the key is not allowed.
public let errSecKeySizeNotAllowed: OSStatus = -25311
/// There is no module for the storage.
public let errSecNoStorageModule: OSStatus = -25312
/// There is no module for certificates.
public let errSecNoCertificateModule: OSStatus = -25313
/// There is no module for policies.
public let errSecNoPolicyModule: OSStatus = -25314
/// User interaction is required.
public let errSecInteractionRequired: OSStatus = -25315
/// The contents of the item are not available.
public let errSecDataNotAvailable: OSStatus = -25316
/// The contents of the item cannot be changed.
public let errSecDataNotModifiable: OSStatus = -25317
/// No chain of certificates could be built.
public let errSecCreateChainFailed: OSStatus = -25318
/// The domain of the preferences is not valid.
public let errSecInvalidPrefsDomain: OSStatus = -25319
/// User interaction is not possible while the display is off.
public let errSecInDarkWake: OSStatus = -25320
/// User authentication is required.
public let errSecAuthNeeded: OSStatus = -25330
/// The access list is not in its simple form.
public let errSecACLNotSimple: OSStatus = -25240
/// There is no such policy.
public let errSecPolicyNotFound: OSStatus = -25241
/// A trust setting is not valid.
public let errSecInvalidTrustSetting: OSStatus = -25242
/// The item has no access object.
public let errSecNoAccessForItem: OSStatus = -25243
/// The owner of the access object cannot be changed so.
public let errSecInvalidOwnerEdit: OSStatus = -25244
/// There is no result of an evaluation yet.
public let errSecTrustNotAvailable: OSStatus = -25245
/// The format is not supported.
public let errSecUnsupportedFormat: OSStatus = -25256
/// The format is not known.
public let errSecUnknownFormat: OSStatus = -25257
/// The key can be exported only wrapped.
public let errSecKeyIsSensitive: OSStatus = -25258
/// There is more than one private key.
public let errSecMultiplePrivKeys: OSStatus = -25259
/// A passphrase is needed.
public let errSecPassphraseRequired: OSStatus = -25260
/// The reference to a password is not valid.
public let errSecInvalidPasswordRef: OSStatus = -25261
/// The trust settings are damaged.
public let errSecInvalidTrustSettings: OSStatus = -25262
/// There are no trust settings.
public let errSecNoTrustSettings: OSStatus = -25263
/// The passphrase of the PKCS#12 file is wrong, or the file was changed.
public let errSecPkcs12VerifyFailure: OSStatus = -25264
/// The certificate was not signed by its proposed issuer.
public let errSecNotSigner: OSStatus = -26267
/// A policy forbids the operation.
public let errSecPolicyDenied: OSStatus = -26270
/// The data could not be decoded.
public let errSecDecode: OSStatus = -26275
/// An internal error.
public let errSecInternal: OSStatus = -26276
/// The service is not available.
public let errSecServiceNotAvailable: OSStatus = -67585
/// The token was reset.
public let errSecDeviceReset: OSStatus = -67587
/// The token failed.
public let errSecDeviceFailed: OSStatus = -67588
/// A quota is exceeded.
public let errSecQuotaExceeded: OSStatus = -67596
/// The certificate is for another host.
public let errSecHostNameMismatch: OSStatus = -67602
/// The signature does not verify.
public let errSecVerifyFailed: OSStatus = -67808
/// The login name is not valid.
public let errSecInvalidLoginName: OSStatus = -67813
/// There is a login already.
public let errSecAlreadyLoggedIn: OSStatus = -67814
/// The certificate may not be used for this.
public let errSecCertificateCannotOperate: OSStatus = -67817
/// The certificate has expired.
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate is not valid yet.
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate has been revoked.
public let errSecCertificateRevoked: OSStatus = -67820
/// The chain ends at no trusted certificate.
public let errSecNotTrusted: OSStatus = -67843
/// The database is locked.
public let errSecDatabaseLocked: OSStatus = -67869

// MARK: Other names of the same codes

/// The older name of `errSecDiskFull`.
public let errSecDskFull: OSStatus = -34
/// An operation is not available; the same as `errSecUnimplemented`.
public let errSecUnsupportedOperation: OSStatus = -4
/// An algorithm is not available; the same as `errSecUnimplemented`.
public let errSecUnsupportedAlgorithm: OSStatus = -4
/// A certificate could not be decoded; the same as `errSecDecode`.
public let errSecInvalidCertificate: OSStatus = -26275
/// A key could not be decoded; the same as `errSecDecode`.
public let errSecInvalidKey: OSStatus = -26275

// MARK: Names that a caller cannot tell from errSecParam

/// `errSecParam`: a key of the dictionary is unknown.
public let errSecItemInvalidKey: OSStatus = -50
/// `errSecParam`: a key of the dictionary is not a string.
public let errSecItemInvalidKeyType: OSStatus = -50
/// `errSecParam`: a value has the wrong type.
public let errSecItemInvalidValue: OSStatus = -50
/// `errSecParam`: the class is missing.
public let errSecItemClassMissing: OSStatus = -50
/// `errSecParam`: a filter cannot be used here.
public let errSecItemMatchUnsupported: OSStatus = -50
/// `errSecParam`: a limit cannot be used here.
public let errSecMatchLimitUnsupported: OSStatus = -50
/// `errSecParam`: a list of items cannot be used here.
public let errSecUseItemListUnsupported: OSStatus = -50
/// `errSecParam`: data cannot be returned here.
public let errSecReturnDataUnsupported: OSStatus = -50
/// `errSecParam`: attributes cannot be returned here.
public let errSecReturnAttributesUnsupported: OSStatus = -50
/// `errSecParam`: a reference cannot be returned here.
public let errSecReturnRefUnsupported: OSStatus = -50
/// `errSecParam`: a persistent reference cannot be returned here.
public let errSecReturnPersistentRefUnsupported: OSStatus = -50
/// `errSecParam`: there is no place for the result.
public let errSecReturnMissingPointer: OSStatus = -50
/// `errSecParam`: a reference cannot be used here.
public let errSecValueRefUnsupported: OSStatus = -50
/// `errSecParam`: a persistent reference cannot be used here.
public let errSecValuePersistentRefUnsupported: OSStatus = -50
/// `errSecParam`: the query contradicts itself.
public let errSecItemIllegalQuery: OSStatus = -50
/// `errSecParam`: the padding is not available.
public let errSecUnsupportedPadding: OSStatus = -50
