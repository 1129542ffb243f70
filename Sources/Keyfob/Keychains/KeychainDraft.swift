import Foundation
import Glibc
import KeyfobPrimitives
import PKCS11

/// A keychain while it is being made, so that what a kill leaves of it can be told from what somebody needs.
///
/// A note beside the configurations, written before the token is made. The configuration takes its place by a
/// rename: there is either a keychain, or a note that says what belongs to none.
struct KeychainDraft {
    /// What the note says. A `Replacement` that was written over it and not renamed can be read as one.
    private struct Note: Codable {
        var uuid: UUID
        /// The tokens that were there before.
        var before: [String]?
        /// The token's URI, where it is known.
        var token: String?
        /// `CKA_ID`s, in base64, of keys that were to seal the keychain, on a token that Keyfob did not make.
        var wrappingKeys: [Data]?
    }

    /// The configuration that is written over the note. A kill may come before the rename: until then it says of keys
    /// what the note said. Whoever reads a configuration passes that over.
    struct Replacement: Encodable {
        let configuration: KeychainConfiguration
        let wrappingKeys: [Data]?

        private enum CodingKeys: String, CodingKey {
            case wrappingKeys
        }

        func encode(to encoder: any Encoder) throws {
            try configuration.encode(to: encoder)
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encodeIfPresent(wrappingKeys, forKey: .wrappingKeys)
        }
    }

    /// Keys on a token of somebody else's that were to seal the keychain, and seal nothing.
    struct LeftKeys {
        /// The token's URI.
        let token: String
        /// `CKA_ID`s.
        let ids: [Data]
    }

    /// What the name of a note ends with.
    static let suffix = ".creating"

    private let name: String
    private let directories: Directories
    private let softHSM: SoftHSMDirectory

    init(_ name: String, in directories: Directories) {
        self.name = name
        self.directories = directories
        softHSM = SoftHSMDirectory(directories: directories)
    }

    private var folder: URL { directories.configuration.appendingPathComponent("keychains", isDirectory: true) }

    /// Where the note lies, and for an instant the finished configuration.
    var file: URL { folder.appendingPathComponent(".\(name)\(Self.suffix)", isDirectory: false) }

    /// Notes that the keychain is being made. Call it with the lock of all creations held.
    ///
    /// - Parameter left: The keys of an earlier attempt, which are noted again.
    /// - Throws: `KeychainError`.
    func begin(_ uuid: UUID, _ left: LeftKeys?) throws {
        let before = try softHSM.tokens().map(\.directory.lastPathComponent)
        try PrivateFile.createDirectory(folder)
        let note = Note(uuid: uuid, before: before, token: left?.token, wrappingKeys: left?.ids)
        try PrivateFile.write(.init(JSONEncoder().encode(note)), to: file)
    }

    /// Notes that keys which are to seal the keychain may be on a token from now on. Call it before they are made:
    /// nobody else knows what has made them.
    ///
    /// - Throws: `KeychainError`.
    func note(_ keys: LeftKeys, of uuid: UUID) throws {
        // On such a token no token of ours was made: without the list of those before, none is taken for one.
        let note = Note(uuid: uuid, before: nil, token: keys.token, wrappingKeys: keys.ids)
        try PrivateFile.write(.init(JSONEncoder().encode(note)), to: file)
    }

    /// The keys that an earlier attempt may have left on a token; `nil` where there are none.
    ///
    /// - Throws: `KeychainError` where the note cannot be read.
    func leftKeys() throws -> LeftKeys? {
        // What is no note says nothing.
        guard let bytes = try PrivateFile.read(file, limit: 1 << 20),
            let note = try? JSONDecoder().decode(Note.self, from: bytes.copyData()),
            let token = note.token, let ids = note.wrappingKeys, !ids.isEmpty
        else { return nil }
        return LeftKeys(token: token, ids: ids)
    }

    /// Gives the configuration, which lies in `file`, its name: from now on there is a keychain.
    ///
    /// - Throws: `KeychainError`.
    func finish() throws {
        let target = folder.appendingPathComponent(name + ".json", isDirectory: false)
        guard unsafe rename(file.path, target.path) == 0 else { throw KeychainError.file("write", target.path, errno) }
        try PrivateFile.synchronizeDirectory(folder)
    }

    /// Removes what a kill has left of an earlier attempt: token, PIN, vault and note.
    ///
    /// Call it with the lock of all creations held, and only where no keychain has the name. A token that another
    /// keychain names stays, and so does one on which there is more than a wrapping key.
    ///
    /// Keys on a token of somebody else's stay: nobody has its PIN here. See `leftKeys()`.
    ///
    /// - Parameters:
    ///   - others: The keychains that there are.
    ///   - deadline: Until when to wait for another process that works on SoftHSM's tokens.
    ///   - keepsKeys: Whether a note of keys on a token of somebody else's stays, for who has the PIN some day.
    /// - Throws: `KeychainError`.
    func clear(
        besides others: [KeychainConfiguration], until deadline: Deadline, keepingKeys keepsKeys: Bool = false
    ) throws {
        guard let bytes = try PrivateFile.read(file, limit: 1 << 20) else { return }
        // What cannot be read says nothing about anything, and nothing is removed for it.
        if let note = try? JSONDecoder().decode(Note.self, from: bytes.copyData()) {
            let taken = Set(others.compactMap { try? PKCS11URI($0.token).serial })
            let known = note.token.flatMap { try? PKCS11URI($0).serial }
            // A token whose file the kill has emptied would come back later.
            let unusable = try softHSM.heal(deadline: deadline).unusable
            for token in try softHSM.tokens() where token.label == name && !taken.contains(token.serial) {
                let isOurs = note.before.map { !$0.contains(token.directory.lastPathComponent) }
                    ?? (token.serial == known)
                guard isOurs, try ObjectListing(of: token).files.count <= 1 else { continue }
                try softHSM.destroyToken(serial: token.serial, label: token.label, deadline: deadline)
            }
            // A token that was being made when the kill came has no PINs yet, and nothing on it.
            for identifier in unusable where note.before.map({ !$0.contains(identifier) }) ?? false {
                try softHSM.removeUnusableToken(identifier, deadline: deadline)
            }
            let uuid = note.uuid.uuidString.lowercased()
            if !others.contains(where: { $0.uuid == note.uuid }) {
                let vaults = directories.data.appendingPathComponent("vaults", isDirectory: true)
                // In its order, which keeps its log as long as it is there itself.
                try SQLiteStore.remove(
                    path: vaults.appendingPathComponent(uuid + ".sqlite", isDirectory: false).filePath)
                // By the beginning of their names: a kill may have come while one was being written.
                for folder in ["pins", "vaults"] {
                    let folder = directories.data.appendingPathComponent(folder, isDirectory: true)
                    guard FileManager.default.fileExists(atPath: folder.filePath) else { continue }
                    for name in try FileManager.default.contentsOfDirectory(atPath: folder.filePath)
                    where name.hasPrefix(uuid + ".") {
                        try PrivateFile.remove(folder.appendingPathComponent(name, isDirectory: false))
                    }
                }
            }
        }
        guard try !keepsKeys || leftKeys() == nil else { return }
        try PrivateFile.remove(file)
    }
}
