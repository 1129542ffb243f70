package import Keyfob
package import KeyfobOpenSSL

/// What has to be done so that a keychain holds what a manifest describes.
package struct Plan: Sendable {
    /// The entries of the manifest, in the order of the work; also those that need no change.
    package var changes: [Change] = []
    /// The programs that run at the end, each once.
    package var hooks: [HookEntry] = []

    package init() {}

    /// Whether nothing has to be done.
    package var isEmpty: Bool { hooks.isEmpty && changes.allSatisfy { $0.action == .none } }

    /// Whether keys are destroyed.
    package var destroyedKeys: [String] {
        changes.compactMap { change in
            if case .generateKey(_, replacing: .some) = change.operation { change.name } else { nil }
        }
    }

    /// The kinds of the keys that are made, also for identities.
    package var newKeys: [KeySpecification] {
        changes.compactMap { change in
            switch change.operation {
            case .generateKey(let entry, _): entry.specification
            case .createIdentity(let entry): entry.key
            case .renewIdentity(_, _, .new(let specification)): specification
            default: nil
            }
        }.filter { if case .aes = $0.kind { false } else { true } }
    }

    /// The number of changes of an action.
    package func count(of action: Change.Action) -> Int { changes.count { $0.action == action } }
}

/// One entry of a plan.
package struct Change: Sendable {
    package enum Action: String, Sendable { case create, update, delete, none }

    package enum Kind: String, Sendable { case keychain, secret, key, identity, certificate, trust, file }

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
        case generateKey(KeyEntry, replacing: KeyItem?)
        case createIdentity(IdentityEntry)
        case renewIdentity(IdentityEntry, Identity, RenewalKey)
        case addCertificate(CertificateEntry)
        case removeCertificate(CertificateItem)
        case trust(TrustEntry)
        case distrust(Certificate)
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

    /// Whether the change makes a new key for an identity.
    var makesKey: Bool {
        switch operation {
        case .createIdentity: true
        case .renewIdentity(_, _, let key): key != .same
        default: false
        }
    }

    package init(
        _ kind: Kind, _ name: String, at position: Position?, _ action: Action, _ differences: [Difference] = [],
        note: String? = nil, _ operation: Operation = .nothing, hooks: [HookEntry] = []
    ) {
        self.kind = kind
        self.name = name
        self.position = position
        self.action = action
        self.differences = differences
        self.note = note
        self.operation = operation
        self.hooks = hooks
    }
}
