import Foundation
import Keyfob
import OpenSSL

/// A key pair that is to be generated: what SecKeyCreateRandomKey reads from its dictionary.
struct KeyPairRequest {
    let algorithm: KeyAlgorithm
    private let privateAttributes: ItemAttributes
    private let publicAttributes: ItemAttributes
    private let isPrivateKeyPermanent: Bool
    private let isPublicKeyPermanent: Bool
    private let isExtractable: Bool

    /// Reads a dictionary. - Throws: `StatusError`; `KeychainError` where the keychain cannot be opened.
    init(_ parameters: NSDictionary) throws {
        algorithm = try KeyParameters.algorithm(parameters)
        func merged(_ key: CFString) throws(StatusError) -> NSDictionary {
            guard let own = parameters.object(forKey: key) else { return parameters }
            guard let own = own as? NSDictionary else { throw .parameter("\(key) is not a dictionary") }
            let all = NSMutableDictionary()
            for dictionary in [parameters, own] {
                for (key, value) in dictionary {
                    guard let key = key as? String else { continue }
                    all.setObject(value, forKey: NSString(string: key))
                }
            }
            return all
        }
        let privateKey = try merged(kSecPrivateKeyAttrs)
        let publicKey = try merged(kSecPublicKeyAttrs)
        let isTokens = privateKey.object(forKey: kSecAttrTokenID) != nil
        isPrivateKeyPermanent = try KeyParameters.truth(privateKey, kSecAttrIsPermanent) ?? isTokens
        isPublicKeyPermanent = try KeyParameters.truth(publicKey, kSecAttrIsPermanent) ?? false
        isExtractable = try !isTokens && KeyParameters.truth(privateKey, kSecAttrIsExtractable) ?? false
        privateAttributes = try Self.attributes(privateKey, isStored: isPrivateKeyPermanent)
        // Only the private half is bound to the token.
        var attributes = try Self.attributes(publicKey, isStored: isPublicKeyPermanent)
        attributes[.tokenID] = nil
        attributes[.accessControl] = nil
        publicAttributes = attributes
    }

    /// Generates the pair and stores what is to be permanent.
    ///
    /// Blocks while an RSA key is searched for, and for the token. - Throws: `KeychainError`, `OpenSSLError`.
    func fulfil() throws -> (privateKey: SecKey, publicKey: SecKey) {
        guard isPrivateKeyPermanent else {
            let key = try PrivateKey.generate(algorithm)
            let item = isPublicKeyPermanent
                ? try currentKeychain().addKey(key.publicKey, publicAttributes).item : nil
            return (SecKey(.memory(key)), SecKey(.public(key.publicKey), item: item))
        }
        let keychain = try currentKeychain()
        guard let specification = KeySpecification(algorithm) else {
            // Sizes that Keyfob has no token generate.
            let key = try PrivateKey.generate(algorithm)
            let stored = try keychain.addKey(key, privateAttributes, isExtractable: isExtractable)
            let item = isPublicKeyPermanent ? try keychain.addKey(key.publicKey, publicAttributes).item : nil
            return (
                SecKey(.token(try keychain.tokenKey(for: stored)), item: stored.item),
                SecKey(.public(key.publicKey), item: item)
            )
        }
        let pair = try keychain.generateKey(
            specification, privateAttributes, publicAttributes: isPublicKeyPermanent ? publicAttributes : nil,
            isExtractable: isExtractable)
        let key = try keychain.tokenKey(for: pair.privateKey)
        return (
            SecKey(.token(key), item: pair.privateKey.item), SecKey(.public(key.publicKey), item: pair.publicKey?.item)
        )
    }

    /// What describes the key itself, which the token says, and what says how it is made.
    private static let passedOver: Set<AttributeName> = [
        .type, .keySizeInBits, .effectiveKeySize, .keyClass, .isPermanent, .isExtractable, .isSensitive,
        .wasAlwaysSensitive, .wasNeverExtractable, .creationDate, .modificationDate,
    ]

    /// The attributes of an item among the parameters.
    private static func attributes(_ dictionary: NSDictionary, isStored: Bool) throws -> ItemAttributes {
        var attributes = ItemAttributes()
        for (key, value) in dictionary {
            guard let text = key as? String, text.utf8.count == 4 else { continue }
            let name = AttributeName(rawValue: text)
            guard !passedOver.contains(name), ClassSchema.of(.key)[name] != nil else { continue }
            guard name != .accessControl else {
                guard let control = value as? SecAccessControl else {
                    throw StatusError.parameter("the access control is none")
                }
                attributes[name] = control.isConstrained ? .data(control.stored) : nil
                continue
            }
            attributes[name] = try AttributeCoding.value(value, for: name, of: .key)
        }
        guard isStored else { return attributes }
        if let control = dictionary.object(forKey: kSecAttrAccessControl) as? SecAccessControl {
            guard attributes[.accessible].map({ $0.text == control.protection }) ?? true else {
                throw StatusError.parameter("the access control has another protection")
            }
            guard !control.isConstrained || attributes[.synchronizable]?.number ?? 0 == 0 else {
                throw StatusError.parameter("what is synchronized cannot be constrained")
            }
            attributes[.accessible] = .string(control.protection)
        } else if attributes[.accessible] == nil {
            attributes[.accessible] = .string(kSecAttrAccessibleWhenUnlocked as String)
        }
        let groups = try currentAccessGroups()
        if let group = attributes[.accessGroup]?.text {
            guard groups.allowsWriting(group) else { throw StatusError(errSecMissingEntitlement) }
        } else {
            guard let group = groups.defaultGroup else { throw StatusError(errSecMissingEntitlement) }
            attributes[.accessGroup] = .string(group)
        }
        return attributes
    }
}
