import CLinux
import Foundation
import KeyfobPrimitives

/// Files that kills leave in SoftHSM's token directories.
///
/// A process that is killed while SoftHSM makes or destroys an object leaves an object file with nothing in it or with
/// defaults alone, or the lock file of an object that is gone. Nothing else removes them.
///
/// Who settles a change that was cut short removes what that change can have left at once; see
/// `removeUnfinishedObjects(of:since:)`. The rest goes once an hour. What is younger than an hour may then belong to a
/// process that is at it right now: SoftHSM empties a file before it writes it, which makes the file young again.
extension SoftHSMDirectory {
    private static let minimumAge = 3600

    /// The lengths of an object file without attributes: nothing was written yet, or the counter was.
    private static let emptyLengths: Set<Int> = [0, 8]
    /// More bytes than SoftHSM's defaults of any class are.
    private static let maximumDefaults = 4096

    /// Made by each sweep: its age tells when the last one was.
    var sweepMark: URL { root.appendingPathComponent("debris.swept", isDirectory: false) }

    /// Whether the last sweep was an hour ago or longer, in a directory that is ours. Costs one stat(2) if it was not.
    private func isSweepDue() -> Bool {
        // A mark of the time to come is that of a clock that was set back since: sweeps would rest until it gets there.
        if let mark = Self.status(sweepMark.filePath), (0..<Self.minimumAge).contains(Self.age(mark)) { return false }
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

    /// Removes `*.object` files but `token.object` that have no attributes, or only what SoftHSM puts into each; and
    /// `*.lock` files without their object. One that is cut off stays: that is damage, and somebody may want to see it.
    private func removeObjectDebris(in directory: URL) throws(KeychainError) {
        var objects: Set<String> = []
        var locks: [String] = []
        for name in try OpenDirectory.names(in: directory) {
            let stem = String(name.prefix { $0 != "." })
            // SoftHSM names objects by UUIDs; `token.object` and `token.lock` are the token's own.
            guard UUID(uuidString: stem) != nil else { continue }
            let path = directory.appendingPathComponent(name, isDirectory: false).filePath
            if name == stem + ".lock" {
                locks.append(stem)
            } else if name == stem + ".object" {
                if try Self.isDebris(path, isObject: true), unsafe unlink(path) == 0 { continue }
                objects.insert(stem)
            }
        }
        for stem in locks where !objects.contains(stem) {
            let path = directory.appendingPathComponent(stem + ".lock", isDirectory: false).filePath
            if try Self.isDebris(path, isObject: false) { unsafe unlink(path) }
        }
    }

    private static func isDebris(_ path: String, isObject: Bool) throws(KeychainError) -> Bool {
        guard let status = ownFile(path), age(status) >= minimumAge else { return false }
        if !isObject || emptyLengths.contains(Int(status.st_size)) { return true }
        guard status.st_size <= maximumDefaults, let file = try SoftHSMFile(path, limit: maximumDefaults),
            !file.isLocked
        else { return false }
        return ObjectFile(file.bytes.copyBytes())?.isUnfinished ?? false
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    /// What lstat(2) says of a plain file of this user's; `nil` for anything else.
    private static func ownFile(_ path: String) -> stat? {
        guard let status = status(path), status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            return nil
        }
        return status
    }

    private static func modification(_ status: stat) -> Date {
        Date(timeIntervalSince1970: Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9)
    }

    /// Seconds since the content was changed. A time in the future counts as now.
    private static func age(_ status: stat) -> Int { time(nil) - status.st_mtim.tv_sec }
}

// MARK: What a change has left

extension SoftHSMDirectory {
    /// Removes the objects that a process was making on a token when it was killed, and of which nothing is there.
    ///
    /// SoftHSM lists an object from its first moment on, and cannot be asked for these: another process takes notice
    /// of a new file only when the token's generation file has moved, and the kill may have come before that. Blocks
    /// for 100 ms where there is something to remove, and up to two seconds more where it is locked; else for one
    /// stat(2) a file.
    ///
    /// Keyfob's own writers hold the vault's lock. Those that know nothing of it show that they live: a file that
    /// changes, or that somebody keeps locked, is left alone. A lock may also be that of a reader, or of the process
    /// that was killed and has not quite ended: on a busy machine it lasts for longer than it takes to come here. One
    /// who makes no sign for that long does no harm to himself by it: SoftHSM keeps the object in memory and makes its
    /// file anew when it writes.
    ///
    /// - Parameters:
    ///   - start: When the change began. What was written before is not of it; `nil` takes in every file.
    ///   - quietTime: Microseconds for which a file must not change.
    func removeUnfinishedObjects(
        of token: SoftHSMToken, since start: Date?, quietTime: UInt32 = 100_000
    ) throws(KeychainError) {
        let suspects = try unfinishedObjects(of: token, since: start)
        guard !suspects.isEmpty else { return }
        usleep(quietTime)
        let deadline = Deadline.after(.seconds(2))
        for (path, state) in suspects {
            let lock = String(path.dropLast("object".count) + "lock")
            while true {
                // After each wait anew: a writer has changed the file by then.
                guard let status = Self.status(path), FileState(status) == state else { break }
                let isLocked = try SoftHSMFile.isLocked(path)
                let isClaimed = try SoftHSMFile.isLocked(lock)
                guard isLocked || isClaimed else {
                    if unsafe unlink(path) == 0 { unsafe unlink(lock) }
                    break
                }
                guard !deadline.hasPassed else { break }
                usleep(10_000)
            }
        }
    }

    /// Whether one of some objects of a token is not finished, by whomever it is made.
    ///
    /// Blocks for the names in the token's directory, and for reading those objects.
    ///
    /// - Parameter identities: What tells the objects in a snapshot.
    /// - Throws: `tokenAbsent`, `fileUnavailable`.
    func hasUnfinishedObjects(
        _ token: SoftHSMToken, among identities: Set<UInt64>
    ) throws(KeychainError) -> Bool {
        for name in try ObjectListing.names(of: identities, in: token) {
            let path = token.directory.filePath + "/" + name
            if Self.ownFile(path) != nil, try Self.isUnfinished(path) { return true }
        }
        return false
    }

    /// An object file that is not whole.
    struct DamagedObject: Equatable {
        let path: String
        /// Whether there is nothing in it that a program has put there, so that no way of reading it shows an object.
        let isEmpty: Bool
        /// What is wrong with it.
        let reason: String
    }

    /// The object files of a token that are not whole, damaged or half made by whatever process. Reads every file.
    ///
    /// - Throws: `tokenAbsent`, `fileUnavailable` for the directory; a file that cannot be read is one of them.
    func damagedObjects(of token: SoftHSMToken) throws(KeychainError) -> [DamagedObject] {
        var damaged: [DamagedObject] = []
        for name in try OpenDirectory.names(in: token.directory)
        where name.hasSuffix(".object") && name != "token.object" {
            let path = token.directory.appendingPathComponent(name, isDirectory: false).filePath
            do throws(KeychainError) {
                guard let file = try SoftHSMFile(path, limit: Self.maximumLength),
                    file.bytes.count < Self.maximumLength
                else { continue }
                guard let content = ObjectFile(file.bytes.copyBytes()) else {
                    let isEmpty = file.bytes.isEmpty
                    damaged.append(.init(path: path, isEmpty: isEmpty, reason: isEmpty ? "is empty" : "is damaged"))
                    continue
                }
                if content.isUnfinished {
                    damaged.append(.init(path: path, isEmpty: true, reason: "has no object in it"))
                }
            } catch {
                damaged.append(.init(path: path, isEmpty: false, reason: "cannot be read"))
            }
        }
        return damaged
    }

    private func unfinishedObjects(
        of token: SoftHSMToken, since start: Date?
    ) throws(KeychainError) -> [(path: String, state: FileState)] {
        // The kernel stamps files with a clock that runs some milliseconds behind.
        let earliest = start.map { $0.addingTimeInterval(-2) } ?? .distantPast
        var unfinished: [(path: String, state: FileState)] = []
        for name in try OpenDirectory.names(in: token.directory)
        where name.hasSuffix(".object") && name != "token.object" {
            let path = token.directory.appendingPathComponent(name, isDirectory: false).filePath
            guard let status = Self.ownFile(path), Self.modification(status) >= earliest,
                try Self.isUnfinished(path)
            else { continue }
            unfinished.append((path, FileState(status)))
        }
        return unfinished
    }

    /// Which file it is and which content it has.
    private struct FileState: Equatable {
        let numbers: [Int64]

        init(_ status: stat) {
            numbers = [
                Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size), Int64(status.st_ctim.tv_sec),
                Int64(status.st_ctim.tv_nsec),
            ]
        }
    }

    /// Whether an object's file is empty, cut off, or without anything that somebody has put there.
    private static func isUnfinished(_ path: String) throws(KeychainError) -> Bool {
        guard let file = try SoftHSMFile(path, limit: maximumLength) else { return false }
        // Too long to be the rest of anything.
        guard file.bytes.count < maximumLength else { return false }
        return ObjectFile(file.bytes.copyBytes())?.isUnfinished ?? true
    }

    private static let maximumLength = 1 << 20
}
