// How revocation is to be checked; SecPolicy.h. What they do here, `SecPolicyCreateRevocation` says.

/// By OCSP.
public let kSecRevocationOCSPMethod: CFOptionFlags = 1 << 0
/// By revocation lists.
public let kSecRevocationCRLMethod: CFOptionFlags = 1 << 1
/// By revocation lists rather than OCSP, where both are possible.
public let kSecRevocationPreferCRL: CFOptionFlags = 1 << 2
/// Only an answer that the certificate is good is good enough.
public let kSecRevocationRequirePositiveResponse: CFOptionFlags = 1 << 3
/// Nobody is asked over a network.
public let kSecRevocationNetworkAccessDisabled: CFOptionFlags = 1 << 4
/// By OCSP or revocation lists.
public let kSecRevocationUseAnyAvailableMethod: CFOptionFlags = 1 << 0 | 1 << 1
