import CLinux
import Foundation
import Glibc
import KeyfobPrimitives

/// The directory, under a temporary name, of a keychain that is being made.
///
/// A keychain exists once its directory has its name. Until then, the process that makes the keychain holds a lock on
/// the directory. A directory with a temporary name and without a lock was left by a killed creation.
struct KeychainDraft: ~Copyable {
    /// The directory.
    let url: URL
    private let directory: OpenFile

    /// The suffix of the temporary name.
    private static let suffix = ".making"

    /// Makes the directory.
    ///
    /// - Parameters:
    ///   - name: The name of the keychain.
    ///   - folder: The directory of all keychains.
    /// - Throws: `KeychainError` with code `refused`, `diskFull` or `fileUnavailable` if the directory cannot be made.
    init(_ name: String, in folder: URL) throws(KeychainError) {
        while true {
            let url = HiddenName(name, Self.suffix).url(in: folder)
            guard unsafe mkdir(url.filePath, 0o700) == 0 else { throw .file("create", url.filePath, errno) }
            // Until the directory is locked, another process that clears remains can remove it.
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
    /// The system refuses to replace a directory that is not empty, so an existing keychain is never overwritten.
    ///
    /// - Throws: `KeychainError` with code `duplicateKeychain` if a keychain of that name exists.
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
    /// - Parameters:
    ///   - name: The keychain whose creations were killed; `nil` for all.
    ///   - folder: The directory of all keychains.
    /// - Throws: `KeychainError` if a directory cannot be removed.
    static func removeRemains(of name: String? = nil, in folder: URL) throws(KeychainError) {
        for hidden in try HiddenName.all(suffix, in: folder) where name == nil || hidden.name == name {
            let url = hidden.url(in: folder)
            guard let directory = OpenFile(path: url.filePath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
                flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try KeychainDirectory.remove(url)
        }
    }

    /// Returns whether a killed creation left a directory, or another process is making a keychain.
    ///
    /// - Parameters:
    ///   - name: The keychain; `nil` for any.
    ///   - isRunning: Whether to look for creations that are still running, or for those that were killed.
    ///   - folder: The directory of all keychains.
    /// - Throws: `KeychainError` if the directory of keychains cannot be read.
    static func exists(_ name: String? = nil, isRunning: Bool, in folder: URL) throws(KeychainError) -> Bool {
        for hidden in try HiddenName.all(suffix, in: folder) where name == nil || hidden.name == name {
            guard let directory = OpenFile(path: hidden.url(in: folder).filePath, flags: O_RDONLY | O_DIRECTORY)
            else { continue }
            if (flock(directory.descriptor, LOCK_SH | LOCK_NB) != 0) == isRunning { return true }
        }
        return false
    }
}

/// The name of a directory that lists of keychains omit: `.NAME.NUMBER.STATE`.
struct HiddenName {
    /// The name of the keychain.
    let name: String
    private let file: String

    /// Makes a name that no other directory has.
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

    /// Returns the directories in `folder` whose names end with `suffix`, sorted.
    ///
    /// - Throws: `KeychainError` if `folder` cannot be read.
    static func all(_ suffix: String, in folder: URL) throws(KeychainError) -> [HiddenName] {
        try OpenDirectory.names(in: folder).sorted().compactMap { HiddenName(file: $0, suffix) }
    }

    /// Returns the location of the directory.
    func url(in folder: URL) -> URL { folder.appendingPathComponent(file, isDirectory: true) }
}

/// The directory of a keychain.
enum KeychainDirectory {
    /// Removes the directory and its content.
    ///
    /// The configuration is removed last, so that an interrupted removal can be repeated.
    ///
    /// - Throws: `KeychainError` if a part cannot be removed.
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
    /// Returns the error for a name that another keychain has.
    static func duplicateKeychain(_ name: String) -> KeychainError {
        KeychainError(.duplicateKeychain, "a keychain \"\(name)\" exists already.", details: ["keychain": name])
    }
}
