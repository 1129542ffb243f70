import Foundation
package import Keyfob
import KeyfobOpenSSL

/// What has to be done so that a keychain holds what a manifest describes.
package struct Plan: Sendable {
    /// The entries of the manifest, in the order of the work; also those that need no change.
    package var changes: [Change] = []
    /// The programs to run after the changes, for each entry that needs them.
    package var dueHooks: [HookEntry] = []
    /// The entries that have no programs, so that none of them waits any more.
    var ownersWithoutHooks: Set<Data> = []

    /// The programs that run at the end, each once.
    package var hooks: [HookEntry] {
        dueHooks.reduce(into: []) { found, hook in
            if !found.contains(where: { $0.runsSame(as: hook) }) { found.append(hook) }
        }
    }

    package init() {}

    /// Whether nothing has to be done.
    package var isEmpty: Bool { dueHooks.isEmpty && changes.allSatisfy { $0.action == .none } }

    /// Whether keys are destroyed.
    package var destroyedKeys: [String] {
        changes.compactMap { change in
            switch change.operation {
            case .generateKey(_, let replaced) where !replaced.isEmpty: change.name
            case .removeKeys: change.name
            default: nil
            }
        }
    }

    /// The kinds of the keys that are made, also for identities.
    package var newKeys: [KeySpecification] {
        changes.compactMap { change in
            switch change.operation {
            case .generateKey(let entry, _): entry.specification
            case .createIdentity(let entry): entry.key
            case .renewIdentity(_, _, .new(let specification)): specification
            // Only whether the key is an Ed25519 key matters.
            case .importIdentity(_, let files): files.key.publicKey.algorithm == .ed25519 ? .ed25519 : .p256
            default: nil
            }
        }.filter { if case .aes = $0.kind { false } else { true } }
    }

    /// The number of changes of an action.
    package func count(of action: Change.Action) -> Int { changes.count { $0.action == action } }
}
