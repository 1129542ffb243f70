// Result codes of SecBase.h from the modules of the CDSA architecture, for code that compares with them. Of these, this
// module returns only `errSecInvalidName` and `errSecUnsupportedKeySize`, as results of a trust evaluation.

/// The module was not initialized.
public let errSecNotInitialized: OSStatus = -67667
/// The handle is one of another service.
public let errSecInvalidHandleUsage: OSStatus = -67668
/// The caller is not among the authorized ones.
public let errSecPVCReferentNotFound: OSStatus = -67669
/// A function lies outside of the verified module.
public let errSecFunctionIntegrityFail: OSStatus = -67670
/// The module met an internal error.
public let errSecInternalError: OSStatus = -67671
/// The module met an error of memory.
public let errSecMemoryError: OSStatus = -67672
/// The data is not valid.
public let errSecInvalidData: OSStatus = -67673
/// The directory of modules failed.
public let errSecMDSError: OSStatus = -67674
/// A pointer is not valid.
public let errSecInvalidPointer: OSStatus = -67675
/// The module's test of itself failed.
public let errSecSelfCheckFailed: OSStatus = -67676
/// The function failed.
public let errSecFunctionFailed: OSStatus = -67677
/// The module's manifest does not verify.
public let errSecModuleManifestVerifyFailed: OSStatus = -67678
/// The unique identifier is not valid.
public let errSecInvalidGUID: OSStatus = -67679
/// The handle is not valid.
public let errSecInvalidHandle: OSStatus = -67680
/// The list of databases is not valid.
public let errSecInvalidDBList: OSStatus = -67681
/// The identifier of the passed-through function is not valid.
public let errSecInvalidPassthroughID: OSStatus = -67682
/// The network address is not valid.
public let errSecInvalidNetworkAddress: OSStatus = -67683
/// The revocation list is signed already.
public let errSecCRLAlreadySigned: OSStatus = -67684
/// The number of fields is not valid.
public let errSecInvalidNumberOfFields: OSStatus = -67685
/// The verification failed.
public let errSecVerificationFailure: OSStatus = -67686
/// The tag is not known.
public let errSecUnknownTag: OSStatus = -67687
/// The signature is not valid.
public let errSecInvalidSignature: OSStatus = -67688
/// The name is not valid.
public let errSecInvalidName: OSStatus = -67689
/// The reference to a certificate is not valid.
public let errSecInvalidCertificateRef: OSStatus = -67690
/// The group of certificates is not valid.
public let errSecInvalidCertificateGroup: OSStatus = -67691
/// There is no such tag.
public let errSecTagNotFound: OSStatus = -67692
/// The query is not valid.
public let errSecInvalidQuery: OSStatus = -67693
/// The value is not valid.
public let errSecInvalidValue: OSStatus = -67694
/// The callback failed.
public let errSecCallbackFailed: OSStatus = -67695
/// The access list could not be deleted.
public let errSecACLDeleteFailed: OSStatus = -67696
/// The access list could not be replaced.
public let errSecACLReplaceFailed: OSStatus = -67697
/// Nothing could be added to the access list.
public let errSecACLAddFailed: OSStatus = -67698
/// The access list could not be changed.
public let errSecACLChangeFailed: OSStatus = -67699
/// The credentials of the access are not valid.
public let errSecInvalidAccessCredentials: OSStatus = -67700
/// The record is not valid.
public let errSecInvalidRecord: OSStatus = -67701
/// The access list is not valid.
public let errSecInvalidACL: OSStatus = -67702
/// The sample is not valid.
public let errSecInvalidSampleValue: OSStatus = -67703
/// The version does not fit.
public let errSecIncompatibleVersion: OSStatus = -67704
/// The privilege was not granted.
public let errSecPrivilegeNotGranted: OSStatus = -67705
/// The scope is not valid.
public let errSecInvalidScope: OSStatus = -67706
/// The verification of pointers is configured already.
public let errSecPVCAlreadyConfigured: OSStatus = -67707
/// The verification of pointers is not valid.
public let errSecInvalidPVC: OSStatus = -67708
/// The elective module manager could not be loaded.
public let errSecEMMLoadFailed: OSStatus = -67709
/// The elective module manager could not be unloaded.
public let errSecEMMUnloadFailed: OSStatus = -67710
/// The add-in could not be loaded.
public let errSecAddinLoadFailed: OSStatus = -67711
/// The reference to a key is not valid.
public let errSecInvalidKeyRef: OSStatus = -67712
/// The hierarchy of keys is not valid.
public let errSecInvalidKeyHierarchy: OSStatus = -67713
/// The add-in could not be unloaded.
public let errSecAddinUnloadFailed: OSStatus = -67714
/// There is no such reference to a library.
public let errSecLibraryReferenceNotFound: OSStatus = -67715
/// The functions of the add-in are not valid.
public let errSecInvalidAddinFunctionTable: OSStatus = -67716
/// The mask of services is not valid.
public let errSecInvalidServiceMask: OSStatus = -67717
/// The module is not loaded.
public let errSecModuleNotLoaded: OSStatus = -67718
/// The identifier of the subservice is not valid.
public let errSecInvalidSubServiceID: OSStatus = -67719
/// The context has no such attribute.
public let errSecAttributeNotInContext: OSStatus = -67720
/// The module could not be initialized.
public let errSecModuleManagerInitializeFailed: OSStatus = -67721
/// There is no such module.
public let errSecModuleManagerNotFound: OSStatus = -67722
/// There is no such callback for events.
public let errSecEventNotificationCallbackNotFound: OSStatus = -67723
/// The input has the wrong length.
public let errSecInputLengthError: OSStatus = -67724
/// The output has the wrong length.
public let errSecOutputLengthError: OSStatus = -67725
/// The privilege is not supported.
public let errSecPrivilegeNotSupported: OSStatus = -67726
/// The device reports an error.
public let errSecDeviceError: OSStatus = -67727
/// The handle of the cryptographic module is busy.
public let errSecAttachHandleBusy: OSStatus = -67728
/// There is no login.
public let errSecNotLoggedIn: OSStatus = -67729
/// The algorithms differ.
public let errSecAlgorithmMismatch: OSStatus = -67730
/// The key is for another use.
public let errSecKeyUsageIncorrect: OSStatus = -67731
/// The key's bytes are of another type.
public let errSecKeyBlobTypeIncorrect: OSStatus = -67732
/// The key's header contradicts itself.
public let errSecKeyHeaderInconsistent: OSStatus = -67733
/// The format of the key is not supported.
public let errSecUnsupportedKeyFormat: OSStatus = -67734
/// The size of the key is not supported.
public let errSecUnsupportedKeySize: OSStatus = -67735
/// The mask of key usages is not valid.
public let errSecInvalidKeyUsageMask: OSStatus = -67736
/// The mask of key usages is not supported.
public let errSecUnsupportedKeyUsageMask: OSStatus = -67737
/// The mask of key attributes is not valid.
public let errSecInvalidKeyAttributeMask: OSStatus = -67738
/// The mask of key attributes is not supported.
public let errSecUnsupportedKeyAttributeMask: OSStatus = -67739
/// The label of the key is not valid.
public let errSecInvalidKeyLabel: OSStatus = -67740
/// The label of the key is not supported.
public let errSecUnsupportedKeyLabel: OSStatus = -67741
/// The format of the key is not valid.
public let errSecInvalidKeyFormat: OSStatus = -67742
/// Several buffers are not supported.
public let errSecUnsupportedVectorOfBuffers: OSStatus = -67743
/// The input's buffers are not valid.
public let errSecInvalidInputVector: OSStatus = -67744
/// The output's buffers are not valid.
public let errSecInvalidOutputVector: OSStatus = -67745
/// The context is not valid.
public let errSecInvalidContext: OSStatus = -67746
/// The algorithm is not valid.
public let errSecInvalidAlgorithm: OSStatus = -67747

extension StatusDescription {
    /// The codes of the modules of the old architecture.
    static let ofModules: [StatusDescription] = [
        Self(errSecNotInitialized, "errSecNotInitialized", "The module was not initialized"),
        Self(errSecInvalidHandleUsage, "errSecInvalidHandleUsage", "The handle is one of another service"),
        Self(errSecPVCReferentNotFound, "errSecPVCReferentNotFound", "The caller is not among the authorized ones"),
        Self(
            errSecFunctionIntegrityFail, "errSecFunctionIntegrityFail",
            "A function lies outside of the verified module"),
        Self(errSecInternalError, "errSecInternalError", "The module met an internal error"),
        Self(errSecMemoryError, "errSecMemoryError", "The module met an error of memory"),
        Self(errSecInvalidData, "errSecInvalidData", "The data is not valid"),
        Self(errSecMDSError, "errSecMDSError", "The directory of modules failed"),
        Self(errSecInvalidPointer, "errSecInvalidPointer", "A pointer is not valid"),
        Self(errSecSelfCheckFailed, "errSecSelfCheckFailed", "The module's test of itself failed"),
        Self(errSecFunctionFailed, "errSecFunctionFailed", "The function failed"),
        Self(
            errSecModuleManifestVerifyFailed, "errSecModuleManifestVerifyFailed",
            "The module's manifest does not verify"),
        Self(errSecInvalidGUID, "errSecInvalidGUID", "The unique identifier is not valid"),
        Self(errSecInvalidHandle, "errSecInvalidHandle", "The handle is not valid"),
        Self(errSecInvalidDBList, "errSecInvalidDBList", "The list of databases is not valid"),
        Self(
            errSecInvalidPassthroughID, "errSecInvalidPassthroughID",
            "The identifier of the passed-through function is not valid"),
        Self(errSecInvalidNetworkAddress, "errSecInvalidNetworkAddress", "The network address is not valid"),
        Self(errSecCRLAlreadySigned, "errSecCRLAlreadySigned", "The revocation list is signed already"),
        Self(errSecInvalidNumberOfFields, "errSecInvalidNumberOfFields", "The number of fields is not valid"),
        Self(errSecVerificationFailure, "errSecVerificationFailure", "The verification failed"),
        Self(errSecUnknownTag, "errSecUnknownTag", "The tag is not known"),
        Self(errSecInvalidSignature, "errSecInvalidSignature", "The signature is not valid"),
        Self(errSecInvalidName, "errSecInvalidName", "The name is not valid"),
        Self(errSecInvalidCertificateRef, "errSecInvalidCertificateRef", "The reference to a certificate is not valid"),
        Self(errSecInvalidCertificateGroup, "errSecInvalidCertificateGroup", "The group of certificates is not valid"),
        Self(errSecTagNotFound, "errSecTagNotFound", "There is no such tag"),
        Self(errSecInvalidQuery, "errSecInvalidQuery", "The query is not valid"),
        Self(errSecInvalidValue, "errSecInvalidValue", "The value is not valid"),
        Self(errSecCallbackFailed, "errSecCallbackFailed", "The callback failed"),
        Self(errSecACLDeleteFailed, "errSecACLDeleteFailed", "The access list could not be deleted"),
        Self(errSecACLReplaceFailed, "errSecACLReplaceFailed", "The access list could not be replaced"),
        Self(errSecACLAddFailed, "errSecACLAddFailed", "Nothing could be added to the access list"),
        Self(errSecACLChangeFailed, "errSecACLChangeFailed", "The access list could not be changed"),
        Self(
            errSecInvalidAccessCredentials, "errSecInvalidAccessCredentials",
            "The credentials of the access are not valid"),
        Self(errSecInvalidRecord, "errSecInvalidRecord", "The record is not valid"),
        Self(errSecInvalidACL, "errSecInvalidACL", "The access list is not valid"),
        Self(errSecInvalidSampleValue, "errSecInvalidSampleValue", "The sample is not valid"),
        Self(errSecIncompatibleVersion, "errSecIncompatibleVersion", "The version does not fit"),
        Self(errSecPrivilegeNotGranted, "errSecPrivilegeNotGranted", "The privilege was not granted"),
        Self(errSecInvalidScope, "errSecInvalidScope", "The scope is not valid"),
        Self(
            errSecPVCAlreadyConfigured, "errSecPVCAlreadyConfigured",
            "The verification of pointers is configured already"),
        Self(errSecInvalidPVC, "errSecInvalidPVC", "The verification of pointers is not valid"),
        Self(errSecEMMLoadFailed, "errSecEMMLoadFailed", "The elective module manager could not be loaded"),
        Self(errSecEMMUnloadFailed, "errSecEMMUnloadFailed", "The elective module manager could not be unloaded"),
        Self(errSecAddinLoadFailed, "errSecAddinLoadFailed", "The add-in could not be loaded"),
        Self(errSecInvalidKeyRef, "errSecInvalidKeyRef", "The reference to a key is not valid"),
        Self(errSecInvalidKeyHierarchy, "errSecInvalidKeyHierarchy", "The hierarchy of keys is not valid"),
        Self(errSecAddinUnloadFailed, "errSecAddinUnloadFailed", "The add-in could not be unloaded"),
        Self(
            errSecLibraryReferenceNotFound, "errSecLibraryReferenceNotFound",
            "There is no such reference to a library"),
        Self(
            errSecInvalidAddinFunctionTable, "errSecInvalidAddinFunctionTable",
            "The functions of the add-in are not valid"),
        Self(errSecInvalidServiceMask, "errSecInvalidServiceMask", "The mask of services is not valid"),
        Self(errSecModuleNotLoaded, "errSecModuleNotLoaded", "The module is not loaded"),
        Self(errSecInvalidSubServiceID, "errSecInvalidSubServiceID", "The identifier of the subservice is not valid"),
        Self(errSecAttributeNotInContext, "errSecAttributeNotInContext", "The context has no such attribute"),
        Self(
            errSecModuleManagerInitializeFailed, "errSecModuleManagerInitializeFailed",
            "The module could not be initialized"),
        Self(errSecModuleManagerNotFound, "errSecModuleManagerNotFound", "There is no such module"),
        Self(
            errSecEventNotificationCallbackNotFound, "errSecEventNotificationCallbackNotFound",
            "There is no such callback for events"),
        Self(errSecInputLengthError, "errSecInputLengthError", "The input has the wrong length"),
        Self(errSecOutputLengthError, "errSecOutputLengthError", "The output has the wrong length"),
        Self(errSecPrivilegeNotSupported, "errSecPrivilegeNotSupported", "The privilege is not supported"),
        Self(errSecDeviceError, "errSecDeviceError", "The device reports an error"),
        Self(errSecAttachHandleBusy, "errSecAttachHandleBusy", "The handle of the cryptographic module is busy"),
        Self(errSecNotLoggedIn, "errSecNotLoggedIn", "There is no login"),
        Self(errSecAlgorithmMismatch, "errSecAlgorithmMismatch", "The algorithms differ"),
        Self(errSecKeyUsageIncorrect, "errSecKeyUsageIncorrect", "The key is for another use"),
        Self(errSecKeyBlobTypeIncorrect, "errSecKeyBlobTypeIncorrect", "The key's bytes are of another type"),
        Self(errSecKeyHeaderInconsistent, "errSecKeyHeaderInconsistent", "The key's header contradicts itself"),
        Self(errSecUnsupportedKeyFormat, "errSecUnsupportedKeyFormat", "The format of the key is not supported"),
        Self(errSecUnsupportedKeySize, "errSecUnsupportedKeySize", "The size of the key is not supported"),
        Self(errSecInvalidKeyUsageMask, "errSecInvalidKeyUsageMask", "The mask of key usages is not valid"),
        Self(errSecUnsupportedKeyUsageMask, "errSecUnsupportedKeyUsageMask", "The mask of key usages is not supported"),
        Self(errSecInvalidKeyAttributeMask, "errSecInvalidKeyAttributeMask", "The mask of key attributes is not valid"),
        Self(
            errSecUnsupportedKeyAttributeMask, "errSecUnsupportedKeyAttributeMask",
            "The mask of key attributes is not supported"),
        Self(errSecInvalidKeyLabel, "errSecInvalidKeyLabel", "The label of the key is not valid"),
        Self(errSecUnsupportedKeyLabel, "errSecUnsupportedKeyLabel", "The label of the key is not supported"),
        Self(errSecInvalidKeyFormat, "errSecInvalidKeyFormat", "The format of the key is not valid"),
        Self(errSecUnsupportedVectorOfBuffers, "errSecUnsupportedVectorOfBuffers", "Several buffers are not supported"),
        Self(errSecInvalidInputVector, "errSecInvalidInputVector", "The input's buffers are not valid"),
        Self(errSecInvalidOutputVector, "errSecInvalidOutputVector", "The output's buffers are not valid"),
        Self(errSecInvalidContext, "errSecInvalidContext", "The context is not valid"),
        Self(errSecInvalidAlgorithm, "errSecInvalidAlgorithm", "The algorithm is not valid"),
    ]
}
