import Foundation
import Testing

/// A note of a keychain that is being made, as it lies there when the command has been killed.
enum DraftNote {
    /// What has become of the file that tells such a note from one out of a backup.
    enum Witness: CaseIterable {
        /// It is the one that was made for the note.
        case original
        /// It came out of the backup with the note.
        case restored
        /// It went with the note when the keychain was made.
        case missing
    }

    /// Leaves a note, and its witness.
    ///
    /// - Parameters:
    ///   - uuid: The keychain's.
    ///   - members: What the note says besides.
    ///   - home: The home directory with the list of keychains.
    ///   - data: Where vaults and tokens are.
    static func leave(
        _ name: String, uuid: String, _ members: [String: Any], witness: Witness = .original, home: String,
        data: String
    ) throws {
        let (vaults, folder) = (data + "/vaults", home + "/.config/keyfob/keychains")
        for path in [vaults, folder] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let file = vaults + "/" + uuid.lowercased() + ".sqlite.draft"
        func create(_ path: String, _ contents: Data) throws {
            let isMade = FileManager.default.createFile(
                atPath: path, contents: contents, attributes: [.posixPermissions: 0o600])
            try #require(isMade, "\(path)")
        }
        try create(file, Data())
        // The time of the last change, which no program can set.
        let told = try Tool("/usr/bin/env", ["stat", "-c", "%Z", file]).run()
        let time = try #require(Int(told.output.trimmingCharacters(in: .newlines)), "\(told.error)")
        if witness == .missing { try FileManager.default.removeItem(atPath: file) }
        var note = members
        note["uuid"] = uuid
        note["witness"] = witness == .restored ? time - 100 : time
        try create(folder + "/.\(name).creating", JSONSerialization.data(withJSONObject: note))
    }
}
