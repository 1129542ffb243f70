public import Foundation
import KeyfobPrimitives
public import PKCS11

/// The default token store: a SoftHSM directory of our own, with one token for each keychain.
///
/// Below `Directories.tokens`: `softhsm2.conf`, `tokens/` (SoftHSM's) and `token-copies/` (ours, see
/// `heal()`). Nothing global is touched.
///
/// > Important: SoftHSM reads `SOFTHSM2_CONF` once in a process. A process has therefore one SoftHSM
/// > directory: `activate()` names ours, and refuses when another one may be in use already. A
/// > `SOFTHSM2_CONF` of the user's own stays in force in every process that does not call `activate()`,
/// > that is, for keychains whose token is not in our directory.
public struct SoftHSMDirectory: Sendable, Hashable {
    /// The directory above `softhsm2.conf` and `tokens/`.
    public let root: URL

    /// SoftHSM's configuration.
    public var configuration: URL { root.appendingPathComponent("softhsm2.conf", isDirectory: false) }

    var tokensDirectory: URL { root.appendingPathComponent("tokens", isDirectory: true) }
    var copiesDirectory: URL { root.appendingPathComponent("token-copies", isDirectory: true) }
    var lockFile: URL { root.appendingPathComponent("softhsm.lock", isDirectory: false) }

    /// The store in `directories.tokens`. Nothing is made or read yet.
    public init(directories: Directories) {
        self.init(root: directories.tokens)
    }

    /// The store below `root`.
    public init(root: URL) {
        self.root = root.standardizedPath
    }

    /// Makes the directories and the configuration, where they are missing. Idempotent.
    ///
    /// - Throws: `unsafeFile` when a directory is not ours alone; `invalidArgument` for a path that
    ///   SoftHSM's configuration cannot express.
    public func prepare() throws(KeychainError) {
        let path = tokensDirectory.filePath
        // The format has no quoting: `#` begins a comment, and a second `=` ends the value.
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
        // Rewritten only when it points elsewhere (the home directory was moved): other lines are the
        // user's to change.
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

    /// The line that points SoftHSM here.
    var configurationLine: String { "directories.tokendir = \(tokensDirectory.filePath)" }

    /// How the first line of a configuration begins that `prepare()` wrote.
    static var signature: String { "# Written by Keyfob" }

    /// The configuration's text. It holds no secret, so that its mode is the user's affair; the directory
    /// is ours alone.
    func existingConfiguration() throws(KeychainError) -> String {
        guard let file = OpenFile(path: configuration.filePath, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            if errno == ENOENT { return "" }
            throw .file("read", configuration.filePath, errno)
        }
        return try file.read(limit: 64 << 10).copyString() ?? ""
    }

    private static let activated = Lock<String?>(nil)

    /// Makes this the SoftHSM directory of the process. Call it before the module is loaded; again is
    /// harmless.
    ///
    /// Sets an environment variable: a program with threads calls it before it starts them.
    ///
    /// - Throws: `refused` when this process uses another SoftHSM directory, or may do so because
    ///   libsofthsm2 is loaded already under another `SOFTHSM2_CONF`.
    public func activate() throws(KeychainError) {
        try prepare()
        try claimProcess()
    }

    /// `activate()` without a look at the directory, for a caller that begins a second thread: the variable has to be
    /// set before that, and all else can be done there.
    ///
    /// - Returns: Whether the process was nobody's before.
    /// - Throws: `refused` as `activate()`.
    @discardableResult
    func claimProcess() throws(KeychainError) -> Bool {
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

    /// Takes `claimProcess()` back, for a caller that has not used SoftHSM since; the variable is as it was before.
    func disclaimProcess() {
        Self.activated.withLock { active in
            guard active == configuration.filePath else { return }
            EnvironmentVariable.restore("SOFTHSM2_CONF")
            active = nil
        }
    }

    /// Whether SoftHSM's configuration is there, as it is where anybody has made a token here.
    var isPrepared: Bool { Self.access(configuration.filePath) }

    private func refusal(inUse other: String) -> KeychainError {
        KeychainError(
            .refused, "this process uses the SoftHSM directory of \(other) and cannot use \(root.filePath) as well.",
            hint: "SoftHSM reads its configuration once per process: use a second process.",
            details: ["active": other, "requested": configuration.filePath])
    }

    private static var isLibraryInUse: Bool {
        SoftHSMPresence.mayBeInUse && Module.mayBeInitialized("libsofthsm2.so")
    }

    /// Loads SoftHSM: from where distributions put it, else what p11-kit has registered as `softhsm2`.
    ///
    /// Call `activate()` first. Blocks for loading and initialising it.
    ///
    /// - Throws: `moduleNotLoaded`; `timedOut` where another thread does not come back from initialising it.
    public func module() throws(KeychainError) -> Module {
        SoftHSMPresence.willBeUsed()
        // By its path only this module is loaded; to find a registered one p11-kit loads them all.
        var cause: PKCS11Error?
        for path in Self.modulePaths where Self.access(path) {
            do throws(PKCS11Error) {
                return try Module.load(path: path)
            } catch {
                // Any other way would lead to the same library.
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

    /// Maps what `module()` is going to load; nothing where distributions put it nowhere. See `Module.map`.
    static func mapModule() {
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
