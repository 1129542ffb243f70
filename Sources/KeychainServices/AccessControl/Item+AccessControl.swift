import Foundation
import Keyfob

extension Item {
    /// The flags of the item's access control.
    var constraints: SecAccessControlCreateFlags {
        attributes[.accessControl]?.bytes.flatMap { SecAccessControl(stored: $0) }?.flags ?? []
    }

    /// Whether the access control requires an application password.
    var asksForPassword: Bool { constraints.contains(.applicationPassword) }

    /// Whether the access control requires user presence before the data is read or the key is used.
    var needsPresence: Bool {
        !constraints.isDisjoint(with: [.userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion])
    }
}
