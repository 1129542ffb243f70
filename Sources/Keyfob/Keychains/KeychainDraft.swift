import Foundation
import Glibc
import KeyfobPrimitives
import PKCS11

/// A keychain while it is being made, so that what a kill leaves of it can be told from what somebody needs.
///
/// A note beside the configurations, written before the token is made. When the configuration has got its name, the
/// note goes: there is either a keychain, or a note that says what belongs to none.
///
/// A copy of the note may come back out of a backup when the keychain that was being made is long in use. So it has a
/// ``Witness`` beside the vaults, which goes with it.
struct KeychainDraft {
    /// What the note says.
    struct Note: Codable {
        var uuid: UUID
        /// The tokens that were there before.
        var before: [String]?
        /// The URI of the token that was made, where there is one: nothing is put on it before it is noted.
        var made: String?
        /// The URI of somebody else's token with `wrappingKeys`.
        var token: String?
        /// `CKA_ID`s, in base64, of keys that were to seal the keychain, on a token that Keyfob did not make.
        var wrappingKeys: [Data]?
        /// The time of the note's witness. A note without one counts for nothing.
        var witness: Int?
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

    let name: String
    let directories: Directories
    let softHSM: SoftHSMDirectory
    /// What was written last.
    private var written: Note?
    /// Whether `finish` has given the configuration its name.
    private var isNamed = false

    init(_ name: String, in directories: Directories) {
        self.name = name
        self.directories = directories
        softHSM = SoftHSMDirectory(directories: directories)
    }

    private var folder: URL { directories.configuration.appendingPathComponent("keychains", isDirectory: true) }

    /// Where the note lies.
    var file: URL { folder.appendingPathComponent(".\(name)\(Self.suffix)", isDirectory: false) }

    /// Where the finished configuration lies until it gets its name.
    var configuration: URL { folder.appendingPathComponent(".\(name)\(Self.suffix).json", isDirectory: false) }

    /// Where it lies from then on.
    private var target: URL { folder.appendingPathComponent(name + ".json", isDirectory: false) }

    /// Where the vault of a keychain lies that Keyfob makes.
    static func vault(of uuid: UUID, in directories: Directories) -> URL {
        directories.data.appendingPathComponent("vaults", isDirectory: true)
            .appendingPathComponent(uuid.uuidString.lowercased() + ".sqlite", isDirectory: false)
    }

    /// The witness of the note about a keychain; one that is there or not.
    func witness(of uuid: UUID) -> Witness { Witness(path: Self.vault(of: uuid, in: directories).filePath + ".draft") }

    /// Notes that the keychain is being made. Call it with the lock of all creations held, when there is a directory
    /// for vaults.
    ///
    /// - Parameter left: The keys of an earlier attempt, which are noted again.
    /// - Throws: `KeychainError`; it leaves nothing then, but for what was there before.
    mutating func begin(_ uuid: UUID, _ left: LeftKeys?) throws {
        let before = try softHSM.tokens().map(\.directory.lastPathComponent)
        try PrivateFile.createDirectory(folder)
        let earlier = try read()
        do {
            // Of a witness without a note nobody would know.
            if earlier == nil { try write(Note(uuid: uuid)) }
            let time = try witness(of: uuid).make()
            try write(
                Note(uuid: uuid, before: before, token: left?.token, wrappingKeys: left?.ids, witness: time))
        } catch {
            witness(of: uuid).remove()
            // The first error is the one to report. An earlier note says which keys are left.
            if earlier == nil { _ = try? PrivateFile.remove(file) }
            throw error
        }
        if let earlier { witness(of: earlier.uuid).remove() }
    }

    /// Notes which token was made for the keychain. Call it before anything is put on it, or its PIN anywhere.
    ///
    /// - Throws: `KeychainError`.
    mutating func note(token: PKCS11URI) throws {
        guard var note = written else { return }
        note.made = token.description
        try write(note)
    }

    /// Notes that keys which are to seal the keychain may be on a token from now on. Call it before they are made:
    /// nobody else knows what has made them.
    ///
    /// - Throws: `KeychainError`.
    mutating func note(_ keys: LeftKeys) throws {
        guard let written else { return }
        // On such a token no token of ours was made: without the list of those before, none is taken for one.
        try write(Note(uuid: written.uuid, token: keys.token, wrappingKeys: keys.ids, witness: written.witness))
    }

    private mutating func write(_ note: Note) throws {
        try PrivateFile.write(SecretBytes(JSONEncoder().encode(note)), to: file)
        written = note
    }

    /// Gives the configuration its name, which lies in `configuration`: from now on there is a keychain. `close()` is to
    /// follow.
    ///
    /// - Throws: `KeychainError`.
    mutating func finish() throws {
        guard unsafe rename(configuration.path, target.path) == 0 else {
            throw KeychainError.file("write", target.path, errno)
        }
        isNamed = true
        try PrivateFile.synchronizeDirectory(folder)
    }

    /// Takes away the name that `finish` has given, if it has, so that there is no keychain; whether there is none.
    ///
    /// Where there is one, all that belongs to it has to stay.
    func takeNameBack() -> Bool {
        guard isNamed else { return true }
        guard unsafe unlink(target.path) == 0 || errno == ENOENT else { return false }
        // Only a power cut brings the name back where this fails, as well it may: what failed before was the disk.
        try? PrivateFile.synchronizeDirectory(folder)
        return true
    }

    /// Removes the note when nothing of the keychain has to be undone any more.
    func close() {
        // There is a keychain, whatever becomes of the note: the next creation removes it.
        try? forget(written)
    }

    /// Removes the note of a keychain that was not made, of which nothing is left.
    ///
    /// - Throws: `KeychainError`.
    func abandon() throws {
        try PrivateFile.remove(configuration)
        try forget(written)
    }

    /// Removes the note, and its witness before it: a note without one counts for nothing, and is removed later; of a
    /// witness without a note nobody would know.
    func forget(_ note: Note?) throws {
        if let note { witness(of: note.uuid).remove() }
        try PrivateFile.remove(file)
    }

    /// The note; `nil` where there is none, and for what is no note, which says nothing about anything.
    ///
    /// - Throws: `KeychainError` where it cannot be read.
    func read() throws -> Note? {
        guard let bytes = try PrivateFile.read(file, limit: 1 << 20) else { return nil }
        // A note that cannot be read says nothing, and so takes nothing away.
        return try? JSONDecoder().decode(Note.self, from: bytes.copyData())
    }
}
