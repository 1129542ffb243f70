import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A file on the command line; `-` is standard input or output.
struct FileArgument: ExpressibleByArgument {
    let path: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        path = argument
    }

    /// What messages call it: the last part of its path.
    var name: String { path == "-" ? "standard input" : path.split(separator: "/").last.map(String.init) ?? path }

    /// The whole content. Public or private, it is limited to 64 MiB.
    ///
    /// - Throws: `KeychainError`; `fileUnavailable` with the system's reason, `dataTooLarge`.
    func read() throws -> Data {
        if path == "-" { return try StandardInput.readSecret().copyData() }
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { closeIgnoringFailure(handle) }
            var status = stat()
            if unsafe fstat(handle.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                throw KeychainError(
                    .fileUnavailable, "cannot read \(path): it is a directory.", details: ["file": path])
            }
            let data = try handle.read(upToCount: Self.limit + 1) ?? Data()
            guard data.count <= Self.limit else {
                throw KeychainError(.dataTooLarge, "\(name) is larger than \(Phrases.size(Self.limit)).")
            }
            return data
        } catch let error as KeychainError {
            throw error
        } catch {
            let reason =
                (error as NSError).code == CocoaError.fileReadNoSuchFile.rawValue
                ? "there is no such file" : Self.reason(error)
            throw KeychainError(
                .fileUnavailable, "cannot read \(path): \(reason).", details: ["file": path], cause: error)
        }
    }

    private static let limit = 64 << 20

    // Reading is over; a failure to close loses nothing.
    private func closeIgnoringFailure(_ handle: FileHandle) { do { try handle.close() } catch {} }

    private static func reason(_ error: any Error) -> String {
        switch (error as NSError).code {
        case CocoaError.fileReadNoPermission.rawValue: "permission denied"
        default: "it cannot be opened"
        }
    }
}

/// Where a command writes a file: `-o FILE`, or standard output without one.
struct FileDestination {
    let path: String?
    let mode: mode_t

    /// Whether what is written goes there: a sentence about it would be taken for a part of it.
    ///
    /// - Throws: `KeychainError` for a path whose links lead nowhere.
    var isStandardOutput: Bool {
        get throws(KeychainError) {
            guard let path, path != "-" else { return true }
            if case .descriptor(STDOUT_FILENO) = try FileTarget(path) { return true }
            return false
        }
    }

    /// Replaces the file in one step: who reads it sees the old content or the new.
    ///
    /// - Throws: `KeychainError`: `fileUnavailable`, `refused` where that is not allowed, `diskFull`.
    func write(_ bytes: SecretBytes, isPrivateKey: Bool = false, force: Bool = false) throws {
        guard let path, try !isStandardOutput else {
            return try SensitiveOutput.write(bytes, isPrivateKey: isPrivateKey, force: force)
        }
        switch try FileTarget(path) {
        case .descriptor(STDERR_FILENO):
            try unsafe bytes.withUnsafeBytes { try unsafe FileDescriptor.writeAll($0, to: STDERR_FILENO) }
        case .descriptor(let descriptor):
            // Nobody may have opened it but Keyfob itself, for its vault.
            throw KeychainError(
                .refused, "\(Visible.text(path)) is no file.", hint: "Leave -o out and redirect: >&\(descriptor)",
                details: ["file": path])
        case .stream(let path):
            guard let file = OpenFile(path: path, flags: O_WRONLY) else {
                throw KeychainError.file("write", path, errno)
            }
            try file.write(bytes)
        case .file(let path): try replace(path, with: bytes)
        }
    }

    private func replace(_ path: String, with bytes: SecretBytes) throws {
        var template = Array((path + ".XXXXXX").utf8CString)
        let descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { throw KeychainError.file("write", path, errno) }
        do {
            let file = OpenFile(adopting: descriptor, path: path)
            try file.write(bytes)
            guard fchmod(descriptor, mode) == 0 else { throw KeychainError.file("write", path, errno) }
            try file.synchronize()
            guard unsafe rename(template, path) == 0 else { throw KeychainError.file("write", path, errno) }
        } catch {
            unsafe unlink(template)
            throw error
        }
    }
}

/// The passphrase of a file that is read or written.
struct PassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the file's passphrase comes from: prompt, env:NAME, file:PATH, fd:N, credential:NAME, …",
            valueName: "source"))
    var passSource: String?

    func validate() throws {
        // The keychain's PIN may come from a command, which runs before this is read.
        EnvironmentVariable.withhold(namedBy: passSource)
    }

    /// The source of `--pass-source`. - Throws: `KeychainError` with code `invalidArgument`.
    func source() throws -> PINSource? { try passSource.map { try PINSource(parsing: $0) } }

    /// Reads the passphrase; without a source it is asked for.
    ///
    /// - Throws: `KeychainError` of the source; `pinRequired` where nobody can be asked.
    func read(_ purpose: PINPurpose, _ global: GlobalOptions) throws -> SecretBytes { try reading(global)(purpose) }

    /// As `read(_:_:)`, for one file after another: a source is read once, as many give what they have only once; a
    /// person is asked for each.
    func reading(_ global: GlobalOptions) -> (PINPurpose) throws -> SecretBytes {
        let environment = global.pinEnvironment(noInput: false)
        var known: SecretBytes?
        return { purpose in
            if let known { return known }
            let source = try source() ?? .prompt
            let secret = try source.read(purpose, from: environment)
            if !source.isInteractive { known = secret }
            return secret
        }
    }
}
