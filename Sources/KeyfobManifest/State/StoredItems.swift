package import Foundation
package import Keyfob
package import KeyfobOpenSSL

/// A stored password.
package struct StoredPassword: Sendable {
    package let item: Item
    /// Whether the value equals that of the source; `nil` if they were not compared.
    package var isSame: Bool?

    package init(_ item: Item, isSame: Bool? = nil) {
        self.item = item
        self.isSame = isSame
    }
}

/// A stored private or secret key.
package struct StoredKey: Sendable {
    package let item: KeyItem
    /// The kind of key in the words of `KeySpecification`.
    package let kind: String
    /// Whether it is the key of an identity, or of an older version of one.
    let hasCertificate: Bool

    package init(_ item: KeyItem, kind: String, hasCertificate: Bool = false) {
        self.item = item
        self.kind = kind
        self.hasCertificate = hasCertificate
    }

    /// Whether the key is as an entry describes it.
    func isAs(_ entry: KeyEntry) -> Bool {
        kind == entry.specification.description && item.isExtractable == entry.isExtractable
    }

    /// The kind of a key, from its attributes.
    package static func kind(of item: KeyItem) -> String {
        let bits = item.sizeInBits ?? 0
        return switch item.keyType {
        case .rsa?: KeySpecification.rsa(bits: bits).description
        case .aes?: KeySpecification.aes(bits: bits).description
        case .ed25519?: KeySpecification.ed25519.description
        case .ec? where bits == 384: KeySpecification.p384.description
        case .ec? where bits == 521: KeySpecification.p521.description
        case .ec?: KeySpecification.p256.description
        default: "a key of another kind"
        }
    }
}

/// The version of an identity that is in use.
package struct StoredIdentity: Sendable {
    package let item: Identity
    package let certificate: Certificate
    package let policy: RenewalPolicy?
    /// When a renewal is due.
    package let renewalDate: Date

    package init(_ item: Identity, certificate: Certificate, policy: RenewalPolicy?, renewalDate: Date) {
        self.item = item
        self.certificate = certificate
        self.policy = policy
        self.renewalDate = renewalDate
    }
}

/// A stored certificate.
package struct StoredCertificate: Sendable {
    package let item: CertificateItem
    package let certificate: Certificate
    /// The usages for which it is trusted; empty if it is not.
    package let usages: [CertificateUsage]
    package var name: String? { item.label }

    package init(_ item: CertificateItem, certificate: Certificate, usages: [CertificateUsage]) {
        self.item = item
        self.certificate = certificate
        self.usages = usages
    }
}

/// The state of a file that a manifest describes.
package enum FileState: Sendable, Equatable {
    case missing
    /// The members of the description from which the file differs.
    case present(differing: [String])
}
