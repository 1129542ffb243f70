import Foundation
import KeyfobPrimitives
import PKCS11

/// Tells from the file system's data on SoftHSM's files whether any process changed an object of a token.
///
/// SoftHSM writes an object's file on every creation and change and removes it with the object. Size, inode and times
/// of the files therefore tell each change, at the cost of one `fstatat` for each file: 90 µs for 30 files, twice what
/// an EC signature takes. A later question costs 1 µs, and one `lstat` for each file that the kernel says was touched.
final class SoftHSMChangeDetector: TokenChangeDetector {
    private let directory: SoftHSMDirectory
    private let serial: String
    private let label: String
    /// Where the token lies, once it was found: its directory keeps its name for life.
    private let found = Lock<SoftHSMToken?>(nil)
    private let last = Lock(Last())

    private struct Last {
        var isSecond = false
        var watch: DirectoryWatch?
        var snapshot: TokenSnapshot?
    }

    init(directory: SoftHSMDirectory, uri: PKCS11URI) {
        self.directory = directory
        serial = uri.serial ?? ""
        label = uri.token ?? ""
    }

    func snapshot() -> TokenSnapshot? {
        guard let token = token() else { return nil }
        return last.withLock { last in
            if let snapshot = last.snapshot, case .names(let names)? = last.watch?.changes() {
                last.snapshot = snapshot.replacing(ObjectListing.states(of: names, of: token))
                return last.snapshot
            }
            // Commands mostly ask once. The watch comes before the look: what happens in between is told.
            last.watch = last.isSecond ? DirectoryWatch(token.directory.filePath) : nil
            last.isSecond = true
            let snapshot = ObjectListing.snapshot(of: token)
            last.snapshot = snapshot
            return snapshot
        }
    }

    func watch() -> (any TokenWatch)? { token().flatMap { DirectoryWatch($0.directory.filePath) } }

    func makeDurable(since before: TokenSnapshot?) throws { try directory.makeDurable(awaitToken()) }

    /// Where the token lies; not even a login that rewrites its file is a reason to leave its objects to chance.
    private func awaitToken() throws -> SoftHSMToken {
        if let token = token() { return token }
        if case .whole(let token) = try directory.awaitToken(serial: serial, label: label) { return token }
        throw KeychainError(
            .tokenAbsent, "token \"\(label)\" was not found again: what was done to it may not be on the disk.",
            hint: "Try again.", details: ["token": label])
    }

    private func token() -> SoftHSMToken? {
        if let token = found.withLock({ $0 }) { return token }
        // A token whose files cannot be read cannot tell; the index is then not used.
        guard let token = directory.knownToken(serial: serial, label: label)
            ?? (try? directory.token(serial: serial, label: label)) ?? nil
        else { return nil }
        found.withLock { $0 = token }
        return token
    }
}
