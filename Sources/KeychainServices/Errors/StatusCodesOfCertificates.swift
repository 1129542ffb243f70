// Result codes of SecBase.h about certificates, their revocation and their policies, for code that compares with them.
// Of these, this module returns only the results of a trust evaluation.

/// The client's identifier is not enough.
public let errSecInsufficientClientID: OSStatus = -67586
/// No application could be added to the access list.
public let errSecAppleAddAppACLSubject: OSStatus = -67589
/// The public key lacks parameters.
public let errSecApplePublicKeyIncomplete: OSStatus = -67590
/// The signature is of something else.
public let errSecAppleSignatureMismatch: OSStatus = -67591
/// The key's first day is not valid.
public let errSecAppleInvalidKeyStartDate: OSStatus = -67592
/// The key's last day is not valid.
public let errSecAppleInvalidKeyEndDate: OSStatus = -67593
/// A conversion failed.
public let errSecConversionError: OSStatus = -67594
/// The connection was forced back to SSL 2.
public let errSecAppleSSLv2Rollback: OSStatus = -67595
/// The file is too large.
public let errSecFileTooBig: OSStatus = -67597
/// The database holds an object that is not valid.
public let errSecInvalidDatabaseBlob: OSStatus = -67598
/// The database holds a key that is not valid.
public let errSecInvalidKeyBlob: OSStatus = -67599
/// The database holds an object of another version.
public let errSecIncompatibleDatabaseBlob: OSStatus = -67600
/// The database holds a key of another version.
public let errSecIncompatibleKeyBlob: OSStatus = -67601
/// A critical extension is not known.
public let errSecUnknownCriticalExtensionFlag: OSStatus = -67603
/// The basic constraints are missing.
public let errSecNoBasicConstraints: OSStatus = -67604
/// The basic constraints of an authority are missing.
public let errSecNoBasicConstraintsCA: OSStatus = -67605
/// The authority's key identifier is not valid.
public let errSecInvalidAuthorityKeyID: OSStatus = -67606
/// The subject's key identifier is not valid.
public let errSecInvalidSubjectKeyID: OSStatus = -67607
/// The policy does not allow the key usage.
public let errSecInvalidKeyUsageForPolicy: OSStatus = -67608
/// The extended key usage is not valid.
public let errSecInvalidExtendedKeyUsage: OSStatus = -67609
/// The key identifiers do not link the certificates.
public let errSecInvalidIDLinkage: OSStatus = -67610
/// The chain is longer than an authority allows.
public let errSecPathLengthConstraintExceeded: OSStatus = -67611
/// The root or anchor is not valid.
public let errSecInvalidRoot: OSStatus = -67612
/// The revocation list has expired.
public let errSecCRLExpired: OSStatus = -67613
/// The revocation list is not valid yet.
public let errSecCRLNotValidYet: OSStatus = -67614
/// There is no revocation list.
public let errSecCRLNotFound: OSStatus = -67615
/// The server of the revocation list is down.
public let errSecCRLServerDown: OSStatus = -67616
/// The address of the revocation list is not valid.
public let errSecCRLBadURI: OSStatus = -67617
/// The certificate has an unknown extension.
public let errSecUnknownCertExtension: OSStatus = -67618
/// The revocation list has an unknown extension.
public let errSecUnknownCRLExtension: OSStatus = -67619
/// The revocation list is not trusted.
public let errSecCRLNotTrusted: OSStatus = -67620
/// The revocation list does not meet its policy.
public let errSecCRLPolicyFailed: OSStatus = -67621
/// The issuing distribution point is not valid.
public let errSecIDPFailure: OSStatus = -67622
/// The certificate is for another e-mail address.
public let errSecSMIMEEmailAddressesNotFound: OSStatus = -67623
/// The certificate's extended key usage is not e-mail.
public let errSecSMIMEBadExtendedKeyUsage: OSStatus = -67624
/// The certificate's key usage does not fit e-mail.
public let errSecSMIMEBadKeyUsage: OSStatus = -67625
/// The key usage of an e-mail certificate is not critical.
public let errSecSMIMEKeyUsageNotCritical: OSStatus = -67626
/// The certificate has no e-mail address.
public let errSecSMIMENoEmailAddress: OSStatus = -67627
/// The alternative names of an e-mail certificate are not critical.
public let errSecSMIMESubjAltNameNotCritical: OSStatus = -67628
/// The certificate's extended key usage is not TLS.
public let errSecSSLBadExtendedKeyUsage: OSStatus = -67629
/// The OCSP response cannot be read.
public let errSecOCSPBadResponse: OSStatus = -67630
/// The OCSP request cannot be read.
public let errSecOCSPBadRequest: OSStatus = -67631
/// No OCSP service is available.
public let errSecOCSPUnavailable: OSStatus = -67632
/// The OCSP service does not know the certificate.
public let errSecOCSPStatusUnrecognized: OSStatus = -67633
/// The data has ended.
public let errSecEndOfData: OSStatus = -67634
/// Whether the certificate is revoked could not be found out.
public let errSecIncompleteCertRevocationCheck: OSStatus = -67635
/// The network failed.
public let errSecNetworkFailure: OSStatus = -67636
/// The OCSP response leads to no anchor.
public let errSecOCSPNotTrustedToAnchor: OSStatus = -67637
/// The record was changed.
public let errSecRecordModified: OSStatus = -67638
/// The signature of the OCSP response is not valid.
public let errSecOCSPSignatureError: OSStatus = -67639
/// The OCSP response has no signer.
public let errSecOCSPNoSigner: OSStatus = -67640
/// The OCSP service could not read the request.
public let errSecOCSPResponderMalformedReq: OSStatus = -67641
/// The OCSP service failed.
public let errSecOCSPResponderInternalError: OSStatus = -67642
/// The OCSP service is busy.
public let errSecOCSPResponderTryLater: OSStatus = -67643
/// The OCSP service wants a signed request.
public let errSecOCSPResponderSignatureRequired: OSStatus = -67644
/// The OCSP service refuses this client.
public let errSecOCSPResponderUnauthorized: OSStatus = -67645
/// The OCSP response is for another request.
public let errSecOCSPResponseNonceMismatch: OSStatus = -67646
/// The chain of signed code has the wrong length.
public let errSecCodeSigningBadCertChainLength: OSStatus = -67647
/// The chain of signed code lacks basic constraints.
public let errSecCodeSigningNoBasicConstraints: OSStatus = -67648
/// The chain of signed code breaks its path length.
public let errSecCodeSigningBadPathLengthConstraint: OSStatus = -67649
/// The chain of signed code lacks an extended key usage.
public let errSecCodeSigningNoExtendedKeyUsage: OSStatus = -67650
/// The code is signed for development only.
public let errSecCodeSigningDevelopment: OSStatus = -67651
/// The chain of a signed resource has the wrong length.
public let errSecResourceSignBadCertChainLength: OSStatus = -67652
/// The extended key usage is not that of signed resources.
public let errSecResourceSignBadExtKeyUsage: OSStatus = -67653
/// A trust setting denies it.
public let errSecTrustSettingDeny: OSStatus = -67654
/// The subject's name is not valid.
public let errSecInvalidSubjectName: OSStatus = -67655
/// A statement of the qualified certificate is not known.
public let errSecUnknownQualifiedCertStatement: OSStatus = -67656
/// MobileMe: the request is queued.
public let errSecMobileMeRequestQueued: OSStatus = -67657
/// MobileMe: the request was sent elsewhere.
public let errSecMobileMeRequestRedirected: OSStatus = -67658
/// MobileMe: the server failed.
public let errSecMobileMeServerError: OSStatus = -67659
/// MobileMe: the server is not available.
public let errSecMobileMeServerNotAvailable: OSStatus = -67660
/// MobileMe: it exists on the server already.
public let errSecMobileMeServerAlreadyExists: OSStatus = -67661
/// MobileMe: the service failed.
public let errSecMobileMeServerServiceErr: OSStatus = -67662
/// MobileMe: a request is under way already.
public let errSecMobileMeRequestAlreadyPending: OSStatus = -67663
/// MobileMe: no request is under way.
public let errSecMobileMeNoRequestPending: OSStatus = -67664
/// MobileMe: the certificate request does not verify.
public let errSecMobileMeCSRVerifyFailure: OSStatus = -67665
/// MobileMe: the answer contradicts itself.
public let errSecMobileMeFailedConsistencyCheck: OSStatus = -67666

extension StatusDescription {
    /// The codes about certificates, their revocation and their policies.
    static let ofCertificates: [StatusDescription] = [
        Self(errSecInsufficientClientID, "errSecInsufficientClientID", "The client's identifier is not enough"),
        Self(
            errSecAppleAddAppACLSubject, "errSecAppleAddAppACLSubject",
            "No application could be added to the access list"),
        Self(errSecApplePublicKeyIncomplete, "errSecApplePublicKeyIncomplete", "The public key lacks parameters"),
        Self(errSecAppleSignatureMismatch, "errSecAppleSignatureMismatch", "The signature is of something else"),
        Self(errSecAppleInvalidKeyStartDate, "errSecAppleInvalidKeyStartDate", "The key's first day is not valid"),
        Self(errSecAppleInvalidKeyEndDate, "errSecAppleInvalidKeyEndDate", "The key's last day is not valid"),
        Self(errSecConversionError, "errSecConversionError", "A conversion failed"),
        Self(errSecAppleSSLv2Rollback, "errSecAppleSSLv2Rollback", "An attacker forced the connection back to SSL 2"),
        Self(errSecFileTooBig, "errSecFileTooBig", "The file is too large"),
        Self(errSecInvalidDatabaseBlob, "errSecInvalidDatabaseBlob", "The database holds an object that is not valid"),
        Self(errSecInvalidKeyBlob, "errSecInvalidKeyBlob", "The database holds a key that is not valid"),
        Self(
            errSecIncompatibleDatabaseBlob, "errSecIncompatibleDatabaseBlob",
            "The database holds an object of another version"),
        Self(errSecIncompatibleKeyBlob, "errSecIncompatibleKeyBlob", "The database holds a key of another version"),
        Self(
            errSecUnknownCriticalExtensionFlag, "errSecUnknownCriticalExtensionFlag",
            "A critical extension is not known"),
        Self(errSecNoBasicConstraints, "errSecNoBasicConstraints", "The basic constraints are missing"),
        Self(
            errSecNoBasicConstraintsCA, "errSecNoBasicConstraintsCA",
            "The basic constraints of an authority are missing"),
        Self(errSecInvalidAuthorityKeyID, "errSecInvalidAuthorityKeyID", "The authority's key identifier is not valid"),
        Self(errSecInvalidSubjectKeyID, "errSecInvalidSubjectKeyID", "The subject's key identifier is not valid"),
        Self(
            errSecInvalidKeyUsageForPolicy, "errSecInvalidKeyUsageForPolicy",
            "The policy does not allow the key usage"),
        Self(errSecInvalidExtendedKeyUsage, "errSecInvalidExtendedKeyUsage", "The extended key usage is not valid"),
        Self(errSecInvalidIDLinkage, "errSecInvalidIDLinkage", "The key identifiers do not link the certificates"),
        Self(
            errSecPathLengthConstraintExceeded, "errSecPathLengthConstraintExceeded",
            "The chain is longer than an authority allows"),
        Self(errSecInvalidRoot, "errSecInvalidRoot", "The root or anchor is not valid"),
        Self(errSecCRLExpired, "errSecCRLExpired", "The revocation list has expired"),
        Self(errSecCRLNotValidYet, "errSecCRLNotValidYet", "The revocation list is not valid yet"),
        Self(errSecCRLNotFound, "errSecCRLNotFound", "There is no revocation list"),
        Self(errSecCRLServerDown, "errSecCRLServerDown", "The server of the revocation list is down"),
        Self(errSecCRLBadURI, "errSecCRLBadURI", "The address of the revocation list is not valid"),
        Self(errSecUnknownCertExtension, "errSecUnknownCertExtension", "The certificate has an unknown extension"),
        Self(errSecUnknownCRLExtension, "errSecUnknownCRLExtension", "The revocation list has an unknown extension"),
        Self(errSecCRLNotTrusted, "errSecCRLNotTrusted", "The revocation list is not trusted"),
        Self(errSecCRLPolicyFailed, "errSecCRLPolicyFailed", "The revocation list does not meet its policy"),
        Self(errSecIDPFailure, "errSecIDPFailure", "The issuing distribution point is not valid"),
        Self(
            errSecSMIMEEmailAddressesNotFound, "errSecSMIMEEmailAddressesNotFound",
            "The certificate is for another e-mail address"),
        Self(
            errSecSMIMEBadExtendedKeyUsage, "errSecSMIMEBadExtendedKeyUsage",
            "The certificate's extended key usage is not e-mail"),
        Self(errSecSMIMEBadKeyUsage, "errSecSMIMEBadKeyUsage", "The certificate's key usage does not fit e-mail"),
        Self(
            errSecSMIMEKeyUsageNotCritical, "errSecSMIMEKeyUsageNotCritical",
            "The key usage of an e-mail certificate is not critical"),
        Self(errSecSMIMENoEmailAddress, "errSecSMIMENoEmailAddress", "The certificate has no e-mail address"),
        Self(
            errSecSMIMESubjAltNameNotCritical, "errSecSMIMESubjAltNameNotCritical",
            "The alternative names of an e-mail certificate are not critical"),
        Self(
            errSecSSLBadExtendedKeyUsage, "errSecSSLBadExtendedKeyUsage",
            "The certificate's extended key usage is not TLS"),
        Self(errSecOCSPBadResponse, "errSecOCSPBadResponse", "The OCSP response cannot be read"),
        Self(errSecOCSPBadRequest, "errSecOCSPBadRequest", "The OCSP request cannot be read"),
        Self(errSecOCSPUnavailable, "errSecOCSPUnavailable", "No OCSP service is available"),
        Self(
            errSecOCSPStatusUnrecognized, "errSecOCSPStatusUnrecognized",
            "The OCSP service does not know the certificate"),
        Self(errSecEndOfData, "errSecEndOfData", "The data has ended"),
        Self(
            errSecIncompleteCertRevocationCheck, "errSecIncompleteCertRevocationCheck",
            "Whether the certificate is revoked could not be found out"),
        Self(errSecNetworkFailure, "errSecNetworkFailure", "The network failed"),
        Self(errSecOCSPNotTrustedToAnchor, "errSecOCSPNotTrustedToAnchor", "The OCSP response leads to no anchor"),
        Self(errSecRecordModified, "errSecRecordModified", "The record was changed"),
        Self(errSecOCSPSignatureError, "errSecOCSPSignatureError", "The signature of the OCSP response is not valid"),
        Self(errSecOCSPNoSigner, "errSecOCSPNoSigner", "The OCSP response has no signer"),
        Self(
            errSecOCSPResponderMalformedReq, "errSecOCSPResponderMalformedReq",
            "The OCSP service could not read the request"),
        Self(errSecOCSPResponderInternalError, "errSecOCSPResponderInternalError", "The OCSP service failed"),
        Self(errSecOCSPResponderTryLater, "errSecOCSPResponderTryLater", "The OCSP service is busy"),
        Self(
            errSecOCSPResponderSignatureRequired, "errSecOCSPResponderSignatureRequired",
            "The OCSP service wants a signed request"),
        Self(
            errSecOCSPResponderUnauthorized, "errSecOCSPResponderUnauthorized",
            "The OCSP service refuses this client"),
        Self(
            errSecOCSPResponseNonceMismatch, "errSecOCSPResponseNonceMismatch",
            "The OCSP response is for another request"),
        Self(
            errSecCodeSigningBadCertChainLength, "errSecCodeSigningBadCertChainLength",
            "The chain of signed code has the wrong length"),
        Self(
            errSecCodeSigningNoBasicConstraints, "errSecCodeSigningNoBasicConstraints",
            "The chain of signed code lacks basic constraints"),
        Self(
            errSecCodeSigningBadPathLengthConstraint, "errSecCodeSigningBadPathLengthConstraint",
            "The chain of signed code breaks its path length"),
        Self(
            errSecCodeSigningNoExtendedKeyUsage, "errSecCodeSigningNoExtendedKeyUsage",
            "The chain of signed code lacks an extended key usage"),
        Self(errSecCodeSigningDevelopment, "errSecCodeSigningDevelopment", "The code is signed for development only"),
        Self(
            errSecResourceSignBadCertChainLength, "errSecResourceSignBadCertChainLength",
            "The chain of a signed resource has the wrong length"),
        Self(
            errSecResourceSignBadExtKeyUsage, "errSecResourceSignBadExtKeyUsage",
            "The extended key usage is not that of signed resources"),
        Self(errSecTrustSettingDeny, "errSecTrustSettingDeny", "A trust setting denies it"),
        Self(errSecInvalidSubjectName, "errSecInvalidSubjectName", "The subject's name is not valid"),
        Self(
            errSecUnknownQualifiedCertStatement, "errSecUnknownQualifiedCertStatement",
            "A statement of the qualified certificate is not known"),
        Self(errSecMobileMeRequestQueued, "errSecMobileMeRequestQueued", "MobileMe: the request is queued"),
        Self(
            errSecMobileMeRequestRedirected, "errSecMobileMeRequestRedirected",
            "MobileMe: the request was sent elsewhere"),
        Self(errSecMobileMeServerError, "errSecMobileMeServerError", "MobileMe: the server failed"),
        Self(
            errSecMobileMeServerNotAvailable, "errSecMobileMeServerNotAvailable",
            "MobileMe: the server is not available"),
        Self(
            errSecMobileMeServerAlreadyExists, "errSecMobileMeServerAlreadyExists",
            "MobileMe: it exists on the server already"),
        Self(errSecMobileMeServerServiceErr, "errSecMobileMeServerServiceErr", "MobileMe: the service failed"),
        Self(
            errSecMobileMeRequestAlreadyPending, "errSecMobileMeRequestAlreadyPending",
            "MobileMe: a request is under way already"),
        Self(errSecMobileMeNoRequestPending, "errSecMobileMeNoRequestPending", "MobileMe: no request is under way"),
        Self(
            errSecMobileMeCSRVerifyFailure, "errSecMobileMeCSRVerifyFailure",
            "MobileMe: the certificate request does not verify"),
        Self(
            errSecMobileMeFailedConsistencyCheck, "errSecMobileMeFailedConsistencyCheck",
            "MobileMe: the answer contradicts itself"),
    ]
}
