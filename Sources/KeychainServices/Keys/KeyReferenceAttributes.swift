import Foundation
import Keyfob
import OpenSSL

/// The attributes that a key brings into an item when it is added by reference (apple-secitem 1.7).
///
/// Of the item that it came from these are the token it is on and the access control alone: they are the key's, and
/// another item of it must not be a way around them.
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

/// The attributes that a key has: those of its item where it came from a keychain, but for half, hash, type and size.
/// What the token says of it wins over the table.
func attributes(of key: SecKey) -> ItemAttributes {
    var found = attributes(broughtBy: key)
    guard let item = key.item, item.itemClass == .key else { return found }
    found.merge(item.attributes)
    // What it is, the key itself says: an item that was made of bytes knows it of nobody.
    found.merge(searchAttributes(of: key))
    found[.effectiveKeySize] = found[.keySizeInBits]
    return found
}

/// What a key of a kind can do, and what else its half tells of it (apple-secitem 1.7).
func usages(of algorithm: KeyAlgorithm, _ half: KeyClass) -> ItemAttributes {
    let isPrivate = half == .private
    let isRSA = if case .rsa = algorithm { true } else { false }
    let isEC = if case .ec = algorithm { true } else { false }
    let truths: [(AttributeName, Bool)] = [
        (.isPermanent, true),
        // True of both halves, as Apple's is.
        (.isPrivate, true),
        (.isModifiable, true),
        (.canEncrypt, !isPrivate && (isRSA || isEC)),
        // Whoever has the public half of RSA can undo a signature, and Apple calls that decryption.
        (.canDecrypt, isRSA || isPrivate && isEC),
        (.canDerive, isPrivate && isEC), (.canSign, isPrivate), (.canVerify, !isPrivate),
        (.canSignRecover, false), (.canVerifyRecover, !isPrivate && isRSA),
        (.canWrap, !isPrivate && (isRSA || isEC)), (.canUnwrap, isPrivate && (isRSA || isEC)),
    ]
    var attributes = ItemAttributes()
    for (name, value) in truths { attributes[name] = value ? 1 : 0 }
    return attributes
}

/// The attributes by which a key is found again: half, hash, type and size; what it can do does not count.
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

/// The attributes that a certificate brings with it (apple-secitem 1.6), the subject's summary as its label.
func attributes(of certificate: SecCertificate) -> ItemAttributes {
    CertificateItem(certificate.certificate).attributes
}

extension KeyAlgorithmType {
    /// Apple's number for the kind of a key; `nil` where it has none.
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
