import Foundation
import Keyfob
import KeyfobOpenSSL

/// A key pair to be generated, as described by the dictionary of SecKeyCreateRandomKey.
struct KeyPairRequest {
    let algorithm: KeyAlgorithm
    private let privateAttributes: ItemAttributes
    private let publicAttributes: ItemAttributes
    private let isPrivateKeyPermanent: Bool
    private let isPublicKeyPermanent: Bool
    private let isExtractable: Bool

    /// Reads a dictionary.
    ///
    /// - Throws: `StatusError`; `KeychainError` if the keychain cannot be opened.
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
        let token = try privateKey.object(forKey: kSecAttrTokenID).map {
            try AttributeCoding.value($0, for: .tokenID, of: .key)
        }
        let isTokens = !(token?.text ?? "").isEmpty
        if isTokens {
            var attributes = ItemAttributes()
            attributes[.tokenID] = token
            try ItemOperations.current().checkToken(attributes)
        }
        isPrivateKeyPermanent = try KeyParameters.truth(privateKey, kSecAttrIsPermanent) ?? isTokens
        isPublicKeyPermanent = try KeyParameters.truth(publicKey, kSecAttrIsPermanent) ?? false
        // The Secure Enclave has keys for the life of a process, and a token has none.
        let isEnclaves = token?.text?.hasPrefix(Self.enclave) ?? false
        guard isPrivateKeyPermanent || !isTokens || isEnclaves else {
            throw StatusError(errSecUnimplemented, "the keys of a token are permanent")
        }
        isExtractable = try !isTokens && KeyParameters.truth(privateKey, kSecAttrIsExtractable) ?? false
        // A pair in memory needs no keychain.
        privateAttributes = try isPrivateKeyPermanent || isTokens
            ? ItemOperations.current().attributes(ofGenerated: privateKey, algorithm, .private) : ItemAttributes()
        publicAttributes = try isPublicKeyPermanent
            ? ItemOperations.current().attributes(ofGenerated: publicKey, algorithm, .public) : ItemAttributes()
    }

    /// What every token ID of the Secure Enclave begins with.
    private static let enclave = String(kSecAttrTokenIDSecureEnclave)

    /// What tells that a key in memory stays there; `nil` for one that may leave.
    private var describedInMemory: Item? {
        guard privateAttributes[.tokenID] != nil else { return nil }
        var attributes = privateAttributes
        // It is in no keychain.
        for name: AttributeName in [.accessGroup, .program] { attributes[name] = nil }
        for name: AttributeName in [.isPermanent, .isExtractable] { attributes[name] = 0 }
        for name: AttributeName in [.isSensitive, .wasAlwaysSensitive, .wasNeverExtractable] { attributes[name] = 1 }
        return Item(.key, attributes)
    }

    /// Generates the pair and stores what is to be permanent.
    ///
    /// Blocks while an RSA key is generated, and for the token.
    ///
    /// - Throws: `KeychainError`, `OpenSSLError`.
    func fulfil() throws -> (privateKey: SecKey, publicKey: SecKey) {
        guard isPrivateKeyPermanent else {
            let key = try PrivateKey.generate(algorithm)
            let item = isPublicKeyPermanent
                ? try currentKeychain().keys.add(key.publicKey, publicAttributes).item : nil
            return (SecKey(.memory(key), item: describedInMemory), SecKey(.public(key.publicKey), item: item))
        }
        let keychain = try currentKeychain()
        guard let specification = KeySpecification(algorithm) else {
            // Keyfob has no token generate keys of these sizes.
            let key = try PrivateKey.generate(algorithm)
            let stored = try keychain.keys.add(key, privateAttributes, isExtractable: isExtractable)
            let item = isPublicKeyPermanent ? try keychain.keys.add(key.publicKey, publicAttributes).item : nil
            return (
                SecKey(.token(try keychain.keys.tokenKey(for: stored)), item: stored.item),
                SecKey(.public(key.publicKey), item: item)
            )
        }
        let pair = try keychain.keys.generate(
            specification, privateAttributes, publicAttributes: isPublicKeyPermanent ? publicAttributes : nil,
            isExtractable: isExtractable)
        let key = try keychain.keys.tokenKey(for: pair.privateKey)
        return (
            SecKey(.token(key), item: pair.privateKey.item), SecKey(.public(key.publicKey), item: pair.publicKey?.item)
        )
    }
}

extension ItemOperations {
    /// Attributes that describe the key itself, which the token reports, and those that control its generation.
    private static let passedOver: Set<String> = [
        "type", "bsiz", "esiz", "kcls", "perm", "extr", "sens", "asen", "next", "cdat", "mdat",
    ]

    /// Returns the attributes of the item for one half of a generated pair.
    ///
    /// The parameters that are attributes follow the rules of SecItemAdd, and override the usages of the key type.
    ///
    /// - Throws: `StatusError`; the errors of SecItemAdd for the same attributes.
    fileprivate func attributes(
        ofGenerated parameters: NSDictionary, _ algorithm: KeyAlgorithm, _ half: KeyClass
    ) throws -> ItemAttributes {
        let own = NSMutableDictionary()
        for entry in try RequestEntry.all(of: parameters) where entry.key.utf16.count == 4 {
            // Only the private half is bound to the token.
            guard !Self.passedOver.contains(entry.key), half == .private || entry.key != "tkid" else { continue }
            own.setObject(entry.value.object, forKey: NSString(string: entry.key))
        }
        own.setObject(kSecClassKey, forKey: kSecClass)
        var request = try ItemRequest(parsing: own, for: .add)
        try checkNotEmpty()
        try checkGroup(request.attributes, isWriting: true)
        try complete(&request)
        // Using the public half requires no confirmation.
        if half == .public { request.attributes[.accessControl] = nil }
        var attributes = usages(of: algorithm, half)
        attributes.merge(request.attributes)
        return attributes
    }
}
