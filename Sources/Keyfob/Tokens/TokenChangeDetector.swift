import Foundation
import OpenSSL

/// Tells whether any object of a token has changed since a moment.
///
/// What makes the index of objects trustworthy: other tools write to tokens too. Implementations must
/// notice every creation, change and removal by any process.
protocol TokenChangeDetector: Sendable {
    /// The state of the token's objects, or `nil` where it cannot be told just now.
    func snapshot() -> TokenSnapshot?
}

extension TokenChangeDetector {
    /// A digest of the token's state.
    func stamp() -> Data? { snapshot()?.stamp }
}

/// The state of a token's objects: a name and a version for each.
struct TokenSnapshot: Sendable, Hashable {
    /// The version of every object, by a name that is stable while the object lives.
    var versions: [String: Data]

    /// A digest of the whole state.
    var stamp: Data {
        var message = Data()
        for name in versions.keys.sorted() {
            message.append(contentsOf: name.utf8)
            message.append(0)
            message.append(versions[name] ?? Data())
        }
        return Digest.sha256(message)
    }

    /// How many objects were added, changed and removed between two states.
    func difference(to later: TokenSnapshot) -> (added: Int, changed: Int, removed: Int) {
        var added = 0
        var changed = 0
        for (name, version) in later.versions {
            guard let before = versions[name] else {
                added += 1
                continue
            }
            if before != version { changed += 1 }
        }
        let removed = versions.keys.reduce(0) { later.versions[$1] == nil ? $0 + 1 : $0 }
        return (added, changed, removed)
    }
}
