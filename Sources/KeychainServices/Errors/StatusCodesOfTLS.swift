// Result codes of Secure Transport in SecBase.h. This module returns only `errSSLCrypto`.

/// TLS: the protocol was broken.
public let errSSLProtocol: OSStatus = -9800
/// TLS: no cipher suite is common to both sides.
public let errSSLNegotiation: OSStatus = -9801
/// TLS: a fatal alert.
public let errSSLFatalAlert: OSStatus = -9802
/// TLS: the operation would have to wait.
public let errSSLWouldBlock: OSStatus = -9803
/// TLS: there is no such session.
public let errSSLSessionNotFound: OSStatus = -9804
/// TLS: the connection was closed.
public let errSSLClosedGraceful: OSStatus = -9805
/// TLS: the connection broke.
public let errSSLClosedAbort: OSStatus = -9806
/// TLS: the chain of certificates is not valid.
public let errSSLXCertChainInvalid: OSStatus = -9807
/// TLS: the certificate's format is not valid.
public let errSSLBadCert: OSStatus = -9808
/// TLS: cryptography failed.
public let errSSLCrypto: OSStatus = -9809
/// TLS: an internal error.
public let errSSLInternal: OSStatus = -9810
/// TLS: a module could not be attached.
public let errSSLModuleAttach: OSStatus = -9811
/// TLS: the root of the chain is not known.
public let errSSLUnknownRootCert: OSStatus = -9812
/// TLS: the chain has no root.
public let errSSLNoRootCert: OSStatus = -9813
/// TLS: a certificate of the chain has expired.
public let errSSLCertExpired: OSStatus = -9814
/// TLS: a certificate of the chain is not valid yet.
public let errSSLCertNotYetValid: OSStatus = -9815
/// TLS: the connection was closed without notice.
public let errSSLClosedNoNotify: OSStatus = -9816
/// TLS: the buffer is too small.
public let errSSLBufferOverflow: OSStatus = -9817
/// TLS: the cipher suite is not valid.
public let errSSLBadCipherSuite: OSStatus = -9818
/// TLS: the peer got a message it did not expect.
public let errSSLPeerUnexpectedMsg: OSStatus = -9819
/// TLS: the peer got a record with a wrong code.
public let errSSLPeerBadRecordMac: OSStatus = -9820
/// TLS: the peer could not decrypt a record.
public let errSSLPeerDecryptionFail: OSStatus = -9821
/// TLS: the peer got a record that is too long.
public let errSSLPeerRecordOverflow: OSStatus = -9822
/// TLS: the peer could not decompress.
public let errSSLPeerDecompressFail: OSStatus = -9823
/// TLS: the peer ended the handshake.
public let errSSLPeerHandshakeFail: OSStatus = -9824
/// TLS: the peer calls the certificate bad.
public let errSSLPeerBadCert: OSStatus = -9825
/// TLS: the peer does not support the certificate.
public let errSSLPeerUnsupportedCert: OSStatus = -9826
/// TLS: the peer calls the certificate revoked.
public let errSSLPeerCertRevoked: OSStatus = -9827
/// TLS: the peer calls the certificate expired.
public let errSSLPeerCertExpired: OSStatus = -9828
/// TLS: the peer does not accept the certificate.
public let errSSLPeerCertUnknown: OSStatus = -9829
/// TLS: a parameter is not allowed.
public let errSSLIllegalParam: OSStatus = -9830
/// TLS: the peer does not know the authority.
public let errSSLPeerUnknownCA: OSStatus = -9831
/// TLS: the peer denies access.
public let errSSLPeerAccessDenied: OSStatus = -9832
/// TLS: the peer could not read a message.
public let errSSLPeerDecodeError: OSStatus = -9833
/// TLS: the peer could not check a signature or decrypt a key.
public let errSSLPeerDecryptError: OSStatus = -9834
/// TLS: the peer restricts exports.
public let errSSLPeerExportRestriction: OSStatus = -9835
/// TLS: the peer does not support the version.
public let errSSLPeerProtocolVersion: OSStatus = -9836
/// TLS: the peer wants stronger cryptography.
public let errSSLPeerInsufficientSecurity: OSStatus = -9837
/// TLS: the peer met an internal error.
public let errSSLPeerInternalError: OSStatus = -9838
/// TLS: the user at the peer cancelled.
public let errSSLPeerUserCancelled: OSStatus = -9839
/// TLS: the peer does not renegotiate.
public let errSSLPeerNoRenegotiation: OSStatus = -9840
/// TLS: the peer's certificate can be looked at.
public let errSSLPeerAuthCompleted: OSStatus = -9841
/// TLS: the server asks for a certificate.
public let errSSLClientCertRequested: OSStatus = -9842
/// TLS: the certificate is for another host.
public let errSSLHostNameMismatch: OSStatus = -9843
/// TLS: the peer refused the connection.
public let errSSLConnectionRefused: OSStatus = -9844
/// TLS: a record could not be decrypted.
public let errSSLDecryptionFail: OSStatus = -9845
/// TLS: a record has a wrong code.
public let errSSLBadRecordMac: OSStatus = -9846
/// TLS: a record is too long.
public let errSSLRecordOverflow: OSStatus = -9847
/// TLS: the configuration is not valid.
public let errSSLBadConfiguration: OSStatus = -9848
/// TLS: a record was not expected.
public let errSSLUnexpectedRecord: OSStatus = -9849
/// TLS: the peer's ephemeral key is weak.
public let errSSLWeakPeerEphemeralDHKey: OSStatus = -9850
/// TLS: the client's greeting has come.
public let errSSLClientHelloReceived: OSStatus = -9851
/// TLS: the transport was reset.
public let errSSLTransportReset: OSStatus = -9852
/// TLS: the network did not answer in time.
public let errSSLNetworkTimeout: OSStatus = -9853
/// TLS: it could not be configured.
public let errSSLConfigurationFailed: OSStatus = -9854
/// TLS: an extension is not supported.
public let errSSLUnsupportedExtension: OSStatus = -9855
/// TLS: a message was not expected.
public let errSSLUnexpectedMessage: OSStatus = -9856
/// TLS: decompression failed.
public let errSSLDecompressFail: OSStatus = -9857
/// TLS: the handshake failed.
public let errSSLHandshakeFail: OSStatus = -9858
/// TLS: a message could not be read.
public let errSSLDecodeError: OSStatus = -9859
/// TLS: the fallback to an older version is not appropriate.
public let errSSLInappropriateFallback: OSStatus = -9860
/// TLS: an extension is missing.
public let errSSLMissingExtension: OSStatus = -9861
/// TLS: the response about the certificate's status is not valid.
public let errSSLBadCertificateStatusResponse: OSStatus = -9862
/// TLS: a certificate is required.
public let errSSLCertificateRequired: OSStatus = -9863
/// TLS: the shared key's identity is not known.
public let errSSLUnknownPSKIdentity: OSStatus = -9864
/// TLS: the server's name is not known.
public let errSSLUnrecognizedName: OSStatus = -9865
/// TLS: the rules of App Transport Security are broken.
public let errSSLATSViolation: OSStatus = -9880
/// TLS: the version is older than App Transport Security allows.
public let errSSLATSMinimumVersionViolation: OSStatus = -9881
/// TLS: App Transport Security does not allow the cipher suite.
public let errSSLATSCiphersuiteViolation: OSStatus = -9882
/// TLS: the key is shorter than App Transport Security allows.
public let errSSLATSMinimumKeySizeViolation: OSStatus = -9883
/// TLS: App Transport Security does not allow the digest of the leaf.
public let errSSLATSLeafCertificateHashAlgorithmViolation: OSStatus = -9884
/// TLS: App Transport Security does not allow the digest of a certificate.
public let errSSLATSCertificateHashAlgorithmViolation: OSStatus = -9885
/// TLS: App Transport Security does not trust the issuer.
public let errSSLATSCertificateTrustViolation: OSStatus = -9886

extension StatusDescription {
    /// The codes of Secure Transport.
    static let ofTLS: [StatusDescription] = [
        Self(errSSLProtocol, "errSSLProtocol", "TLS: the protocol was broken"),
        Self(errSSLNegotiation, "errSSLNegotiation", "TLS: no cipher suite is common to both sides"),
        Self(errSSLFatalAlert, "errSSLFatalAlert", "TLS: a fatal alert"),
        Self(errSSLWouldBlock, "errSSLWouldBlock", "TLS: the operation would have to wait"),
        Self(errSSLSessionNotFound, "errSSLSessionNotFound", "TLS: there is no such session"),
        Self(errSSLClosedGraceful, "errSSLClosedGraceful", "TLS: the connection was closed"),
        Self(errSSLClosedAbort, "errSSLClosedAbort", "TLS: the connection broke"),
        Self(errSSLXCertChainInvalid, "errSSLXCertChainInvalid", "TLS: the chain of certificates is not valid"),
        Self(errSSLBadCert, "errSSLBadCert", "TLS: the certificate's format is not valid"),
        Self(errSSLCrypto, "errSSLCrypto", "TLS: cryptography failed"),
        Self(errSSLInternal, "errSSLInternal", "TLS: an internal error"),
        Self(errSSLModuleAttach, "errSSLModuleAttach", "TLS: a module could not be attached"),
        Self(errSSLUnknownRootCert, "errSSLUnknownRootCert", "TLS: the root of the chain is not known"),
        Self(errSSLNoRootCert, "errSSLNoRootCert", "TLS: the chain has no root"),
        Self(errSSLCertExpired, "errSSLCertExpired", "TLS: a certificate of the chain has expired"),
        Self(errSSLCertNotYetValid, "errSSLCertNotYetValid", "TLS: a certificate of the chain is not valid yet"),
        Self(errSSLClosedNoNotify, "errSSLClosedNoNotify", "TLS: the connection was closed without notice"),
        Self(errSSLBufferOverflow, "errSSLBufferOverflow", "TLS: the buffer is too small"),
        Self(errSSLBadCipherSuite, "errSSLBadCipherSuite", "TLS: the cipher suite is not valid"),
        Self(errSSLPeerUnexpectedMsg, "errSSLPeerUnexpectedMsg", "TLS: the peer got a message it did not expect"),
        Self(errSSLPeerBadRecordMac, "errSSLPeerBadRecordMac", "TLS: the peer got a record with a wrong code"),
        Self(errSSLPeerDecryptionFail, "errSSLPeerDecryptionFail", "TLS: the peer could not decrypt a record"),
        Self(errSSLPeerRecordOverflow, "errSSLPeerRecordOverflow", "TLS: the peer got a record that is too long"),
        Self(errSSLPeerDecompressFail, "errSSLPeerDecompressFail", "TLS: the peer could not decompress"),
        Self(errSSLPeerHandshakeFail, "errSSLPeerHandshakeFail", "TLS: the peer ended the handshake"),
        Self(errSSLPeerBadCert, "errSSLPeerBadCert", "TLS: the peer calls the certificate bad"),
        Self(errSSLPeerUnsupportedCert, "errSSLPeerUnsupportedCert", "TLS: the peer does not support the certificate"),
        Self(errSSLPeerCertRevoked, "errSSLPeerCertRevoked", "TLS: the peer calls the certificate revoked"),
        Self(errSSLPeerCertExpired, "errSSLPeerCertExpired", "TLS: the peer calls the certificate expired"),
        Self(errSSLPeerCertUnknown, "errSSLPeerCertUnknown", "TLS: the peer does not accept the certificate"),
        Self(errSSLIllegalParam, "errSSLIllegalParam", "TLS: a parameter is not allowed"),
        Self(errSSLPeerUnknownCA, "errSSLPeerUnknownCA", "TLS: the peer does not know the authority"),
        Self(errSSLPeerAccessDenied, "errSSLPeerAccessDenied", "TLS: the peer denies access"),
        Self(errSSLPeerDecodeError, "errSSLPeerDecodeError", "TLS: the peer could not read a message"),
        Self(
            errSSLPeerDecryptError, "errSSLPeerDecryptError",
            "TLS: the peer could not check a signature or decrypt a key"),
        Self(errSSLPeerExportRestriction, "errSSLPeerExportRestriction", "TLS: the peer restricts exports"),
        Self(errSSLPeerProtocolVersion, "errSSLPeerProtocolVersion", "TLS: the peer does not support the version"),
        Self(
            errSSLPeerInsufficientSecurity, "errSSLPeerInsufficientSecurity",
            "TLS: the peer wants stronger cryptography"),
        Self(errSSLPeerInternalError, "errSSLPeerInternalError", "TLS: the peer met an internal error"),
        Self(errSSLPeerUserCancelled, "errSSLPeerUserCancelled", "TLS: the person at the peer cancelled"),
        Self(errSSLPeerNoRenegotiation, "errSSLPeerNoRenegotiation", "TLS: the peer does not renegotiate"),
        Self(errSSLPeerAuthCompleted, "errSSLPeerAuthCompleted", "TLS: the peer's certificate can be looked at"),
        Self(errSSLClientCertRequested, "errSSLClientCertRequested", "TLS: the server asks for a certificate"),
        Self(errSSLHostNameMismatch, "errSSLHostNameMismatch", "TLS: the certificate is for another host"),
        Self(errSSLConnectionRefused, "errSSLConnectionRefused", "TLS: the peer refused the connection"),
        Self(errSSLDecryptionFail, "errSSLDecryptionFail", "TLS: a record could not be decrypted"),
        Self(errSSLBadRecordMac, "errSSLBadRecordMac", "TLS: a record has a wrong code"),
        Self(errSSLRecordOverflow, "errSSLRecordOverflow", "TLS: a record is too long"),
        Self(errSSLBadConfiguration, "errSSLBadConfiguration", "TLS: the configuration is not valid"),
        Self(errSSLUnexpectedRecord, "errSSLUnexpectedRecord", "TLS: a record was not expected"),
        Self(errSSLWeakPeerEphemeralDHKey, "errSSLWeakPeerEphemeralDHKey", "TLS: the peer's ephemeral key is weak"),
        Self(errSSLClientHelloReceived, "errSSLClientHelloReceived", "TLS: the client's greeting has come"),
        Self(errSSLTransportReset, "errSSLTransportReset", "TLS: the transport was reset"),
        Self(errSSLNetworkTimeout, "errSSLNetworkTimeout", "TLS: the network did not answer in time"),
        Self(errSSLConfigurationFailed, "errSSLConfigurationFailed", "TLS: it could not be configured"),
        Self(errSSLUnsupportedExtension, "errSSLUnsupportedExtension", "TLS: an extension is not supported"),
        Self(errSSLUnexpectedMessage, "errSSLUnexpectedMessage", "TLS: a message was not expected"),
        Self(errSSLDecompressFail, "errSSLDecompressFail", "TLS: decompression failed"),
        Self(errSSLHandshakeFail, "errSSLHandshakeFail", "TLS: the handshake failed"),
        Self(errSSLDecodeError, "errSSLDecodeError", "TLS: a message could not be read"),
        Self(
            errSSLInappropriateFallback, "errSSLInappropriateFallback",
            "TLS: the fallback to an older version is not appropriate"),
        Self(errSSLMissingExtension, "errSSLMissingExtension", "TLS: an extension is missing"),
        Self(
            errSSLBadCertificateStatusResponse, "errSSLBadCertificateStatusResponse",
            "TLS: the response about the certificate's status is not valid"),
        Self(errSSLCertificateRequired, "errSSLCertificateRequired", "TLS: a certificate is required"),
        Self(errSSLUnknownPSKIdentity, "errSSLUnknownPSKIdentity", "TLS: the shared key's identity is not known"),
        Self(errSSLUnrecognizedName, "errSSLUnrecognizedName", "TLS: the server's name is not known"),
        Self(errSSLATSViolation, "errSSLATSViolation", "TLS: the rules of App Transport Security are broken"),
        Self(
            errSSLATSMinimumVersionViolation, "errSSLATSMinimumVersionViolation",
            "TLS: the version is older than App Transport Security allows"),
        Self(
            errSSLATSCiphersuiteViolation, "errSSLATSCiphersuiteViolation",
            "TLS: the cipher suite is none that App Transport Security allows"),
        Self(
            errSSLATSMinimumKeySizeViolation, "errSSLATSMinimumKeySizeViolation",
            "TLS: the key is shorter than App Transport Security allows"),
        Self(
            errSSLATSLeafCertificateHashAlgorithmViolation, "errSSLATSLeafCertificateHashAlgorithmViolation",
            "TLS: the leaf's digest is none that App Transport Security allows"),
        Self(
            errSSLATSCertificateHashAlgorithmViolation, "errSSLATSCertificateHashAlgorithmViolation",
            "TLS: a certificate's digest is none that App Transport Security allows"),
        Self(
            errSSLATSCertificateTrustViolation, "errSSLATSCertificateTrustViolation",
            "TLS: the issuer is none that App Transport Security trusts"),
    ]
}
