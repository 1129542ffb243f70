import Foundation
import Keyfob
import KeyfobOpenSSL

/// Returns the attributes that a key brings into an item when it is added by reference.
///
/// From the item that the key came from, only the token and the access control are taken. They belong to the key, and
/// adding it as another item must not bypass them.
func attributes(broughtBy key: SecKey) -> ItemAttributes {
    var attributes = searchAttributes(of: key)
    attributes[.effectiveKeySize] = attributes[.keySizeInBits]
    attributes.merge(usages(of: key.publicKey.algorithm, key.isPrivate ? .private : .public))
    for name: AttributeName in [.isSensitive, .wasAlwaysSensitive, .wasNeverExtractable] { attributes[name] = 0 }
    attributes[.isExtractable] = 1
    guard let item = key.item, item.itemClass == .key else { return attributes }
    for name in [AttributeName.tokenID, .accessControl] { attributes[name] = item.attributes[name] }
    return attributes
}

/// Returns the attributes of a key.
///
/// For a key from a keychain these are its item's, except class, hash, type and size. What the token reports overrides
/// the table in `usages(of:_:)`.
func attributes(of key: SecKey) -> ItemAttributes {
    var found = attributes(broughtBy: key)
    guard let item = key.item, item.itemClass == .key else { return found }
    found.merge(item.attributes)
    // The key itself knows these attributes; an item that was made of bytes may have others.
    found.merge(searchAttributes(of: key))
    found[.effectiveKeySize] = found[.keySizeInBits]
    return found
}

/// Returns the usages of a key by type and half, and the other attributes that follow from its half.
func usages(of algorithm: KeyAlgorithm, _ half: KeyClass) -> ItemAttributes {
    let isPrivate = half == .private
    let isRSA = if case .rsa = algorithm { true } else { false }
    let isEC = if case .ec = algorithm { true } else { false }
    let truths: [(AttributeName, Bool)] = [
        (.isPermanent, true),
        // True for both halves, as with Apple.
        (.isPrivate, true),
        (.isModifiable, true),
        (.canEncrypt, !isPrivate && (isRSA || isEC)),
        // The public half of RSA can undo a signature, which Apple counts as decryption.
        (.canDecrypt, isRSA || isPrivate && isEC),
        (.canDerive, isPrivate && isEC), (.canSign, isPrivate), (.canVerify, !isPrivate),
        (.canSignRecover, false), (.canVerifyRecover, !isPrivate && isRSA),
        (.canWrap, !isPrivate && (isRSA || isEC)), (.canUnwrap, isPrivate && (isRSA || isEC)),
    ]
    var attributes = ItemAttributes()
    for (name, value) in truths { attributes[name] = value ? 1 : 0 }
    return attributes
}

/// Returns the attributes that identify a key: class, hash, type and size.
func searchAttributes(of key: SecKey) -> ItemAttributes {
    let publicKey = key.publicKey
    var attributes: ItemAttributes = [
        .keyClass: .number((key.isPrivate ? KeyClass.private : .public).rawValue),
        .applicationLabel: .data(publicKey.identifier),
        .keySizeInBits: .number(Int64(publicKey.size)),
    ]
    attributes[.type] = KeyAlgorithmType(publicKey.algorithm).map { .number($0.rawValue) }
    return attributes
}

/// Returns the attributes of a certificate, with the subject summary as the label.
func attributes(of certificate: SecCertificate) -> ItemAttributes {
    CertificateItem(certificate.certificate).attributes
}

/// Returns the attributes that identify a certificate: all of its own except the label.
func searchAttributes(of certificate: SecCertificate) -> ItemAttributes {
    var found = attributes(of: certificate)
    found[.label] = nil
    return found
}

extension KeyAlgorithmType {
    /// Apple's number for the type of a key; `nil` if it has none.
    init?(_ algorithm: KeyAlgorithm) {
        switch algorithm {
        case .rsa: self = .rsa
        case .ec: self = .ec
        case .ed25519: self = .ed25519
        case .other: return nil
        }
    }
}

extension SecKey {
    var isRSA: Bool { if case .rsa = publicKey.algorithm { true } else { false } }
    var isEC: Bool { if case .ec = publicKey.algorithm { true } else { false } }
}
