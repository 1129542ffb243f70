import Foundation

/// When an item may be read, and which authentication that requires; `SecAccessControlRef`.
///
/// Two are equal if protection and flags are equal. Any thread may use one at any time.
// Immutable after `init` and made of Sendable members. Unchecked because the superclass does not declare it.
public final class SecAccessControl: NSObject, @unchecked Sendable {
    /// One of the values of `kSecAttrAccessible`.
    let protection: String
    let flags: SecAccessControlCreateFlags

    init(protection: String, flags: SecAccessControlCreateFlags) {
        self.protection = protection
        self.flags = flags
    }

    /// Whether protection and flags are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecAccessControl else { return false }
        return other.protection == protection && other.flags == flags
    }

    /// A hash of protection and flags.
    public override var hash: Int { protection.hashValue ^ flags.rawValue.hashValue }
}
