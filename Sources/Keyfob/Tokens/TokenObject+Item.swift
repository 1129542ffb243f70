import Foundation
import KeyfobOpenSSL
package import PKCS11

/// The attributes that an object on the token brings into its item.
extension TokenObject {
    /// The attributes of the object's item as far as the token knows them.
    ///
    /// - Throws: `KeyFileError` where a certificate object holds something else.
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
        // PKCS#11 asks this of secrets only; what is public can always leave.
        if objectClass == .publicKey { attributes[.isExtractable] = 1 }
        return attributes
    }
}

extension KeyAlgorithmType {
    /// Apple's number for a PKCS#11 key type; `nil` for types that Apple has no number for.
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
