package import Keyfob
package import KeyfobOpenSSL

/// One entry of a plan.
package struct Change: Sendable {
    package enum Action: String, Sendable { case create, update, delete, none }

    package enum Kind: String, Sendable { case keychain, secret, key, identity, certificate, trust, file, helper }

    /// A member that differs.
    package struct Difference: Sendable, Equatable {
        package let member: String
        /// The value that is there; `nil` for none, or for one that is not shown.
        package let from: String?
        /// The value in the manifest.
        package let to: String?

        package init(_ member: String, from: String? = nil, to: String? = nil) {
            self.member = member
            self.from = from
            self.to = to
        }
    }

    /// What to do, with everything that it takes.
    package enum Operation: Sendable {
        case nothing
        case createKeychain
        case addSecret(SecretEntry)
        case updateSecret(SecretEntry, Item, replacesValue: Bool)
        case removeSecret(Item)
        /// Makes a key, and then destroys those that it replaces.
        case generateKey(KeyEntry, replacing: [KeyItem])
        /// Destroys keys whose replacement an interrupted apply has made.
        case removeKeys([KeyItem])
        case createIdentity(IdentityEntry)
        case renewIdentity(IdentityEntry, Identity, RenewalKey)
        case importIdentity(IdentityEntry, ImportedIdentity)
        case addCertificate(CertificateEntry)
        case removeCertificate(CertificateItem)
        case trust(TrustEntry)
        case trustForSystem(TrustEntry)
        case distrust(Certificate)
        case installHelper(HelperEntry)
        case writeSecret(OutputEntry, SecretEntry)
        case writeIdentity(OutputEntry, identity: String)
    }

    package let kind: Kind
    package let name: String
    /// The place of the entry; `nil` for an object that is no longer in the manifest.
    package let position: Position?
    package let action: Action
    package let differences: [Difference]
    /// A remark for people, such as the kind of a new key.
    package let note: String?
    package let operation: Operation
    /// The programs to run after the change.
    package let hooks: [HookEntry]
    /// The changes of the item whose value or key stays; made before the operation.
    let adjustment: Adjustment?

    /// Whether the change makes a new key for an identity.
    var makesKey: Bool {
        switch operation {
        case .createIdentity: true
        case .renewIdentity(_, _, let key): key != .same
        case .importIdentity: true
        default: false
        }
    }

    /// Whether the change makes a new certificate for an identity.
    var makesCertificate: Bool {
        switch operation {
        case .createIdentity, .renewIdentity, .importIdentity: true
        default: false
        }
    }

    package init(
        _ kind: Kind, _ name: String, at position: Position?, _ action: Action, _ differences: [Difference] = [],
        note: String? = nil, _ operation: Operation = .nothing, hooks: [HookEntry] = [],
        adjustment: Adjustment? = nil
    ) {
        self.kind = kind
        self.name = name
        self.position = position
        self.action = action
        self.differences = differences
        self.note = note
        self.operation = operation
        self.hooks = hooks
        self.adjustment = adjustment
    }
}
