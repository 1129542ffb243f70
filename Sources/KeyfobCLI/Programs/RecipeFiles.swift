import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// The files of a recipe on disk.
enum RecipeFiles {
    /// Writes each file in one step, in this order; one that is there is replaced.
    ///
    /// Where a file names others by names that tell their content, that step is the only one that its readers notice:
    /// whatever ends us when, it names what belongs to it. The versions that it named before go afterwards.
    ///
    /// - Parameter timeout: `--timeout`, where it was given.
    /// - Returns: Whether one of them has another content now.
    /// - Throws: `KeychainError`, as `FileDestination.write(_:isPrivateKey:force:)`.
    @discardableResult
    static func write(
        _ files: [Recipe.File], to directory: String, waiting timeout: TimeSpan? = nil
    ) throws -> Bool {
        var isChanged = false
        for file in files {
            let destination = FileDestination(
                path: directory + "/" + file.name, mode: file.isExecutable ? 0o755 : 0o644, timeout: timeout)
            if try destination.write(SecretBytes(utf8: file.content)) { isChanged = true }
        }
        for file in files where file.series != nil { removeVersions(before: file, in: directory) }
        return isChanged
    }

    /// Removes the older versions of a file, except for the latest of them.
    ///
    /// A program that runs has read its own. The latest stays for who is at it at this moment: a program that has just
    /// read the configuration of before and is about to open what that names, or another process of ours that has
    /// written its version and is about to name it.
    private static func removeVersions(before file: Recipe.File, in directory: String) {
        // What cannot be listed or removed stays: it holds no secret.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var others: [(path: String, written: (Int, Int))] = []
        for name in names where name != file.name && file.hasVersion(name) {
            let path = directory + "/" + name
            var status = stat()
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            others.append((path, (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)))
        }
        others.sort { $0.written > $1.written }
        for other in others.dropFirst() { unsafe unlink(other.path) }
    }
}

extension Recipe.File {
    /// How many digits of the content's digest are in the name of a version.
    private static let digits = 16
    /// What follows them.
    private static let ending = ".pem"

    /// A file in PEM under a name that no other content has.
    ///
    /// - Parameter series: How the names of all its versions begin.
    init(series: String, content: String) {
        let digest = Digest.sha256(Data(content.utf8)).hexadecimal.prefix(Self.digits)
        self.init(name: "\(series)\(digest)\(Self.ending)", content: content, series: series)
    }

    /// Whether a file of that name is a version of this one, and so was made here.
    func hasVersion(_ name: String) -> Bool {
        guard let series, name.utf8.starts(with: series.utf8) else { return false }
        let rest = name.utf8.dropFirst(series.utf8.count)
        return rest.dropFirst(Self.digits).elementsEqual(Self.ending.utf8)
            && rest.prefix(Self.digits).allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
}
