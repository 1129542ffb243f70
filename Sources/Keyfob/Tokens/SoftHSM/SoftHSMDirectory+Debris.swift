import CLinux
import Foundation
import KeyfobPrimitives

/// Files that kills leave in SoftHSM's token directories.
///
/// A process that is killed while SoftHSM makes or destroys an object leaves an object file without a byte, or the
/// lock file of an object that is gone. No program reads them, and nothing else removes them. What is younger than
/// an hour may belong to a process that is at it right now: SoftHSM empties a file before it writes it, which makes
/// the file young again.
extension SoftHSMDirectory {
    private static let minimumAge = 3600

    /// Made by each sweep: its age tells when the last one was.
    var sweepMark: URL { root.appendingPathComponent("debris.swept", isDirectory: false) }

    /// Whether the last sweep was an hour ago or longer, in a directory that is ours. Costs one stat(2) if it was not.
    private func isSweepDue() -> Bool {
        if let mark = Self.status(sweepMark.path), Self.age(mark) < Self.minimumAge { return false }
        return isOurs
    }

    /// Removes the debris of every token if that is due, and waits for nobody.
    func sweep() {
        guard isSweepDue() else { return }
        do throws(KeychainError) {
            try FileLock.holding(lockFile, deadline: .after(.zero)) { () throws(KeychainError) in try sweepLocked() }
        } catch {
            // Somebody holds the lock, or files cannot be written: nobody needs the sweep, and the next one comes.
            return
        }
    }

    /// A file that cannot be removed stays.
    private func sweepLocked() throws(KeychainError) {
        // Another process may have swept while this one waited for the lock.
        guard isSweepDue() else { return }
        for identifier in try identifiers() {
            try removeObjectDebris(in: tokensDirectory.appendingPathComponent(identifier, isDirectory: true))
        }
        try PrivateFile.write(SecretBytes(utf8: ""), to: sweepMark)
    }

    /// Whether SoftHSM is configured here by `prepare()`: a directory that only looks like ours is left alone.
    private var isOurs: Bool {
        do throws(KeychainError) {
            let lines = try existingConfiguration().split(separator: "\n")
            return lines.first?.hasPrefix(Self.signature) == true && lines.contains(Substring(configurationLine))
        } catch {
            return false
        }
    }

    /// Removes empty `*.object` files but `token.object`, and `*.lock` files without their object.
    private func removeObjectDebris(in directory: URL) throws(KeychainError) {
        var objects: Set<String> = []
        var locks: [String] = []
        for name in try Self.names(in: directory) {
            let stem = String(name.prefix { $0 != "." })
            // SoftHSM names objects by UUIDs; `token.object` and `token.lock` are the token's own.
            guard UUID(uuidString: stem) != nil else { continue }
            let path = directory.appendingPathComponent(name, isDirectory: false).path
            if name == stem + ".lock" {
                locks.append(stem)
            } else if name == stem + ".object" {
                if Self.isDebris(path, mustBeEmpty: true), unsafe unlink(path) == 0 { continue }
                objects.insert(stem)
            }
        }
        for stem in locks where !objects.contains(stem) {
            let path = directory.appendingPathComponent(stem + ".lock", isDirectory: false).path
            if Self.isDebris(path, mustBeEmpty: false) { unsafe unlink(path) }
        }
    }

    private static func isDebris(_ path: String, mustBeEmpty: Bool) -> Bool {
        guard let status = status(path), status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            return false
        }
        return age(status) >= minimumAge && (!mustBeEmpty || status.st_size == 0)
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    /// Seconds since the content was changed. A time in the future counts as now.
    private static func age(_ status: stat) -> Int { time(nil) - status.st_mtim.tv_sec }
}
