import CLinux
import Foundation
import KeyfobPrimitives

/// Secrets in the kernel's user keyring: memory that is never swapped and never a file (keyrings(7)).
enum KernelKeyring {
    /// KEY_SPEC_USER_KEYRING: shared by all sessions of the user, which the session keyring is not.
    private static let userKeyring: Int32 = -4

    /// Everything for the possessor and for our user id, nothing for group and others. Without the
    /// user's bits a process whose session does not link the user keyring (sudo, cron, a systemd
    /// unit) could not read what it owns.
    private static let permissions: UInt32 = 0x3F3F_0000

    /// Keeps `payload` for `seconds` (0 for ever); false where the kernel does not let us.
    static func store(_ payload: SecretBytes, as description: String, seconds: UInt32) -> Bool {
        let key = unsafe payload.withUnsafeBytes { bytes in
            unsafe keyfob_add_key("user", description, bytes.baseAddress, bytes.count, userKeyring)
        }
        guard key > 0 else { return false }
        // Adding is believed only after the key was found and read as another process will: a keyring
        // that takes keys and does not show them exists in some containers.
        guard keyfob_keyctl_setperm(key, permissions) == 0, keyfob_keyctl_set_timeout(key, seconds) == 0,
            case .found(let stored) = load(description), stored == payload
        else {
            _ = keyfob_keyctl_invalidate(key)
            return false
        }
        return true
    }

    /// What a search found.
    enum Answer {
        case found(SecretBytes)
        case absent
        /// The kernel has no keyring for us.
        case forbidden
    }

    /// The payload kept as `description`.
    static func load(_ description: String) -> Answer {
        let key = unsafe keyfob_keyctl_search(userKeyring, "user", description)
        guard key > 0 else { return absence(errno) }
        var received = 0
        let buffer = unsafe SecretBytes(count: UnlockedState.maximumLength + 64) { buffer in
            received = unsafe keyfob_keyctl_read(key, buffer.baseAddress, buffer.count)
        }
        guard received >= 0 else { return absence(errno) }
        // The kernel returns the payload's length even where it did not fit.
        guard received <= buffer.count else { return .absent }
        return .found(buffer.prefix(received))
    }

    /// Removes the payload at once, whatever its timeout; true if there was one.
    static func remove(_ description: String) -> Bool {
        let key = unsafe keyfob_keyctl_search(userKeyring, "user", description)
        guard key > 0 else { return false }
        return keyfob_keyctl_invalidate(key) == 0
    }

    /// Removes the payload if it is still the given one: another process may have stored another since it was read.
    static func remove(_ description: String, ifStill payload: SecretBytes) {
        // The kernel cannot do both at once; what is left is an instant.
        guard case .found(let stored) = load(description), stored == payload else { return }
        _ = remove(description)
    }

    private static func absence(_ number: Int32) -> Answer {
        [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(number) ? .absent : .forbidden
    }
}
