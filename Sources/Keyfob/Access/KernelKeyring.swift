import CLinux
import Foundation
import KeyfobPrimitives

/// Secrets in the kernel's user keyring, whose memory is never swapped or written to a file (keyrings(7)).
enum KernelKeyring {
    /// KEY_SPEC_USER_KEYRING, which all sessions of the user share, unlike the session keyring.
    private static let userKeyring: Int32 = -4

    /// All permissions for the possessor and the user id, none for group and others. The user's bits are for processes
    /// whose session does not link the user keyring (sudo, cron, a systemd unit); without them such a process could not
    /// read its user's key.
    private static let permissions: UInt32 = 0x3F3F_0000

    /// Stores `payload` for `seconds` (0 for ever); false if the kernel does not allow it.
    static func store(_ payload: SecretBytes, as description: String, seconds: UInt32) -> Bool {
        let key = unsafe payload.withUnsafeBytes { bytes in
            unsafe keyfob_add_key("user", description, bytes.baseAddress, bytes.count, userKeyring)
        }
        guard key > 0 else { return false }
        // Read the key back as another process would: in some containers the keyring accepts keys but does not return
        // them.
        guard keyfob_keyctl_setperm(key, permissions) == 0, keyfob_keyctl_set_timeout(key, seconds) == 0,
            case .found(let stored) = load(description), stored == payload
        else {
            _ = keyfob_keyctl_invalidate(key)
            return false
        }
        return true
    }

    /// The result of a search.
    enum Answer {
        case found(SecretBytes)
        case absent
        /// The kernel denies access to the keyring.
        case forbidden
    }

    /// The payload stored as `description`.
    static func load(_ description: String) -> Answer {
        let key = unsafe keyfob_keyctl_search(userKeyring, "user", description)
        guard key > 0 else { return absence(errno) }
        var received = 0
        let buffer = unsafe SecretBytes(count: UnlockedState.maximumLength + 64) { buffer in
            received = unsafe keyfob_keyctl_read(key, buffer.baseAddress, buffer.count)
        }
        guard received >= 0 else { return absence(errno) }
        // The kernel returns the payload's length even if the buffer is too small.
        guard received <= buffer.count else { return .absent }
        return .found(buffer.prefix(received))
    }

    /// Removes the payload immediately; true if there was one.
    static func remove(_ description: String) -> Bool {
        let key = unsafe keyfob_keyctl_search(userKeyring, "user", description)
        guard key > 0 else { return false }
        return keyfob_keyctl_invalidate(key) == 0
    }

    /// Removes the payload if it is still the given one, since another process may have replaced it.
    static func remove(_ description: String, ifStill payload: SecretBytes) {
        // The kernel cannot compare and remove atomically; the remaining race is short.
        guard case .found(let stored) = load(description), stored == payload else { return }
        _ = remove(description)
    }

    private static func absence(_ number: Int32) -> Answer {
        [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(number) ? .absent : .forbidden
    }
}
