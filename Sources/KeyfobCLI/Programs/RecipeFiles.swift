import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Writes the files of a recipe.
enum RecipeFiles {
    /// Writes the files in order, each atomically, and replaces existing ones.
    ///
    /// A file that names versioned files is written after them. Its replacement is therefore the only visible step, and
    /// it always names files that belong together. The older versions are removed afterwards.
    ///
    /// - Parameter timeout: The value of `--timeout`, if given.
    /// - Returns: What was done: `none` if no content has changed, `create` if all files are new, else `update`.
    /// - Throws: `KeychainError` if a file cannot be written.
    @discardableResult
    static func write(
        _ files: [Recipe.File], to directory: String, waiting timeout: TimeSpan? = nil
    ) throws -> Effect.Action {
        let actions = try files.map { file in
            try destination(of: file, in: directory, timeout).write(SecretBytes(utf8: file.content))
        }
        for file in files where file.series != nil { removeVersions(before: file, in: directory) }
        return action(actions)
    }

    /// Determines what `write` does.
    ///
    /// - Throws: `KeychainError` if a file must not be written.
    static func action(of files: [Recipe.File], in directory: String) throws -> Effect.Action {
        try action(files.map { try destination(of: $0, in: directory).action(of: SecretBytes(utf8: $0.content)) })
    }

    private static func action(_ actions: [Effect.Action]) -> Effect.Action {
        guard actions.contains(where: { $0 != .none }) else { return .none }
        return actions.allSatisfy { $0 == .create } ? .create : .update
    }

    private static func destination(
        of file: Recipe.File, in directory: String, _ timeout: TimeSpan? = nil
    ) -> FileDestination {
        FileDestination(
            path: directory + "/" + file.name, mode: file.isExecutable ? 0o755 : 0o644, timeout: timeout)
    }

    /// Removes the older versions of a file, except for the latest of them.
    ///
    /// A running program has already read its version. The latest older version may still be needed: a program may
    /// have read the previous configuration and be about to open the file. Another Keyfob process may have written its
    /// version and be about to name it.
    private static func removeVersions(before file: Recipe.File, in directory: String) {
        // Files that cannot be listed or removed stay; they contain no secret.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var others: [(path: String, written: Date)] = []
        for name in names where name != file.name && file.hasVersion(name) {
            let path = directory + "/" + name
            // A file that vanished meanwhile needs no removal.
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                attributes[.type] as? FileAttributeType == .typeRegular,
                let written = attributes[.modificationDate] as? Date
            else { continue }
            others.append((path, written))
        }
        others.sort { $0.written > $1.written }
        for other in others.dropFirst() { unsafe unlink(other.path) }
    }
}

extension Recipe.File {
    /// The number of digest digits in the name of a version.
    private static let digits = 16
    /// The text after the digits.
    private static let ending = ".pem"

    /// A PEM file whose name depends on its content.
    ///
    /// - Parameter series: The common prefix of all versions.
    init(series: String, content: String) {
        let digest = Digest.sha256(Data(content.utf8)).hexadecimal.prefix(Self.digits)
        self.init(name: "\(series)\(digest)\(Self.ending)", content: content, series: series)
    }

    /// Whether a file of that name is a version of this one, and was therefore written by Keyfob.
    func hasVersion(_ name: String) -> Bool {
        guard let series, name.utf8.starts(with: series.utf8) else { return false }
        let rest = name.utf8.dropFirst(series.utf8.count)
        return rest.dropFirst(Self.digits).elementsEqual(Self.ending.utf8)
            && rest.prefix(Self.digits).allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
}
