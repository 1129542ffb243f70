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

    /// Reads and checks the manifest.
    ///
    /// - Throws: `KeychainError` with code `manifest.invalid` for errors in it, with their places; `fileUnavailable`
    ///   for a file that cannot be read. `UsageError` if an option selects another keychain.
    func manifest(_ global: GlobalOptions) throws -> Manifest {
        var texts: [Manifest.Text] = []
        for file in files { texts += try Self.texts(file, waiting: global.timeout) }
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
        var status = stat()
        guard file.path != "-", unsafe stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
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
