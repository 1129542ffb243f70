import Foundation
import KeyfobPrimitives
package import PKCS11

/// Detects changes to a token's objects from the metadata of SoftHSM's files, and flushes them to the disk.
///
/// The index of objects relies on it, because other tools write to tokens too.
///
/// SoftHSM writes an object's file on every creation and change, and removes it with the object. So size, inode and
/// times of the files reveal each change, at the cost of one `fstatat` for each file: 90 µs for 30 files, twice the
/// time of an EC signature. A later question costs 1 µs, and one `lstat` for each file that inotify reports as touched.
package final class SoftHSMChangeDetector: Sendable {
    private let directory: SoftHSMDirectory
    private let serial: String
    private let label: String
    /// The token, once it was found. Its directory never changes its name.
    private let found = Lock<SoftHSMToken?>(nil)
    private let last = Lock(Last())

    private struct Last {
        var isSecond = false
        var watch: DirectoryWatch?
        var snapshot: TokenSnapshot?
    }

    package init(directory: SoftHSMDirectory, uri: PKCS11URI) {
        self.directory = directory
        serial = uri.serial ?? ""
        label = uri.token ?? ""
    }

    /// The state of the token's objects; `nil` if it cannot be determined right now.
    package func snapshot() -> TokenSnapshot? {
        guard let token = token() else { return nil }
        return last.withLock { last in
            if let snapshot = last.snapshot, case .names(let names)? = last.watch?.changes() {
                last.snapshot = snapshot.replacing(ObjectListing.states(of: names, of: token))
                return last.snapshot
            }
            // Most commands ask only once, so the watch starts with the second question. It starts before the files are
            // read, so that changes in between are reported.
            last.watch = last.isSecond ? DirectoryWatch(token.directory.filePath) : nil
            last.isSecond = true
            let snapshot = ObjectListing.snapshot(of: token)
            last.snapshot = snapshot
            return snapshot
        }
    }

    /// Starts to watch the token; `nil` if changes by other processes cannot be noticed at once.
    package func watch() -> DirectoryWatch? { token().flatMap { DirectoryWatch($0.directory.filePath) } }

    /// Waits until all changes to the objects are on the disk.
    ///
    /// Call this before writing anything that depends on them, such as the row of a new object, and before deleting
    /// what is needed to undo them.
    ///
    /// - Throws: `KeychainError`; `fileUnavailable` if the disk fails.
    package func makeDurable() throws { try directory.makeDurable(awaitToken()) }

    /// The token. Waits for a login that is rewriting its file, since the objects must be flushed nevertheless.
    private func awaitToken() throws -> SoftHSMToken {
        if let token = token() { return token }
        if case .whole(let token) = try directory.awaitToken(serial: serial, label: label) { return token }
        throw KeychainError(
            .tokenAbsent, "token \"\(label)\" was not found again: what was done to it may not be on the disk.",
            hint: "Try again.", details: ["token": label])
    }

    private func token() -> SoftHSMToken? {
        if let token = found.withLock({ $0 }) { return token }
        // If the token's files cannot be read, the state is unknown and the index is not used.
        guard let token = directory.knownToken(serial: serial, label: label)
            ?? (try? directory.token(serial: serial, label: label)) ?? nil
        else { return nil }
        found.withLock { $0 = token }
        return token
    }
}
