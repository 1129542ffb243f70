import Foundation
import KeyfobOpenSSL
package import PKCS11

/// The item attributes that come from an object on the token.
extension TokenObject {
    /// The attributes of the object's item, as far as the token knows them.
    ///
    /// - Throws: `KeyFileError` if a certificate object does not hold a certificate.
    func itemAttributes() throws -> ItemAttributes {
        var attributes: ItemAttributes
        switch objectClass {
        case .certificate:
            attributes = ItemAttributes(certificate: try certificate)
        default:
            attributes = keyAttributes
        }
        attributes[.label] = nameWithoutRow
        return attributes
    }

    private var keyAttributes: ItemAttributes {
        var attributes = ItemAttributes()
        let keyClass: KeyClass = switch objectClass {
        case .privateKey: .private
        case .publicKey: .public
        default: .symmetric
        }
        attributes[.keyClass] = .number(keyClass.rawValue)
        attributes[.applicationLabel] = .data(keyIdentifier)
        attributes[.type] = keyType.flatMap { KeyAlgorithmType($0) }.map { .number($0.rawValue) }
        attributes[.keySizeInBits] = sizeInBits.map { .number(Int64($0)) }
        attributes[.effectiveKeySize] = sizeInBits.map { .number(Int64($0)) }
        attributes[.isPermanent] = 1
        let truths: [(AttributeName, Flags)] = [
            (.isPrivate, .isPrivate), (.isModifiable, .modifiable), (.isSensitive, .sensitive),
            (.wasAlwaysSensitive, .alwaysSensitive), (.isExtractable, .extractable),
            (.wasNeverExtractable, .neverExtractable), (.canEncrypt, .encrypt), (.canDecrypt, .decrypt),
            (.canDerive, .derive), (.canSign, .sign), (.canVerify, .verify), (.canWrap, .wrap), (.canUnwrap, .unwrap),
        ]
        for (name, flag) in truths { attributes[name] = .number(flags.contains(flag) ? 1 : 0) }
        // PKCS#11 defines this attribute only for secret and private keys; a public key is always extractable.
        if objectClass == .publicKey { attributes[.isExtractable] = 1 }
        return attributes
    }
}

extension KeyAlgorithmType {
    /// Apple's number for a PKCS#11 key type; `nil` if Apple has none.
    package init?(_ keyType: KeyType) {
        switch keyType {
        case .rsa: self = .rsa
        case .ec: self = .ec
        case .ecEdwards: self = .ed25519
        case .aes: self = .aes
        default: return nil
        }
    }
}
