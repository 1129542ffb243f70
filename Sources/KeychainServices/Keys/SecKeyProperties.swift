public import Foundation
import Keyfob
import KeyfobOpenSSL

// Properties of keys; SecKey.h.

/// Returns the public half of a key; a public key itself.
///
/// - Parameter key: The key.
@discardableResult
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    key.isPrivate ? SecKey(.public(key.publicKey)) : key
}

/// Returns the size of a block in bytes: of the modulus for RSA, of a coordinate for EC.
///
/// - Parameter key: The key.
@discardableResult
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { key.blockSize }

/// Returns the attributes of a key, with class and type as strings, and its bytes if it can be exported.
///
/// Blocks for the token if the key is on one and may leave it.
///
/// - Parameter key: The key.
@discardableResult
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    let result = NSMutableDictionary()
    // Keyfob also keeps attributes that Apple has no names for.
    for (name, value) in attributes(of: key) where AttributeCoding.isAttribute(name, of: .key) {
        let object: NSObject? =
            switch (name, value) {
            // As strings, because constants such as kSecAttrKeyClassPrivate and kSecAttrKeyTypeRSA are strings.
            case (.keyClass, .number(let number)), (.type, .number(let number)): NSString(string: String(number))
            case (_, .number(let number)) where truths.contains(name): NSNumber(value: number != 0)
            default: AttributeCoding.object(value, for: name) as? NSObject
            }
        if let object { result.setObject(object, forKey: NSString(string: name.rawValue)) }
    }
    result.setObject(kSecClassKey, forKey: kSecClass)
    // A key that cannot leave its token has no bytes, which is not an error. A description does not ask the user
    // either.
    if !key.asksForPresence, let data = reporting(nil, { try key.externalRepresentation() }) {
        result.setObject(NSData(data: data), forKey: kSecValueData)
    }
    return result
}

/// The attributes of keys that are truth values.
private let truths: Set<AttributeName> = [
    .isPermanent, .isPrivate, .isModifiable, .isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable,
    .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap,
    .canUnwrap,
]
