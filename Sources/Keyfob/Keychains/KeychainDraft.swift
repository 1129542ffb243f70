import CLinux
import Foundation
import Glibc
import KeyfobPrimitives

/// The directory of a keychain that is being made, under a temporary name.
///
/// A keychain exists once its directory has its name. The process that makes the keychain holds a lock on the directory
/// until then. A directory with a temporary name that is not locked is what a killed creation left.
struct KeychainDraft: ~Copyable {
    /// The directory.
    let url: URL
    private let directory: OpenFile

    /// The end of the temporary name.
    private static let suffix = ".making"

    /// Makes the directory.
    ///
    /// - Parameter folder: The directory of all keychains.
    /// - Throws: `KeychainError` as `KeychainError.file`.
    init(_ name: String, in folder: URL) throws(KeychainError) {
        while true {
            let url = HiddenName(name, Self.suffix).url(in: folder)
            guard unsafe mkdir(url.filePath, 0o700) == 0 else { throw .file("create", url.filePath, errno) }
            // Another process that clears remains can remove the directory until it is locked.
            guard let directory = OpenFile(path: url.filePath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
                guard errno == ENOENT else { throw .file("open", url.filePath, errno) }
                continue
            }
            guard flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK || errno == EINTR else { throw .file("lock", url.filePath, errno) }
                continue
            }
            guard try directory.status().st_nlink > 0 else { continue }
            self.url = url
            self.directory = directory
            return
        }
    }

    /// Gives the directory the keychain's name.
    ///
    /// The system refuses to replace a directory that is not empty, so that an existing keychain is never overwritten.
    ///
    /// - Throws: `KeychainError`; `duplicateKeychain` where there is a keychain of that name.
    borrowing func publish(as target: URL) throws(KeychainError) {
        try directory.synchronize()
        guard unsafe rename(url.filePath, target.filePath) == 0 else {
            guard [EEXIST, ENOTEMPTY, ENOTDIR].contains(errno) else { throw .file("create", target.filePath, errno) }
            throw .duplicateKeychain(target.lastPathComponent)
        }
        try PrivateFile.synchronizeDirectory(target.deletingLastPathComponent())
    }

    /// Removes the directories that killed creations left.
    ///
    /// - Parameter name: The keychain whose creations are meant; `nil` for all.
    /// - Throws: `KeychainError` where one cannot be removed.
    static func removeRemains(of name: String? = nil, in folder: URL) throws(KeychainError) {
        for hidden in try HiddenName.all(suffix, in: folder) where name == nil || hidden.name == name {
            let url = hidden.url(in: folder)
            guard let directory = OpenFile(path: url.filePath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
                flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try KeychainDirectory.remove(url)
        }
    }

    /// Whether a killed creation left something, or another process is making a keychain.
    ///
    /// - Parameters:
    ///   - name: The keychain; `nil` for any.
    ///   - isRunning: Whether creations that are still running are looked for, or those that were killed.
    /// - Throws: `KeychainError` where the directory of keychains cannot be read.
    static func exists(_ name: String? = nil, isRunning: Bool, in folder: URL) throws(KeychainError) -> Bool {
        for hidden in try HiddenName.all(suffix, in: folder) where name == nil || hidden.name == name {
            guard let directory = OpenFile(path: hidden.url(in: folder).filePath, flags: O_RDONLY | O_DIRECTORY)
            else { continue }
            if (flock(directory.descriptor, LOCK_SH | LOCK_NB) != 0) == isRunning { return true }
        }
        return false
    }
}

/// The name of a directory that lists of keychains leave out: `.NAME.NUMBER.STATE`.
struct HiddenName {
    /// The name of the keychain.
    let name: String
    private let file: String

    /// A name that no other directory has.
    init(_ name: String, _ suffix: String) {
        self.name = name
        file = ".\(name).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))\(suffix)"
    }

    private init?(file: String, _ suffix: String) {
        guard file.hasPrefix("."), file.hasSuffix(suffix) else { return nil }
        let stem = file.dropFirst().dropLast(suffix.count)
        guard let dot = stem.lastIndex(of: "."), dot > stem.startIndex else { return nil }
        name = String(stem[..<dot])
        self.file = file
    }

    /// The directories in `folder` whose names end with `suffix`, sorted.
    ///
    /// - Throws: `KeychainError` where `folder` cannot be read.
    static func all(_ suffix: String, in folder: URL) throws(KeychainError) -> [HiddenName] {
        try OpenDirectory.names(in: folder).sorted().compactMap { HiddenName(file: $0, suffix) }
    }

    /// The directory.
    func url(in folder: URL) -> URL { folder.appendingPathComponent(file, isDirectory: true) }
}

/// The directory of a keychain.
enum KeychainDirectory {
    /// Removes the directory and everything in it. Its configuration goes last, so that a removal can be repeated.
    ///
    /// - Throws: `KeychainError` where a part cannot be removed.
    static func remove(_ url: URL) throws(KeychainError) {
        let names = Set(try OpenDirectory.names(in: url)).subtracting([".", "..", KeychainConfiguration.fileName])
        for name in names.sorted() + [KeychainConfiguration.fileName] {
            let part = url.appendingPathComponent(name, isDirectory: false)
            var status = stat()
            if unsafe lstat(part.filePath, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                try remove(part)
            } else {
                try PrivateFile.remove(part)
            }
        }
        guard unsafe rmdir(url.filePath) == 0 || errno == ENOENT else { throw .file("remove", url.filePath, errno) }
        try PrivateFile.synchronizeDirectory(url.deletingLastPathComponent())
    }
}

extension KeychainError {
    /// There is a keychain of that name.
    static func duplicateKeychain(_ name: String) -> KeychainError {
        KeychainError(.duplicateKeychain, "a keychain \"\(name)\" exists already.", details: ["keychain": name])
    }
}
