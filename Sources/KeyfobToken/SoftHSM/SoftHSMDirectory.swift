public import Foundation
import KeyfobPrimitives
public import PKCS11

/// The default token store: Keyfob's own SoftHSM directory, with one token for each keychain.
///
/// Below `Directories.tokens` are `softhsm2.conf`, `tokens/` (managed by SoftHSM) and `token-copies/` (managed by
/// Keyfob, see `heal()`). Nothing global is changed.
///
/// > Important: SoftHSM reads `SOFTHSM2_CONF` once per process, so a process has one SoftHSM directory. `activate()`
/// selects Keyfob's, and fails if another one may be in use already. A `SOFTHSM2_CONF` set by the user stays in effect
/// in every process that does not call `activate()`, that is, for keychains whose token is not in Keyfob's directory.
public struct SoftHSMDirectory: Sendable, Hashable {
    /// The directory that contains `softhsm2.conf` and `tokens/`.
    public let root: URL

    /// SoftHSM's configuration file.
    public var configuration: URL { root.appendingPathComponent("softhsm2.conf", isDirectory: false) }

    package var tokensDirectory: URL { root.appendingPathComponent("tokens", isDirectory: true) }
    package var copiesDirectory: URL { root.appendingPathComponent("token-copies", isDirectory: true) }
    package var lockFile: URL { root.appendingPathComponent("softhsm.lock", isDirectory: false) }

    /// The store below `root`. Does not access the file system.
    public init(root: URL) {
        self.root = root.standardizedPath
    }

    /// Creates the directories and the configuration if they are missing. Idempotent.
    ///
    /// - Throws: `KeychainError` with code `unsafeFile` if others have access to a directory; `invalidArgument` for a
    ///   path that SoftHSM's configuration cannot express; `fileUnavailable`.
    public func prepare() throws(KeychainError) {
        let path = tokensDirectory.filePath
        // The format has no quoting: `#` starts a comment, and a second `=` ends the value.
        guard !path.utf8.contains(where: { "#=\n".utf8.contains($0) }) else {
            throw KeychainError(
                .invalidArgument,
                "SoftHSM cannot keep tokens in \(path): its configuration has no way to write #, = or a newline.",
                hint: "Choose another XDG_DATA_HOME.")
        }
        try PrivateFile.createDirectory(root)
        try PrivateFile.createDirectory(tokensDirectory)
        try PrivateFile.createDirectory(copiesDirectory)
        let line = configurationLine
        let existing = try existingConfiguration()
        // Rewrite the file only if it points elsewhere, because the home directory was moved. Otherwise the user may
        // have changed it.
        guard !existing.split(separator: "\n").contains(Substring(line)) else { return }
        let text = """
            \(Self.signature) for the tokens of its keychains.
            \(line)
            objectstore.backend = file
            log.level = ERROR
            slots.removable = false

            """
        try PrivateFile.write(SecretBytes(utf8: text), to: configuration)
    }

    /// The configuration line that points SoftHSM to the tokens directory.
    package var configurationLine: String { "directories.tokendir = \(tokensDirectory.filePath)" }

    /// The beginning of the first line of a configuration that `prepare()` wrote.
    package static var signature: String { "# Written by Keyfob" }

    /// The configuration's text. Its mode is not checked: it holds no secret, and its directory is private.
    package func existingConfiguration() throws(KeychainError) -> String {
        guard let file = OpenFile(path: configuration.filePath, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            if errno == ENOENT { return "" }
            throw .file("read", configuration.filePath, errno)
        }
        return try file.read(limit: 64 << 10).copyString() ?? ""
    }

    private static let activated = Lock<String?>(nil)

    /// Makes this the SoftHSM directory of the process. Call it before the module is loaded; further calls have no
    /// effect.
    ///
    /// Sets an environment variable, so a multithreaded program must call it before it starts threads.
    ///
    /// - Throws: `KeychainError` with code `refused` if this process uses another SoftHSM directory, or may do so
    ///   because libsofthsm2 is already loaded with another `SOFTHSM2_CONF`; the errors of `prepare()`.
    public func activate() throws(KeychainError) {
        try prepare()
        try claimProcess()
    }

    /// Does the part of `activate()` that sets the environment variable, without accessing the directory.
    ///
    /// For a caller that is about to start a second thread: the variable has to be set before, and the rest can be done
    /// on the thread.
    ///
    /// - Returns: Whether this call has bound the process to the directory.
    /// - Throws: `KeychainError` with code `refused` if this process uses another SoftHSM directory, or may do so.
    @discardableResult
    package func claimProcess() throws(KeychainError) -> Bool {
        let path = configuration.filePath
        return try Self.activated.withLock { (active) throws(KeychainError) in
            if active == path { return false }
            let current = EnvironmentVariable.value("SOFTHSM2_CONF")
            if current != path {
                if let active { throw refusal(inUse: active) }
                if Self.isLibraryInUse { throw refusal(inUse: current ?? "SoftHSM's default configuration") }
                EnvironmentVariable.set("SOFTHSM2_CONF", to: path)
            }
            active = path
            return true
        }
    }

    /// Reverts `claimProcess()` for a caller that has not used SoftHSM since. Restores the environment variable.
    package func disclaimProcess() {
        Self.activated.withLock { active in
            guard active == configuration.filePath else { return }
            EnvironmentVariable.restore("SOFTHSM2_CONF")
            active = nil
        }
    }

    /// Whether SoftHSM's configuration exists, as it does if a token was created here.
    package var isPrepared: Bool { Self.access(configuration.filePath) }

    private func refusal(inUse other: String) -> KeychainError {
        KeychainError(
            .refused, "this process uses the SoftHSM directory of \(other) and cannot use \(root.filePath) as well.",
            hint: "SoftHSM reads its configuration once per process: use a second process.",
            details: ["active": other, "requested": configuration.filePath])
    }

    private static var isLibraryInUse: Bool {
        SoftHSMPresence.mayBeInUse && Module.mayBeInitialized("libsofthsm2.so")
    }

    /// Loads SoftHSM from the usual places of distributions, or else the module that p11-kit has registered as
    /// `softhsm2`.
    ///
    /// Call `activate()` first. Blocks for loading and initializing it.
    ///
    /// - Returns: The module.
    /// - Throws: `KeychainError` with code `moduleNotLoaded`; `timedOut` if another thread does not finish initializing
    ///   it.
    public func module() throws(KeychainError) -> Module {
        SoftHSMPresence.willBeUsed()
        // A path loads only this module; to find a registered one, p11-kit loads all modules.
        var cause: PKCS11Error?
        for path in Self.modulePaths where Self.access(path) {
            do throws(PKCS11Error) {
                return try Module.load(path: path)
            } catch {
                // Any other path or p11-kit would lead to the same busy library.
                guard !error.isBusy else { throw Self.occupied(error) }
                cause = error
            }
        }
        do throws(PKCS11Error) {
            if let module = try Module.registered(named: "softhsm2") { return module }
        } catch {
            guard !error.isBusy else { throw Self.occupied(error) }
            cause = error
        }
        throw KeychainError(
            .moduleNotLoaded, "PKCS#11 module \"softhsm2\" cannot be loaded"
                + (cause == nil ? ": it is not installed." : "."),
            hint: "Install softhsm2: apt install softhsm2", details: ["module": "softhsm2"], cause: cause)
    }

    private static func occupied(_ cause: PKCS11Error) -> KeychainError {
        KeychainError(
            .timedOut,
            "PKCS#11 module \"softhsm2\" was not ready in time: \(cause.detail ?? cause.returnValue.name).",
            hint: "Which process has a lock on its tokens' files, lslocks tells; one that was stopped goes on after: "
                + "kill -CONT PID",
            details: ["module": "softhsm2"], cause: cause)
    }

    /// Maps the library that `module()` is going to load; does nothing if no usual place has it. See `Module.map`.
    package static func mapModule() {
        guard let path = modulePaths.first(where: access) else { return }
        SoftHSMPresence.willBeMapped()
        Module.map(path: path)
    }

    private static func access(_ path: String) -> Bool { unsafe Foundation.access(path, R_OK) == 0 }

    private static let modulePaths: [String] = {
        let debian = ["x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"]
            .map { "/usr/lib/\($0)/softhsm/libsofthsm2.so" }
        let home = EnvironmentVariable.value("HOME")
            .map { ["\($0)/.nix-profile/lib/softhsm/libsofthsm2.so"] } ?? []
        return ["/usr/lib/softhsm/libsofthsm2.so"] + debian
            + [
                "/usr/lib64/pkcs11/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so",
                "/usr/lib/pkcs11/libsofthsm2.so", "/usr/local/lib/softhsm/libsofthsm2.so",
                "/run/current-system/sw/lib/softhsm/libsofthsm2.so",
                "/nix/var/nix/profiles/default/lib/softhsm/libsofthsm2.so",
            ] + home
    }()
}
