import CLinux
public import Foundation
public import KeyfobPrimitives

/// What lies between two commands while a keychain is unlocked.
///
/// The payload is opaque here: the keychain encodes its PIN and metadata key. It sits in the kernel's
/// keyring; where the kernel forbids that (many containers) in a file of mode 0600 in the runtime
/// directory, which is memory too. Which of the two is decided by trying, at each store. Any process of
/// the user can read it: that is what unlocked means.
public struct UnlockedState: Sendable {
    /// Where the payload is.
    public enum Location: Sendable, Hashable {
        /// In the kernel's user keyring.
        case kernelKeyring
        /// In a file of mode 0600.
        case runtimeFile(URL)
    }

    /// The most bytes that a payload has.
    public static let maximumLength = 16 << 10

    /// The most seconds that a keychain stays unlocked by itself: ten years, of 365 days.
    public static let longestTimeout = 10 * 365 * 86400

    private let directory: URL
    private let usesKernelKeyring: Bool

    /// The state of the user. Nothing is read or made yet.
    public init(directories: Directories) {
        self.init(directories: directories, usesKernelKeyring: true)
    }

    /// With `usesKernelKeyring` false only the file is used.
    package init(directories: Directories, usesKernelKeyring: Bool) {
        directory = directories.runtime
        self.usesKernelKeyring = usesKernelKeyring
    }

    /// Keeps `payload` for `keychain` (its UUID) for `timeout` seconds; 0 until `remove` or the next boot.
    ///
    /// Replaces what was there. Returns where it is now, for `status`.
    ///
    /// - Throws: `invalidArgument` for a keychain that is no UUID, a negative timeout or a payload of more
    ///   than `maximumLength` bytes; `unsafeFile` when a file is needed, and the runtime directory is not ours alone.
    @discardableResult
    public func store(
        _ payload: SecretBytes, for keychain: String, timeout: Int
    ) throws(KeychainError) -> Location {
        let file = try url(keychain)
        try Self.check(timeout)
        guard payload.count <= Self.maximumLength else {
            throw KeychainError(
                .invalidArgument,
                "a PIN of this length cannot be kept: \(payload.count) bytes, of \(Self.maximumLength) at the most.",
                hint: "Unlock the keychain for each command: --pin-source")
        }
        let record = UnlockedRecord(payload: payload, timeout: timeout)
        if usesKernelKeyring,
            KernelKeyring.store(record.encoded, as: Self.description(keychain), seconds: UInt32(timeout))
        {
            // An older one in the file would come back when the key has expired.
            if try Self.mayHoldState(directory) {
                try exclusively { () throws(KeychainError) in _ = try Self.removeAll(file) }
            }
            return .kernelKeyring
        }
        do throws(KeychainError) { try PrivateFile.createDirectory(directory) } catch {
            let remedy = "Or name another directory: set XDG_RUNTIME_DIR."
            throw KeychainError(
                error.code, error.message, hint: error.hint.map { $0 + "\n" + remedy } ?? remedy,
                details: error.details, cause: error.cause)
        }
        try exclusively { () throws(KeychainError) in
            try PrivateFile.removeUnfinished(file)
            try PrivateFile.write(record.encoded, to: file)
        }
        if usesKernelKeyring { _ = KernelKeyring.remove(Self.description(keychain)) }
        return .runtimeFile(file)
    }

    /// Refuses a timeout that no keychain has. - Throws: `KeychainError` with code `invalidArgument`.
    static func check(_ timeout: Int) throws(KeychainError) {
        guard !(0...longestTimeout).contains(timeout) else { return }
        throw KeychainError(
            .invalidArgument, "a keychain cannot stay unlocked for \(timeout) seconds.",
            hint: "From 1 to \(longestTimeout), which is ten years, or 0: until it is locked.")
    }

    /// The payload, or `nil` when nothing is kept or it has expired.
    ///
    /// A runtime directory of another user, or one that cannot be opened, holds nothing.
    ///
    /// - Throws: `unsafeFile` when the file can be read by others or is somebody else's, or when others can write to
    ///   its directory.
    public func load(_ keychain: String) throws(KeychainError) -> SecretBytes? {
        try find(keychain)?.record.payload
    }

    /// Where the payload is, or `nil` when nothing is kept. - Throws: As `load`.
    public func location(of keychain: String) throws(KeychainError) -> Location? {
        try find(keychain)?.location
    }

    /// When the payload expires, or `nil` when nothing is kept or it does not. - Throws: As `load`.
    ///
    /// The clock it counts on does not stop in suspend and does not move when somebody sets the time.
    public func expiry(of keychain: String) throws(KeychainError) -> Date? {
        try find(keychain)?.record.expiry
    }

    /// Wipes the payload wherever it is; true if there was one.
    ///
    /// - Throws: As `load`, and `fileUnavailable` when the file cannot be removed.
    @discardableResult
    public func remove(_ keychain: String) throws(KeychainError) -> Bool {
        let file = try url(keychain)
        let wasInKernel = usesKernelKeyring && KernelKeyring.remove(Self.description(keychain))
        guard try Self.mayHoldState(directory) else { return wasInKernel }
        let wasInFile = try exclusively { () throws(KeychainError) in try Self.removeAll(file) }
        return wasInFile || wasInKernel
    }

    /// Wipes the record if `isStale` says so of what is there now: one that another process has stored since the
    /// caller looked stays. A file that holds no record is stale.
    ///
    /// - Throws: As `remove(_:)`.
    func remove(_ keychain: String, where isStale: (UnlockedRecord) -> Bool) throws(KeychainError) {
        let name = Self.description(keychain)
        if usesKernelKeyring, case .found(let bytes) = KernelKeyring.load(name),
            let record = UnlockedRecord(decoding: bytes), isStale(record)
        {
            KernelKeyring.remove(name, ifStill: bytes)
        }
        let file = try url(keychain)
        func holdsStale() throws(KeychainError) -> Bool {
            guard let bytes = try Self.read(file) else { return false }
            guard let record = UnlockedRecord(decoding: bytes) else { return true }
            return isStale(record)
        }
        // Without the lock first: hardly ever is anything to be removed.
        guard try Self.mayHoldState(directory), try holdsStale() else { return }
        try exclusively { () throws(KeychainError) in
            guard try holdsStale() else { return }
            _ = try Self.removeAll(file)
        }
    }

    /// Runs `body` while no other process stores or removes a file; also where the lock cannot be had.
    private func exclusively<Result>(_ body: () throws(KeychainError) -> Result) throws(KeychainError) -> Result {
        try FileLock.attempting(
            directory.appendingPathComponent("unlocked.lock", isDirectory: false), deadline: .after(.seconds(2)), body)
    }

    /// Removes the file, and what kills have left of it; true if there was the file. Call it with the lock held.
    private static func removeAll(_ file: URL) throws(KeychainError) -> Bool {
        let wasThere = try PrivateFile.remove(file)
        try PrivateFile.removeUnfinished(file)
        return wasThere
    }

    private func find(_ keychain: String) throws(KeychainError) -> (record: UnlockedRecord, location: Location)? {
        if let found = try living(keychain) { return found }
        // Either it is from before the last boot, or it has expired: nobody may read it again.
        try remove(keychain) { $0.hasExpired }
        // Another process may have stored one meanwhile.
        return try living(keychain)
    }

    private func living(_ keychain: String) throws(KeychainError) -> (record: UnlockedRecord, location: Location)? {
        if usesKernelKeyring, case .found(let bytes) = KernelKeyring.load(Self.description(keychain)),
            let record = UnlockedRecord(decoding: bytes), !record.hasExpired
        {
            return (record, .kernelKeyring)
        }
        let file = try url(keychain)
        guard try Self.mayHoldState(directory), let bytes = try Self.read(file),
            let record = UnlockedRecord(decoding: bytes), !record.hasExpired
        else { return nil }
        return (record, .runtimeFile(file))
    }

    private static func read(_ file: URL) throws(KeychainError) -> SecretBytes? {
        try PrivateFile.read(file, limit: maximumLength + 64)
    }

    /// Whether the runtime directory is there and ours to open; looked at as it is when it is made.
    ///
    /// In one of another user, which anybody can put into `/dev/shm`, there is nothing that we have kept; whoever has
    /// to write a file is refused.
    private static func mayHoldState(_ directory: URL) throws(KeychainError) -> Bool {
        var status = stat()
        let path = directory.filePath
        guard unsafe lstat(path, &status) == 0, status.st_uid == geteuid() else { return false }
        if status.st_mode & S_IFMT == S_IFDIR, unsafe access(path, R_OK | X_OK) != 0, errno == EACCES { return false }
        try PrivateFile.createDirectory(directory)
        return true
    }

    private static func description(_ keychain: String) -> String { "keyfob:" + keychain.lowercased() }

    private func url(_ keychain: String) throws(KeychainError) -> URL {
        // Also what keeps the name of the file inside the directory.
        guard let uuid = UUID(uuidString: keychain) else {
            throw KeychainError(.invalidArgument, "a keychain is named by a UUID here.")
        }
        return directory.appendingPathComponent("unlocked-" + uuid.uuidString.lowercased(), isDirectory: false)
    }
}
