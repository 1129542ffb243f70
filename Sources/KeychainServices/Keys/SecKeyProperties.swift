public import Foundation
import Keyfob
import OpenSSL

// What keys tell of themselves; SecKey.h.

/// The public half of a key; of a public key the key itself.
///
/// - Parameter key: The key.
@discardableResult
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    key.isPrivate ? SecKey(.public(key.publicKey)) : key
}

/// The size of a block in bytes: of the modulus of RSA, of a coordinate of EC.
///
/// - Parameter key: The key.
@discardableResult
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { key.blockSize }

/// The attributes of a key, its class and type as strings, with its bytes where it can give them out.
///
/// Blocks for the token where the key is on one and may leave it.
///
/// - Parameter key: The key.
@discardableResult
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    let result = NSMutableDictionary()
    // Keyfob keeps more of keys than Apple has names for.
    for (name, value) in attributes(of: key) where AttributeCoding.isAttribute(name, of: .key) {
        let object: NSObject? =
            switch (name, value) {
            // As constants to compare with: kSecAttrKeyClassPrivate, kSecAttrKeyTypeRSA.
            case (.keyClass, .number(let number)), (.type, .number(let number)): NSString(string: String(number))
            case (_, .number(let number)) where truths.contains(name): NSNumber(value: number != 0)
            default: AttributeCoding.object(value, for: name) as? NSObject
            }
        if let object { result.setObject(object, forKey: NSString(string: name.rawValue)) }
    }
    result.setObject(kSecClassKey, forKey: kSecClass)
    // A key that cannot leave its token has no bytes to show, and for a description nobody is asked; that is no
    // failure.
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
