// How to check revocation; SecPolicy.h. `SecPolicyCreateRevocation` describes their effect here.

/// Check by OCSP.
public let kSecRevocationOCSPMethod: CFOptionFlags = 1 << 0
/// Check by revocation lists.
public let kSecRevocationCRLMethod: CFOptionFlags = 1 << 1
/// Prefer revocation lists to OCSP if both are possible.
public let kSecRevocationPreferCRL: CFOptionFlags = 1 << 2
/// Require a positive answer.
public let kSecRevocationRequirePositiveResponse: CFOptionFlags = 1 << 3
/// Do not access the network.
public let kSecRevocationNetworkAccessDisabled: CFOptionFlags = 1 << 4
/// Check by OCSP or revocation lists.
public let kSecRevocationUseAnyAvailableMethod: CFOptionFlags = 1 << 0 | 1 << 1
