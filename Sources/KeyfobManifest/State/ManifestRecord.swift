package import Foundation
package import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// The only facts about earlier applies that the keychain itself does not show.
///
/// Everything else is read from the keychain and the files, so an interrupted apply needs no other record. Without this
/// one, a program that was to run after a change would not run, since the change is there already, and nothing would
/// tell what an apply made from what the user made. If the record is lost, nothing is removed that should stay.
///
/// The vault does not show the names of its items, so the record has only digests of names and identities of items.
package struct ManifestRecord: Codable, Equatable, Sendable {
    /// The entries whose programs are to run: written before the changes that the programs follow.
    package var waiting: Set<Data> = []
    /// The secrets that an apply made, by the identities of their items. A secret that the user makes under the same
    /// name has another one.
    package var secrets: Set<Data> = []
    /// The certificates that an apply stored, by their SHA-256.
    package var certificates: Set<Data> = []
    /// The certificates that an apply trusted, by their SHA-256.
    package var trust: Set<Data> = []

    /// Whether an apply made a secret.
    func hasMade(_ item: Item) -> Bool { item.reference.map { secrets.contains($0.identity) } ?? false }

    private static let name = "applied"

    package init() {}

    /// Reads the record of a keychain; an empty one if there is none.
    ///
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable`.
    package init(of keychain: Keychain) throws(KeychainError) {
        guard let bytes = try Self.files(keychain).read(Self.name, limit: 1 << 26),
            // A damaged record counts as lost.
            let known = try? JSONDecoder().decode(ManifestRecord.self, from: bytes.copyData())
        else { return }
        self = known
    }

    /// Writes the record. When this returns, it survives a kill and a power failure. No other process may apply a
    /// manifest to the keychain.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`, `refused` or `diskFull`.
    package func write(for keychain: Keychain) throws(KeychainError) {
        // Text, numbers and digests always have a form in JSON.
        let data = try! JSONEncoder().encode(self)
        let files = Self.files(keychain)
        try files.removeUnfinished(Self.name)
        try files.write(SecretBytes(data), for: Self.name)
    }

    private static func files(_ keychain: Keychain) -> StateFiles {
        StateFiles(StateFiles.manifests, keychain: keychain.configuration.uuid, keychain.directories)
    }

    /// Runs `body` while no other process applies a manifest to the keychain, which need not exist yet.
    ///
    /// - Throws: `KeychainError` with code `vaultBusy` if another process still does so at the deadline; the errors of
    ///   `body`.
    package static func applying<Result>(
        to keychain: String, in directories: Directories, until deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let folder = directories.state.appendingPathComponent("applying", isDirectory: true)
        try PrivateFile.createDirectory(folder)
        let lock: FileLock
        do throws(KeychainError) {
            lock = try FileLock(
                folder.appendingPathComponent(keychain + ".lock", isDirectory: false), deadline: deadline)
        } catch {
            guard error.code == .timedOut else { throw error }
            let holder = error.details["holder"] ?? "another process"
            throw KeychainError(
                .vaultBusy, "another apply to keychain \"\(keychain)\" is under way, by \(holder).",
                remedies: [Remedy("Wait longer", .change(.timeout))], details: error.details)
        }
        lock.recordHolder()
        let result = Swift.Result { try body() }
        lock.release()
        return try result.get()
    }
}

