import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobManifest

/// The files of a manifest on the command line.
struct ManifestFiles: ParsableArguments {
    @Argument(
        help: "Manifests in YAML, which are joined; a directory stands for its *.yaml files, - for standard input.")
    var files: [FileArgument]

    /// A manifest with its texts, and the plan that named it.
    struct Contents {
        let manifest: Manifest
        let texts: [Manifest.Text]
        let plan: SavedPlan?
    }

    /// Reads and checks the manifest.
    ///
    /// - Throws: `KeychainError` with code `manifest.invalid` for errors in it, with their places; `fileUnavailable`
    ///   for a file that cannot be read. `UsageError` if an option selects another keychain.
    func manifest(_ global: GlobalOptions) throws -> Manifest {
        try manifest(texts(of: files, waiting: global.timeout), global)
    }

    /// Reads and checks the manifest, or that of a plan.
    ///
    /// - Throws: `KeychainError`; the errors of `manifest(_:)`, and `refused` if the manifest was changed since the
    ///   plan was made.
    func contents(_ global: GlobalOptions) throws -> Contents {
        if let file = files.first, files.count == 1, let plan = try Self.plan(file, waiting: global.timeout) {
            let paths = plan.manifests.compactMap { FileArgument(argument: $0) }
            let texts = try texts(of: paths, waiting: global.timeout)
            try plan.require(texts)
            return Contents(manifest: try manifest(texts, global), texts: texts, plan: plan)
        }
        let texts = try texts(of: files, waiting: global.timeout)
        return Contents(manifest: try manifest(texts, global), texts: texts, plan: nil)
    }

    /// The absolute paths of the files, which a plan names.
    ///
    /// - Throws: `UsageError` for standard input.
    func absolutePaths() throws -> [String] {
        try files.map { file in
            guard file.path != "-" else {
                throw UsageError(
                    "a plan names its manifests, so none can come from standard input.", hint: "Save it to a file.")
            }
            return URL(fileURLWithPath: file.path).standardizedFileURL.path
        }
    }

    /// The plan in a file; `nil` if the file is a manifest.
    private static func plan(_ file: FileArgument, waiting timeout: TimeSpan?) throws -> SavedPlan? {
        // Standard input can be read only once.
        guard file.path != "-", !isDirectory(file) else { return nil }
        return try SavedPlan(try file.read(waiting: timeout), from: TerminalSafe.text(file.path))
    }

    private func texts(of files: [FileArgument], waiting timeout: TimeSpan?) throws -> [Manifest.Text] {
        try files.flatMap { try Self.texts($0, waiting: timeout) }
    }

    private func manifest(_ texts: [Manifest.Text], _ global: GlobalOptions) throws -> Manifest {
        let manifest = try Self.explaining { try Manifest(texts) }
        if let name = global.keychain, !name.isIdentical(to: manifest.keychain) {
            throw UsageError(
                "the manifest is for keychain \"\(manifest.keychain)\", and --keychain names \"\(name)\"; nothing was "
                    + "done.",
                hint: "Leave out --keychain, or change the manifest.")
        }
        return manifest
    }

    /// Converts errors in a manifest to errors of the command.
    static func explaining<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as ManifestError { throw error.keychainError }
    }

    private static func texts(_ file: FileArgument, waiting timeout: TimeSpan?) throws -> [Manifest.Text] {
        guard file.path != "-", isDirectory(file) else {
            return [try text(file, waiting: timeout)]
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: file.path).sorted().filter {
            $0.hasSuffix(".yaml") || $0.hasSuffix(".yml")
        }
        guard !names.isEmpty else {
            throw FileArgument.unreadable(file.path, "there is no file *.yaml in the directory")
        }
        let folder = file.path.hasSuffix("/") ? file.path : file.path + "/"
        return try names.compactMap { FileArgument(argument: folder + $0) }.map { try text($0, waiting: timeout) }
    }

    private static func isDirectory(_ file: FileArgument) -> Bool {
        var status = stat()
        return unsafe stat(file.path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private static func text(_ file: FileArgument, waiting timeout: TimeSpan?) throws -> Manifest.Text {
        let data = try file.read(waiting: timeout)
        guard let text = String(validating: data, as: UTF8.self) else {
            throw KeychainError(
                .manifestInvalid, "\(TerminalSafe.text(file.path)) is not text in UTF-8.", details: ["file": file.path])
        }
        let isStandardInput = file.path == "-"
        return Manifest.Text(
            name: isStandardInput ? "standard input" : file.path,
            directory: isStandardInput ? "." : OpenFile.directory(of: file.path), text: text)
    }
}
