import Foundation
import KeyfobPrimitives
import OpenSSL

/// Small files of the user's beside a keychain, one for each name of an identity.
///
/// Names are longer than names of files may be, and have slashes.
struct FilesByName: Sendable {
    private let directory: URL

    /// Those of a kind that belong to a keychain. Nothing is read or made yet.
    init(_ kind: String, keychain: UUID, _ directories: Directories) {
        directory = directories.state.appendingPathComponent(kind, isDirectory: true)
            .appendingPathComponent(keychain.uuidString.lowercased(), isDirectory: true)
    }

    /// What the file of a name holds; `nil` where there is none.
    ///
    /// - Throws: `unsafeFile`, `fileDamaged` and `fileUnavailable` as `PrivateFile` does.
    func read(_ name: String) throws(KeychainError) -> SecretBytes? {
        try PrivateFile.read(file(name), limit: 1 << 16)
    }

    /// Writes the file of a name, so that it survives a kill and a power cut from here on. - Throws: As `read`.
    func write(_ content: SecretBytes, for name: String) throws(KeychainError) {
        try PrivateFile.createDirectory(directory)
        try PrivateFile.write(content, to: file(name))
    }

    /// Removes the file of a name. - Throws: As `read`.
    func remove(_ name: String) throws(KeychainError) { try PrivateFile.remove(file(name)) }

    /// The path of a name's file, in a directory that is made where it is missing. - Throws: As `read`.
    func path(of name: String) throws(KeychainError) -> String {
        try PrivateFile.createDirectory(directory)
        return file(name).filePath
    }

    /// Removes all, with the directory. - Throws: As `read`.
    func removeAll() throws(KeychainError) {
        guard unsafe access(directory.filePath, F_OK) == 0 else { return }
        do { try FileManager.default.removeItem(at: directory) } catch {
            throw KeychainError(
                .fileUnavailable, "cannot remove \(directory.filePath).", details: ["path": directory.filePath],
                cause: error)
        }
    }

    private func file(_ name: String) -> URL {
        directory.appendingPathComponent(Digest.sha256(Data(name.utf8)).hexadecimal, isDirectory: false)
    }
}
