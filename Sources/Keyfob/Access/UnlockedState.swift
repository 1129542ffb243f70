import CLinux
public import Foundation
public import KeyfobPrimitives

/// What lies between two commands while a keychain is unlocked.
///
/// The payload is opaque here: the keychain encodes its PIN and metadata key. It sits in the kernel's keyring; where
/// the kernel forbids that (many containers), in a file of mode 0600 in the runtime directory, or in `/dev/shm` where
/// that directory is on a disk. A file is made only in a file system that is kept in memory. The place is chosen by
/// trying, at each store. Any process of the user can read it: that is what unlocked means.
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

    /// Where a file may be or may have been: earlier versions of Keyfob made it also on a disk.
    private let places: [URL]
    private let usesKernelKeyring: Bool

    /// The state of the user. Nothing is read or made yet.
    public init(directories: Directories) {
        self.init(directories: directories, usesKernelKeyring: true)
    }

    /// With `usesKernelKeyring` false only a file is used; `fallback` takes the place of a runtime directory on a disk.
    package init(
        directories: Directories, usesKernelKeyring: Bool, fallback: URL = Directories(environment: [:]).runtime
    ) {
        places = [directories.runtime] + (directories.runtime == fallback ? [] : [fallback])
        self.usesKernelKeyring = usesKernelKeyring
    }

    /// The first place in memory, whether it is made yet or not.
    private var directory: URL? { places.first(where: MemoryFileSystem.willHold) }

    /// Keeps `payload` for `keychain` (its UUID) for `timeout` seconds; 0 until `remove` or the next boot.
    ///
    /// Replaces what was there. Returns where it is now, for `status`.
    ///
    /// - Throws: `invalidArgument` for a keychain that is no UUID, a negative timeout or a payload of more
    ///   than `maximumLength` bytes; `unsafeFile` when a file is needed, and its directory is not ours alone; `refused`
    ///   when there is no place for the file that is kept in memory.
    @discardableResult
    public func store(
        _ payload: SecretBytes, for keychain: String, timeout: Int
    ) throws(KeychainError) -> Location {
        let name = try Self.fileName(keychain)
        try Self.check(timeout)
        guard payload.count <= Self.maximumLength else {
            throw KeychainError(
                .invalidArgument,
                "a PIN of this length cannot be kept: \(payload.count) bytes, of \(Self.maximumLength) at the most.",
                remedies: [Remedy("Give the PIN each time", .change(.pinSource))])
        }
        let record = UnlockedRecord(payload: payload, timeout: timeout)
        if usesKernelKeyring,
            KernelKeyring.store(record.encoded, as: Self.description(keychain), seconds: UInt32(timeout))
        {
            // An older one in a file would come back when the key has expired.
            for place in places { _ = try removeFile(name, in: place) }
            return .kernelKeyring
        }
        guard let directory else { throw Self.noMemory }
        do throws(KeychainError) { try PrivateFile.createDirectory(directory) } catch {
            throw KeychainError(
                error.code, error.message,
                remedies: error.remedies + ["Or name another directory: set XDG_RUNTIME_DIR."],
                details: error.details, cause: error.cause)
        }
        // Another file system may be mounted on the directory itself.
        guard MemoryFileSystem.holds(directory.filePath) else { throw Self.noMemory }
        let file = directory.appendingPathComponent(name, isDirectory: false)
        try exclusively(in: directory) { () throws(KeychainError) in
            try PrivateFile.removeUnfinished(file)
            try PrivateFile.write(record.encoded, to: file)
        }
        for place in places where place != directory { _ = try removeFile(name, in: place) }
        if usesKernelKeyring { _ = KernelKeyring.remove(Self.description(keychain)) }
        return .runtimeFile(file)
    }

    private static let noMemory = KeychainError(
        .refused,
        "the PIN cannot be kept between commands: the kernel's keyring is closed to this process, and neither "
            + "XDG_RUNTIME_DIR nor /dev/shm is kept in memory.",
        remedies: [
            "Set XDG_RUNTIME_DIR to a directory of your own in a tmpfs.",
            Remedy("Or give the PIN each time", .change(.pinSource)),
        ])

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
        let name = try Self.fileName(keychain)
        var wasThere = usesKernelKeyring && KernelKeyring.remove(Self.description(keychain))
        for place in places where try removeFile(name, in: place) { wasThere = true }
        return wasThere
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
        let fileName = try Self.fileName(keychain)
        // One on a disk is never read.
        for place in places where !MemoryFileSystem.holds(place.filePath) { _ = try removeFile(fileName, in: place) }
        guard let directory, try Self.mayHoldState(directory) else { return }
        let file = directory.appendingPathComponent(fileName, isDirectory: false)
        func holdsStale() throws(KeychainError) -> Bool {
            guard let bytes = try Self.read(file) else { return false }
            guard let record = UnlockedRecord(decoding: bytes) else { return true }
            return isStale(record)
        }
        // Without the lock first: hardly ever is anything to be removed.
        guard try holdsStale() else { return }
        try exclusively(in: directory) { () throws(KeychainError) in
            guard try holdsStale() else { return }
            _ = try Self.removeAll(file)
        }
    }

    /// Runs `body` while no other process stores or removes a file; also where the lock cannot be had.
    private func exclusively<Result>(
        in directory: URL, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try FileLock.attempting(
            directory.appendingPathComponent("unlocked.lock", isDirectory: false), deadline: .after(.seconds(2)), body)
    }

    /// Removes the file of that name from a place; true if there was one.
    private func removeFile(_ name: String, in place: URL) throws(KeychainError) -> Bool {
        let file = place.appendingPathComponent(name, isDirectory: false)
        // In a directory on a disk nothing is kept: its owner and mode matter only where there is such a file.
        guard unsafe MemoryFileSystem.willHold(place) || access(file.filePath, F_OK) == 0, try Self.mayHoldState(place)
        else { return false }
        return try exclusively(in: place) { () throws(KeychainError) in try Self.removeAll(file) }
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
        guard let directory, try Self.mayHoldState(directory) else { return nil }
        let file = try directory.appendingPathComponent(Self.fileName(keychain), isDirectory: false)
        guard let bytes = try Self.read(file),
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

    private static func fileName(_ keychain: String) throws(KeychainError) -> String {
        // Also what keeps the name of the file inside the directory.
        guard let uuid = UUID(uuidString: keychain) else {
            throw KeychainError(.invalidArgument, "a keychain is named by a UUID here.")
        }
        return "unlocked-" + uuid.uuidString.lowercased()
    }
}
