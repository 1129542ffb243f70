public import Foundation
import Keyfob
import KeyfobOpenSSL

// Creation of keys; SecKey.h.

/// Generates a key pair and returns its private half.
///
/// A private key that is permanent is generated on the token and cannot leave it, unless `kSecAttrIsExtractable` is
/// true and no `kSecAttrTokenID` is given. A key with `kSecAttrTokenID` is permanent unless the caller says otherwise.
/// A key of the Secure Enclave that is not permanent is generated in memory, and its bytes are not given out. Other
/// tokens make permanent keys only. Any other key is generated in memory. `SecKeyCopyPublicKey` has the other half; it
/// becomes an item of its own only where it is permanent. Blocks while an RSA key is searched for: from tenths of a
/// second to many seconds.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType` and `kSecAttrKeySizeInBits`, which Ed25519 does not need, and attributes of the
///     items; those in `kSecPrivateKeyAttrs` and `kSecPublicKeyAttrs` are for one half and win.
///   - error: Takes `errSecParam` for a missing or unknown type or size, `errSecKeySizeNotAllowed` for a size that is
///     not available, `errSecItemNotFound` for a token that is not there, `errSecUnimplemented` for a key of
///     the keychain's token that is not to be permanent, and what SecItemAdd gives for the attributes of a half:
///     `errSecDuplicateItem`, `errSecNoSuchAttr`, `errSecMissingEntitlement`, `errSecInteractionNotAllowed`… The caller
///     owns it.
/// - Returns: The private key; `nil` where there is an error.
@discardableResult
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reporting(error) { try translatingKeyErrors { try KeyPairRequest(parameters).fulfil().privateKey } }
}

/// Generates a key pair, as `SecKeyCreateRandomKey` does.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType`, `kSecAttrKeySizeInBits` and attributes of the items; see `SecKeyCreateRandomKey`.
///   - publicKey: Receives the public key.
///   - privateKey: Receives the private key.
/// - Returns: The result code.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    do {
        let pair = try translatingKeyErrors { try KeyPairRequest(parameters).fulfil() }
        unsafe publicKey?.pointee = pair.publicKey
        unsafe privateKey?.pointee = pair.privateKey
        return errSecSuccess
    } catch {
        return OSStatus(error)
    }
}

/// Creates a key in memory from its bytes.
///
/// RSA keys are PKCS#1 in DER; public ones may be SubjectPublicKeyInfo. EC keys are `04 || X || Y`, followed by `|| K`
/// for a private key (ANSI X9.63). Ed25519 keys are 32 bytes.
///
/// - Parameters:
///   - keyData: The bytes.
///   - attributes: `kSecAttrKeyType` and `kSecAttrKeyClass`.
///   - error: Receives the error, owned by the caller: `errSecUnimplemented` for a symmetric key, and `errSecParam` for
///     a missing or unknown type or class, and for bytes that are not such a key.
/// - Returns: The key; `nil` on error.
@discardableResult
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reportingKeyErrors(error) {
        guard let half = KeyParameters.number(attributes.object(forKey: kSecAttrKeyClass)) else {
            throw StatusError.parameter("the class of the key is missing")
        }
        guard let type = KeyParameters.number(attributes.object(forKey: kSecAttrKeyType)) else {
            throw StatusError.parameter("the type of the key is missing")
        }
        let (algorithm, keyClass) = (KeyAlgorithmType(rawValue: Int64(type)), KeyClass(rawValue: Int64(half)))
        if algorithm == .rsa, keyClass == .public, let key = PublicKey(ofRSAIn: keyData as Data) {
            return SecKey(.public(key))
        }
        return try SecKey(representation: keyData as Data, algorithm, keyClass)
    }
}

/// Returns the bytes of a key in the form that `SecKeyCreateWithData` takes.
///
/// - Parameters:
///   - key: The key.
///   - error: Receives the error, owned by the caller: `errSecUnimplemented` for a key that cannot leave its token.
/// - Returns: The bytes, in memory that is not wiped; `nil` on error.
@discardableResult
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingKeyErrors(error) { try key.externalRepresentation() as CFData }
}
