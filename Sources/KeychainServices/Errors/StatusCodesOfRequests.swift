// Result codes of SecBase.h about requests, databases and timestamps. No function of this module returns them; they
// exist for code that compares with them.

/// An operation in parts is under way.
public let errSecStagedOperationInProgress: OSStatus = -67806
/// The operation in parts was not begun.
public let errSecStagedOperationNotStarted: OSStatus = -67807
/// The size of the answer is not known.
public let errSecQuerySizeUnknown: OSStatus = -67809
/// The size of the block does not fit.
public let errSecBlockSizeMismatch: OSStatus = -67810
/// The public key contradicts itself.
public let errSecPublicKeyInconsistent: OSStatus = -67811
/// The device does not verify.
public let errSecDeviceVerifyFailed: OSStatus = -67812
/// The digest algorithm is not valid.
public let errSecInvalidDigestAlgorithm: OSStatus = -67815
/// The group of revocation lists is not valid.
public let errSecInvalidCRLGroup: OSStatus = -67816
/// The certificate is suspended.
public let errSecCertificateSuspended: OSStatus = -67821
/// The credentials are not enough.
public let errSecInsufficientCredentials: OSStatus = -67822
/// The action is not valid.
public let errSecInvalidAction: OSStatus = -67823
/// The authority is not valid.
public let errSecInvalidAuthority: OSStatus = -67824
/// The action of the verification failed.
public let errSecVerifyActionFailed: OSStatus = -67825
/// The authority of the certificate is not valid.
public let errSecInvalidCertAuthority: OSStatus = -67826
/// The authority of the revocation list is not valid.
public let errSecInvaldCRLAuthority: OSStatus = -67827
/// The encoding of the revocation list is not valid.
public let errSecInvalidCRLEncoding: OSStatus = -67828
/// The type of the revocation list is not valid.
public let errSecInvalidCRLType: OSStatus = -67829
/// The revocation list is not valid.
public let errSecInvalidCRL: OSStatus = -67830
/// The type of the form is not valid.
public let errSecInvalidFormType: OSStatus = -67831
/// The short identifier is not valid.
public let errSecInvalidID: OSStatus = -67832
/// The identifier is not valid.
public let errSecInvalidIdentifier: OSStatus = -67833
/// The index is not valid.
public let errSecInvalidIndex: OSStatus = -67834
/// The identifiers of the policy are not valid.
public let errSecInvalidPolicyIdentifiers: OSStatus = -67835
/// The text of the time is not valid.
public let errSecInvalidTimeString: OSStatus = -67836
/// The reason is not valid.
public let errSecInvalidReason: OSStatus = -67837
/// The inputs of the request are not valid.
public let errSecInvalidRequestInputs: OSStatus = -67838
/// The responses are not valid.
public let errSecInvalidResponseVector: OSStatus = -67839
/// The rule about when to stop is not valid.
public let errSecInvalidStopOnPolicy: OSStatus = -67840
/// The tuple is not valid.
public let errSecInvalidTuple: OSStatus = -67841
/// Several values are not supported.
public let errSecMultipleValuesUnsupported: OSStatus = -67842
/// There is no default authority.
public let errSecNoDefaultAuthority: OSStatus = -67844
/// The form was rejected.
public let errSecRejectedForm: OSStatus = -67845
/// The request is lost.
public let errSecRequestLost: OSStatus = -67846
/// The request was rejected.
public let errSecRequestRejected: OSStatus = -67847
/// The type of the address is not supported.
public let errSecUnsupportedAddressType: OSStatus = -67848
/// The service is not supported.
public let errSecUnsupportedService: OSStatus = -67849
/// The group of tuples is not valid.
public let errSecInvalidTupleGroup: OSStatus = -67850
/// The base access lists are not valid.
public let errSecInvalidBaseACLs: OSStatus = -67851
/// The credentials of the tuple are not valid.
public let errSecInvalidTupleCredendtials: OSStatus = -67852
/// The encoding is not valid.
public let errSecInvalidEncoding: OSStatus = -67853
/// The period of validity is not valid.
public let errSecInvalidValidityPeriod: OSStatus = -67854
/// The requestor is not valid.
public let errSecInvalidRequestor: OSStatus = -67855
/// The descriptor of the request is not valid.
public let errSecRequestDescriptor: OSStatus = -67856
/// The information about the bundle is not valid.
public let errSecInvalidBundleInfo: OSStatus = -67857
/// The index of the revocation list is not valid.
public let errSecInvalidCRLIndex: OSStatus = -67858
/// There are no values of fields.
public let errSecNoFieldValues: OSStatus = -67859
/// The format of the field is not supported.
public let errSecUnsupportedFieldFormat: OSStatus = -67860
/// The information about the index is not supported.
public let errSecUnsupportedIndexInfo: OSStatus = -67861
/// The locality is not supported.
public let errSecUnsupportedLocality: OSStatus = -67862
/// So many attributes are not supported.
public let errSecUnsupportedNumAttributes: OSStatus = -67863
/// So many indexes are not supported.
public let errSecUnsupportedNumIndexes: OSStatus = -67864
/// So many types of records are not supported.
public let errSecUnsupportedNumRecordTypes: OSStatus = -67865
/// A field is named more than once.
public let errSecFieldSpecifiedMultiple: OSStatus = -67866
/// The format of the field does not fit.
public let errSecIncompatibleFieldFormat: OSStatus = -67867
/// The module that parses is not valid.
public let errSecInvalidParsingModule: OSStatus = -67868
/// The data store is open.
public let errSecDatastoreIsOpen: OSStatus = -67870
/// A value is missing.
public let errSecMissingValue: OSStatus = -67871
/// The limits of the query are not supported.
public let errSecUnsupportedQueryLimits: OSStatus = -67872
/// So many conditions are not supported.
public let errSecUnsupportedNumSelectionPreds: OSStatus = -67873
/// The operator is not supported.
public let errSecUnsupportedOperator: OSStatus = -67874
/// The place of the database is not valid.
public let errSecInvalidDBLocation: OSStatus = -67875
/// The request for access is not valid.
public let errSecInvalidAccessRequest: OSStatus = -67876
/// The information about the index is not valid.
public let errSecInvalidIndexInfo: OSStatus = -67877
/// The new owner is not valid.
public let errSecInvalidNewOwner: OSStatus = -67878
/// The kind of change is not valid.
public let errSecInvalidModifyMode: OSStatus = -67879
/// A required extension is missing.
public let errSecMissingRequiredExtension: OSStatus = -67880
/// The extended key usage is not critical.
public let errSecExtendedKeyUsageNotCritical: OSStatus = -67881
/// The timestamp is missing.
public let errSecTimestampMissing: OSStatus = -67882
/// The timestamp is not valid.
public let errSecTimestampInvalid: OSStatus = -67883
/// The timestamp is not trusted.
public let errSecTimestampNotTrusted: OSStatus = -67884
/// No timestamp service is available.
public let errSecTimestampServiceNotAvailable: OSStatus = -67885
/// The algorithm of the timestamp is not known.
public let errSecTimestampBadAlg: OSStatus = -67886
/// The timestamp service does not allow the request.
public let errSecTimestampBadRequest: OSStatus = -67887
/// The data for the timestamp has the wrong format.
public let errSecTimestampBadDataFormat: OSStatus = -67888
/// The timestamp service has no time.
public let errSecTimestampTimeNotAvailable: OSStatus = -67889
/// The timestamp service does not have the policy.
public let errSecTimestampUnacceptedPolicy: OSStatus = -67890
/// The timestamp service does not have the extension.
public let errSecTimestampUnacceptedExtension: OSStatus = -67891
/// The timestamp service does not have the further information.
public let errSecTimestampAddInfoNotAvailable: OSStatus = -67892
/// The timestamp service failed.
public let errSecTimestampSystemFailure: OSStatus = -67893
/// The time of the signature is missing.
public let errSecSigningTimeMissing: OSStatus = -67894
/// The timestamp was refused.
public let errSecTimestampRejection: OSStatus = -67895
/// The timestamp is not made yet.
public let errSecTimestampWaiting: OSStatus = -67896
/// The timestamp service is about to be revoked.
public let errSecTimestampRevocationWarning: OSStatus = -67897
/// The timestamp service has been revoked.
public let errSecTimestampRevocationNotification: OSStatus = -67898
/// The certificate does not allow the policy.
public let errSecCertificatePolicyNotAllowed: OSStatus = -67899
/// The certificate does not allow the name.
public let errSecCertificateNameNotAllowed: OSStatus = -67900
/// The certificate is valid for longer than is allowed.
public let errSecCertificateValidityPeriodTooLong: OSStatus = -67901

extension StatusDescription {
    /// The codes about requests, databases and timestamps.
    static let ofRequests: [StatusDescription] = [
        Self(errSecStagedOperationInProgress, "errSecStagedOperationInProgress", "An operation in parts is under way"),
        Self(
            errSecStagedOperationNotStarted, "errSecStagedOperationNotStarted",
            "The operation in parts was not begun"),
        Self(errSecQuerySizeUnknown, "errSecQuerySizeUnknown", "The size of the answer is not known"),
        Self(errSecBlockSizeMismatch, "errSecBlockSizeMismatch", "The size of the block does not fit"),
        Self(errSecPublicKeyInconsistent, "errSecPublicKeyInconsistent", "The public key contradicts itself"),
        Self(errSecDeviceVerifyFailed, "errSecDeviceVerifyFailed", "The device does not verify"),
        Self(errSecInvalidDigestAlgorithm, "errSecInvalidDigestAlgorithm", "The digest algorithm is not valid"),
        Self(errSecInvalidCRLGroup, "errSecInvalidCRLGroup", "The group of revocation lists is not valid"),
        Self(errSecCertificateSuspended, "errSecCertificateSuspended", "The certificate is suspended"),
        Self(errSecInsufficientCredentials, "errSecInsufficientCredentials", "The credentials are not enough"),
        Self(errSecInvalidAction, "errSecInvalidAction", "The action is not valid"),
        Self(errSecInvalidAuthority, "errSecInvalidAuthority", "The authority is not valid"),
        Self(errSecVerifyActionFailed, "errSecVerifyActionFailed", "The action of the verification failed"),
        Self(errSecInvalidCertAuthority, "errSecInvalidCertAuthority", "The authority of the certificate is not valid"),
        Self(errSecInvaldCRLAuthority, "errSecInvaldCRLAuthority", "The authority of the revocation list is not valid"),
        Self(errSecInvalidCRLEncoding, "errSecInvalidCRLEncoding", "The encoding of the revocation list is not valid"),
        Self(errSecInvalidCRLType, "errSecInvalidCRLType", "The type of the revocation list is not valid"),
        Self(errSecInvalidCRL, "errSecInvalidCRL", "The revocation list is not valid"),
        Self(errSecInvalidFormType, "errSecInvalidFormType", "The type of the form is not valid"),
        Self(errSecInvalidID, "errSecInvalidID", "The short identifier is not valid"),
        Self(errSecInvalidIdentifier, "errSecInvalidIdentifier", "The identifier is not valid"),
        Self(errSecInvalidIndex, "errSecInvalidIndex", "The index is not valid"),
        Self(
            errSecInvalidPolicyIdentifiers, "errSecInvalidPolicyIdentifiers",
            "The identifiers of the policy are not valid"),
        Self(errSecInvalidTimeString, "errSecInvalidTimeString", "The text of the time is not valid"),
        Self(errSecInvalidReason, "errSecInvalidReason", "The reason is not valid"),
        Self(errSecInvalidRequestInputs, "errSecInvalidRequestInputs", "The inputs of the request are not valid"),
        Self(errSecInvalidResponseVector, "errSecInvalidResponseVector", "The responses are not valid"),
        Self(errSecInvalidStopOnPolicy, "errSecInvalidStopOnPolicy", "The rule about when to stop is not valid"),
        Self(errSecInvalidTuple, "errSecInvalidTuple", "The tuple is not valid"),
        Self(errSecMultipleValuesUnsupported, "errSecMultipleValuesUnsupported", "Several values are not supported"),
        Self(errSecNoDefaultAuthority, "errSecNoDefaultAuthority", "There is no default authority"),
        Self(errSecRejectedForm, "errSecRejectedForm", "The form was rejected"),
        Self(errSecRequestLost, "errSecRequestLost", "The request is lost"),
        Self(errSecRequestRejected, "errSecRequestRejected", "The request was rejected"),
        Self(errSecUnsupportedAddressType, "errSecUnsupportedAddressType", "The type of the address is not supported"),
        Self(errSecUnsupportedService, "errSecUnsupportedService", "The service is not supported"),
        Self(errSecInvalidTupleGroup, "errSecInvalidTupleGroup", "The group of tuples is not valid"),
        Self(errSecInvalidBaseACLs, "errSecInvalidBaseACLs", "The base access lists are not valid"),
        Self(
            errSecInvalidTupleCredendtials, "errSecInvalidTupleCredendtials",
            "The credentials of the tuple are not valid"),
        Self(errSecInvalidEncoding, "errSecInvalidEncoding", "The encoding is not valid"),
        Self(errSecInvalidValidityPeriod, "errSecInvalidValidityPeriod", "The period of validity is not valid"),
        Self(errSecInvalidRequestor, "errSecInvalidRequestor", "The requestor is not valid"),
        Self(errSecRequestDescriptor, "errSecRequestDescriptor", "The descriptor of the request is not valid"),
        Self(errSecInvalidBundleInfo, "errSecInvalidBundleInfo", "The information about the bundle is not valid"),
        Self(errSecInvalidCRLIndex, "errSecInvalidCRLIndex", "The index of the revocation list is not valid"),
        Self(errSecNoFieldValues, "errSecNoFieldValues", "There are no values of fields"),
        Self(errSecUnsupportedFieldFormat, "errSecUnsupportedFieldFormat", "The format of the field is not supported"),
        Self(
            errSecUnsupportedIndexInfo, "errSecUnsupportedIndexInfo",
            "The information about the index is not supported"),
        Self(errSecUnsupportedLocality, "errSecUnsupportedLocality", "The locality is not supported"),
        Self(errSecUnsupportedNumAttributes, "errSecUnsupportedNumAttributes", "So many attributes are not supported"),
        Self(errSecUnsupportedNumIndexes, "errSecUnsupportedNumIndexes", "So many indexes are not supported"),
        Self(
            errSecUnsupportedNumRecordTypes, "errSecUnsupportedNumRecordTypes",
            "So many types of records are not supported"),
        Self(errSecFieldSpecifiedMultiple, "errSecFieldSpecifiedMultiple", "A field is named more than once"),
        Self(errSecIncompatibleFieldFormat, "errSecIncompatibleFieldFormat", "The format of the field does not fit"),
        Self(errSecInvalidParsingModule, "errSecInvalidParsingModule", "The module that parses is not valid"),
        Self(errSecDatastoreIsOpen, "errSecDatastoreIsOpen", "The data store is open"),
        Self(errSecMissingValue, "errSecMissingValue", "A value is missing"),
        Self(errSecUnsupportedQueryLimits, "errSecUnsupportedQueryLimits", "The limits of the query are not supported"),
        Self(
            errSecUnsupportedNumSelectionPreds, "errSecUnsupportedNumSelectionPreds",
            "So many conditions are not supported"),
        Self(errSecUnsupportedOperator, "errSecUnsupportedOperator", "The operator is not supported"),
        Self(errSecInvalidDBLocation, "errSecInvalidDBLocation", "The place of the database is not valid"),
        Self(errSecInvalidAccessRequest, "errSecInvalidAccessRequest", "The request for access is not valid"),
        Self(errSecInvalidIndexInfo, "errSecInvalidIndexInfo", "The information about the index is not valid"),
        Self(errSecInvalidNewOwner, "errSecInvalidNewOwner", "The new owner is not valid"),
        Self(errSecInvalidModifyMode, "errSecInvalidModifyMode", "The kind of change is not valid"),
        Self(errSecMissingRequiredExtension, "errSecMissingRequiredExtension", "A required extension is missing"),
        Self(
            errSecExtendedKeyUsageNotCritical, "errSecExtendedKeyUsageNotCritical",
            "The extended key usage is not critical"),
        Self(errSecTimestampMissing, "errSecTimestampMissing", "The timestamp is missing"),
        Self(errSecTimestampInvalid, "errSecTimestampInvalid", "The timestamp is not valid"),
        Self(errSecTimestampNotTrusted, "errSecTimestampNotTrusted", "The timestamp is not trusted"),
        Self(
            errSecTimestampServiceNotAvailable, "errSecTimestampServiceNotAvailable",
            "No timestamp service is available"),
        Self(errSecTimestampBadAlg, "errSecTimestampBadAlg", "The algorithm of the timestamp is not known"),
        Self(
            errSecTimestampBadRequest, "errSecTimestampBadRequest",
            "The timestamp service does not allow the request"),
        Self(
            errSecTimestampBadDataFormat, "errSecTimestampBadDataFormat",
            "The data for the timestamp has the wrong format"),
        Self(errSecTimestampTimeNotAvailable, "errSecTimestampTimeNotAvailable", "The timestamp service has no time"),
        Self(
            errSecTimestampUnacceptedPolicy, "errSecTimestampUnacceptedPolicy",
            "The timestamp service does not have the policy"),
        Self(
            errSecTimestampUnacceptedExtension, "errSecTimestampUnacceptedExtension",
            "The timestamp service does not have the extension"),
        Self(
            errSecTimestampAddInfoNotAvailable, "errSecTimestampAddInfoNotAvailable",
            "The timestamp service does not have the further information"),
        Self(errSecTimestampSystemFailure, "errSecTimestampSystemFailure", "The timestamp service failed"),
        Self(errSecSigningTimeMissing, "errSecSigningTimeMissing", "The time of the signature is missing"),
        Self(errSecTimestampRejection, "errSecTimestampRejection", "The timestamp was refused"),
        Self(errSecTimestampWaiting, "errSecTimestampWaiting", "The timestamp is not made yet"),
        Self(
            errSecTimestampRevocationWarning, "errSecTimestampRevocationWarning",
            "The timestamp service is about to be revoked"),
        Self(
            errSecTimestampRevocationNotification, "errSecTimestampRevocationNotification",
            "The timestamp service has been revoked"),
        Self(
            errSecCertificatePolicyNotAllowed, "errSecCertificatePolicyNotAllowed",
            "The certificate does not allow the policy"),
        Self(
            errSecCertificateNameNotAllowed, "errSecCertificateNameNotAllowed",
            "The certificate does not allow the name"),
        Self(
            errSecCertificateValidityPeriodTooLong, "errSecCertificateValidityPeriodTooLong",
            "The certificate is valid for longer than is allowed"),
    ]
}
