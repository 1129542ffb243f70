public import Foundation

// Policies; SecPolicy.h.

/// A policy that asks for a valid chain and nothing else.
@discardableResult
public func SecPolicyCreateBasicX509() -> SecPolicy {
    SecPolicy(SecPolicy.Properties(identifier: kSecPolicyAppleX509Basic as String))
}

/// A policy for TLS.
///
/// - Parameters:
///   - server: Whether the certificate is a server's; otherwise it is a client's.
///   - hostname: The name or address that a server's certificate must be for; `nil` for any.
@discardableResult
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(SecPolicy.Properties(
        identifier: kSecPolicyAppleSSL as String, name: hostname as String?, isClient: !server))
}

/// A policy about revocation.
///
/// Nobody is asked, over a network or otherwise. What is checked if it can be, as without
/// `kSecRevocationRequirePositiveResponse`, is therefore not checked, and a chain for which an answer is required is
/// not trusted: `errSecIncompleteCertRevocationCheck`, unless the certificate itself is an anchor.
///
/// - Parameter revocationFlags: The `kSecRevocation…` values that hold.
@discardableResult
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    SecPolicy(SecPolicy.Properties(
        identifier: kSecPolicyAppleRevocation as String, revocationFlags: revocationFlags))
}

/// A policy by its identifier; `nil` for one that is not known here, or for properties of a wrong type.
///
/// - Parameters:
///   - policyIdentifier: One of the `kSecPolicyApple…` values.
///   - properties: `kSecPolicyName`, `kSecPolicyClient` and `kSecPolicyRevocationFlags`.
@discardableResult
public func SecPolicyCreateWithProperties(_ policyIdentifier: CFTypeRef, _ properties: CFDictionary?) -> SecPolicy? {
    let known = [
        kSecPolicyAppleX509Basic, kSecPolicyAppleSSL, kSecPolicyAppleSMIME, kSecPolicyAppleEAP, kSecPolicyAppleIPsec,
        kSecPolicyAppleCodeSigning, kSecPolicyAppleTimeStamping, kSecPolicyAppleRevocation,
    ]
    guard let identifier = policyIdentifier as? NSString, known.contains(identifier) else { return nil }
    var result = SecPolicy.Properties(identifier: String(identifier))
    if let name = properties?.object(forKey: kSecPolicyName) {
        guard let name = name as? String else { return nil }
        result.name = name
    }
    if let client = properties?.object(forKey: kSecPolicyClient) {
        guard let client = client as? NSNumber else { return nil }
        result.isClient = client.boolValue
    }
    if let flags = properties?.object(forKey: kSecPolicyRevocationFlags) {
        guard let flags = flags as? NSNumber else { return nil }
        result.revocationFlags = flags.uintValue
    }
    return SecPolicy(result)
}

/// What a policy asks for: `kSecPolicyOid`, and `kSecPolicyName` and `kSecPolicyClient` where it has them.
///
/// - Parameter policyRef: The policy.
@discardableResult
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    let result = NSMutableDictionary()
    result.setObject(NSString(string: policyRef.properties.identifier), forKey: kSecPolicyOid)
    if let name = policyRef.properties.name { result.setObject(NSString(string: name), forKey: kSecPolicyName) }
    if policyRef.properties.isClient { result.setObject(NSNumber(value: true), forKey: kSecPolicyClient) }
    return result
}

/// The number of `SecPolicy`.
@discardableResult
public func SecPolicyGetTypeID() -> CFTypeID { SecPolicy.typeID }

extension SecPolicy: TypeIdentified { static var typeID: CFTypeID { 260 } }
