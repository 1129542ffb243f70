public import Foundation
import KeyfobOpenSSL

// Policies; SecPolicy.h.

/// Creates a policy that only requires a valid chain.
@discardableResult
public func SecPolicyCreateBasicX509() -> SecPolicy {
    SecPolicy(SecPolicy.Properties(identifier: kSecPolicyAppleX509Basic as String))
}

/// Creates a policy for TLS.
///
/// - Parameters:
///   - server: Whether the policy is for a server certificate; otherwise it is for a client certificate.
///   - hostname: The name or address that the certificate must be for, also for a client; `nil` for any.
@discardableResult
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(SecPolicy.Properties(
        identifier: kSecPolicyAppleSSL as String, names: [hostname as String?].compactMap(\.self), isClient: !server))
}

/// Creates a policy about revocation.
///
/// Revocation is never checked. Without `kSecRevocationRequirePositiveResponse` the check is skipped. With it a chain
/// is not trusted (`errSecIncompleteCertRevocationCheck`), unless the certificate itself is an anchor.
///
/// - Parameter revocationFlags: A combination of the `kSecRevocation…` values.
/// - Returns: The policy; `nil` if there are no flags.
@discardableResult
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    guard revocationFlags != 0 else { return nil }
    return SecPolicy(SecPolicy.Properties(
        identifier: kSecPolicyAppleRevocation as String, revocationFlags: revocationFlags))
}

/// Creates a policy from its identifier; `nil` for an unknown one and for properties of the wrong type.
///
/// - Parameters:
///   - policyIdentifier: One of the `kSecPolicyApple…` values.
///   - properties: `kSecPolicyName`, a name or an array of names, one of which suffices; `kSecPolicyClient`;
///     `kSecPolicyRevocationFlags`; and `kSecPolicyKU_…` values, one of which suffices.
@discardableResult
public func SecPolicyCreateWithProperties(_ policyIdentifier: CFTypeRef, _ properties: CFDictionary?) -> SecPolicy? {
    let known = [
        kSecPolicyAppleX509Basic, kSecPolicyAppleSSL, kSecPolicyAppleSMIME, kSecPolicyAppleEAP, kSecPolicyAppleIPsec,
        kSecPolicyAppleCodeSigning, kSecPolicyAppleTimeStamping, kSecPolicyAppleRevocation,
    ]
    guard let identifier = policyIdentifier as? NSString, known.contains(identifier) else { return nil }
    var result = SecPolicy.Properties(identifier: String(identifier))
    if let name = properties?.object(forKey: kSecPolicyName) {
        guard let names = (name as? String).map({ [$0] }) ?? name as? [String] else { return nil }
        result.names = names
    }
    if let client = properties?.object(forKey: kSecPolicyClient) {
        guard let client = client as? NSNumber else { return nil }
        result.isClient = client.boolValue
    }
    if let flags = properties?.object(forKey: kSecPolicyRevocationFlags) {
        guard let flags = flags as? NSNumber else { return nil }
        result.revocationFlags = flags.uintValue
    }
    for (key, usage) in keyUsages where Boolean.value(properties?.object(forKey: key) ?? false) == true {
        result.keyUsage.insert(usage)
    }
    return SecPolicy(result)
}

private var keyUsages: [(key: CFString, usage: KeyUsage)] {
    [
        (kSecPolicyKU_DigitalSignature, .digitalSignature), (kSecPolicyKU_NonRepudiation, .contentCommitment),
        (kSecPolicyKU_KeyEncipherment, .keyEncipherment), (kSecPolicyKU_DataEncipherment, .dataEncipherment),
        (kSecPolicyKU_KeyAgreement, .keyAgreement), (kSecPolicyKU_KeyCertSign, .keyCertSign),
        (kSecPolicyKU_CRLSign, .crlSign), (kSecPolicyKU_EncipherOnly, .encipherOnly),
        (kSecPolicyKU_DecipherOnly, .decipherOnly),
    ]
}

/// Returns the properties of a policy.
///
/// These are `kSecPolicyOid`, and `kSecPolicyName`, `kSecPolicyClient` and `kSecPolicyKU_…` if the policy has them.
/// Several names are returned as an array.
///
/// - Parameter policyRef: The policy.
@discardableResult
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    let result = NSMutableDictionary()
    result.setObject(NSString(string: policyRef.properties.identifier), forKey: kSecPolicyOid)
    let names = policyRef.properties.names.map { NSString(string: $0) }
    if let name = names.first {
        result.setObject(names.count == 1 ? name : NSArray(array: names), forKey: kSecPolicyName)
    }
    for (key, usage) in keyUsages where policyRef.properties.keyUsage.contains(usage) {
        result.setObject(NSNumber(value: true), forKey: key)
    }
    if policyRef.properties.isClient { result.setObject(NSNumber(value: true), forKey: kSecPolicyClient) }
    return result
}

/// Returns the type identifier of `SecPolicy`.
@discardableResult
public func SecPolicyGetTypeID() -> CFTypeID { SecPolicy.typeID }

extension SecPolicy: TypeIdentified { static var typeID: CFTypeID { 260 } }
