import Foundation
import KeyfobPrimitives
import PKCS11

/// The note of a removal: what becomes of the configuration while the rest is removed.
extension Keychains {
    static let noteSuffix = ".removing"
    static let tokenlessSuffix = ".removing-rest"

    /// What becomes of the configuration while the rest is removed: no listing takes it for a keychain.
    func note(_ name: String) -> URL {
        folder.appendingPathComponent(".\(name)\(Self.noteSuffix)", isDirectory: false)
    }

    /// What becomes of the note when the token is destroyed. Whoever finds the other one, and no token, does not know
    /// whether it is gone or out of sight. Both are made by a rename, for which there is room on a full disk.
    func tokenlessNote(_ name: String) -> URL {
        folder.appendingPathComponent(".\(name)\(Self.tokenlessSuffix)", isDirectory: false)
    }

    /// The configuration in a note; `nil` where there is no note, and for what is no configuration any more, which says
    /// nothing about anything.
    ///
    /// - Throws: `KeychainError` where the note cannot be read.
    private func noted(in place: URL) throws -> KeychainConfiguration? {
        guard let bytes = try PrivateFile.read(place, limit: 1 << 20) else { return nil }
        return KeychainConfiguration(json: bytes.copyBytes())?.moved(to: directories)
    }

    /// Whether the keychain of a note has its configuration again, as from a backup: nobody wants it removed any more.
    func isBack(_ noted: KeychainConfiguration, as name: String) -> Bool {
        // One that cannot be read is none, or is spared by who asks.
        (try? configuration(name))?.uuid == noted.uuid
    }

    /// Refuses to remove the rest of a keychain whose token was destroyed and is there again: somebody has put it back,
    /// and the rest is all that opens it.
    ///
    /// - Parameters:
    ///   - withoutToken: Whether the rest goes also where nobody can tell whether the token is there.
    ///   - deadline: As for `ownToken(of:until:)`.
    /// - Throws: `KeychainError` with code `refused`; as `ownToken(of:until:)`.
    func requireTokenGone(_ name: String, withoutToken: Bool, until deadline: Deadline) throws {
        guard let configuration = try noted(in: tokenlessNote(name)), configuration.module == .softHSM,
            // One that names no token has left nothing of it.
            let uri = try? PKCS11URI(configuration.token), uri.serial != nil, uri.token != nil,
            !isBack(configuration, as: name)
        else { return }
        switch try ownToken(of: configuration, until: deadline) {
        case .absent: return
        case .unclear where withoutToken: return
        case .unclear(let directories): throw tokenUnclear(configuration, directories)
        case .present: break
        }
        let place = tokenlessNote(name)
        throw KeychainError(
            .refused,
            "the token of keychain \"\(name)\" is there again since a removal of the keychain was stopped; nothing was "
                + "removed.",
            hint: Self.isMissing(file(name).filePath)
                ? "Have the keychain back, and remove it then if it is to go: \(wayBack(from: place, name))"
                : "What opens that token is in a file: move it away, and keep it: \(place.filePath)",
            details: ["keychain": name, "path": place.filePath])
    }

    /// What to do about a keychain whose removal has not come to its end; `nil` where there is none.
    ///
    /// - Parameter files: What lies in the directory of configurations.
    func remedyOfStoppedRemoval(of name: String, among files: [String]) -> String? {
        let places = [note(name), tokenlessNote(name)]
        guard let place = places.first(where: { files.contains($0.lastPathComponent) }) else { return nil }
        let removal = "Remove the rest: keyfob keychain rm \(ShellWord.operand(name))"
        // What cannot be read now is for who removes it to tell.
        guard let configuration = try? noted(in: place), configuration.module == .softHSM,
            let uri = try? PKCS11URI(configuration.token), let serial = uri.serial, let label = uri.token,
            (try? softHSM.token(serial: serial, label: label)) != nil
        else { return removal }
        let returning = "Its token is there; have it back: \(wayBack(from: place, name))"
        // Of one that was destroyed, and put back, a removal is refused.
        return place == tokenlessNote(name) ? returning : returning + "     " + removal
    }

    /// The command that makes a note a configuration again.
    private func wayBack(from place: URL, _ name: String) -> String {
        "mv -n \(ShellWord.quoted(place.filePath)) \(ShellWord.quoted(file(name).filePath))"
    }
}
