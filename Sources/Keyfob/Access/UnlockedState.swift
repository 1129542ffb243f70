import CLinux
public import Foundation
public import KeyfobPrimitives

/// The state stored between commands while a keychain is unlocked.
///
/// The payload is opaque: the keychain encodes its PIN and metadata key. It is stored in the kernel's keyring. If the
/// kernel does not allow that (many containers), it is stored in a file of mode 0600 in the runtime directory. If that
/// directory is on a disk, the file is in `/dev/shm`. Files are created only in memory file systems. The location is
/// determined at each store by trying. Any process of the user can read it, by the definition of unlocked.
public struct UnlockedState: Sendable {
    /// The location of the payload.
    public enum Location: Sendable, Hashable {
        /// In the kernel's user keyring.
        case kernelKeyring
        /// In a file of mode 0600.
        case runtimeFile(URL)
    }

    /// The maximum length of a payload, in bytes.
    public static let maximumLength = 16 << 10

    /// The maximum timeout in seconds: ten years of 365 days.
    public static let longestTimeout = 10 * 365 * 86400

    /// The directories that may contain a file. Earlier versions of Keyfob also created files on a disk.
    private let places: [URL]
    private let usesKernelKeyring: Bool

    /// The state of the user. Does not access keyring or file system.
    public init(directories: Directories) {
        self.init(directories: directories, usesKernelKeyring: true)
    }

    /// With `usesKernelKeyring` false only a file is used; `fallback` replaces a runtime directory on a disk.
    package init(
        directories: Directories, usesKernelKeyring: Bool, fallback: URL = Directories(environment: [:]).runtime
    ) {
        places = [directories.runtime] + (directories.runtime == fallback ? [] : [fallback])
        self.usesKernelKeyring = usesKernelKeyring
    }

    /// The first directory in a memory file system, whether it exists or not.
    private var directory: URL? { places.first(where: MemoryFileSystem.willHold) }

    /// Stores `payload` for a keychain, replacing an earlier one.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - keychain: The UUID of the keychain.
    ///   - timeout: Seconds until the payload expires; 0 to keep it until `remove` or the next boot.
    /// - Returns: The location, for `status`.
    /// - Throws: `KeychainError` with code `invalidArgument` if `keychain` is not a UUID, for a timeout out of range or
    ///   a payload of more than `maximumLength` bytes; `unsafeFile` if a file is needed and others have access to its
    ///   directory; `refused` if a file is needed and no directory is in a memory file system.
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
            // Otherwise an older payload in a file would reappear after the key has expired.
            for place in places { _ = try removeFile(name, in: place) }
            return .kernelKeyring
        }
        guard let directory else { throw Self.noMemory }
        do throws(KeychainError) { try PrivateFile.createDirectory(directory) } catch {
            throw error.with(remedies: error.remedies + ["Or name another directory: set XDG_RUNTIME_DIR."])
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

    /// Refuses a timeout out of range.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument`.
    static func check(_ timeout: Int) throws(KeychainError) {
        guard !(0...longestTimeout).contains(timeout) else { return }
        throw KeychainError(
            .invalidArgument, "a keychain cannot stay unlocked for \(timeout) seconds.",
            hint: "From 1 to \(longestTimeout), which is ten years, or 0: until it is locked.")
    }

    /// The payload; `nil` if there is none or it has expired.
    ///
    /// A runtime directory that belongs to another user or cannot be opened counts as empty.
    ///
    /// - Parameter keychain: The UUID of the keychain.
    /// - Returns: The payload.
    /// - Throws: `KeychainError` with code `unsafeFile` if the file can be read by others or belongs to another user,
    ///   or if others can write to its directory.
    public func load(_ keychain: String) throws(KeychainError) -> SecretBytes? {
        try find(keychain)?.record.payload
    }

    /// The location of the payload; `nil` if there is none or it has expired.
    ///
    /// - Parameter keychain: The UUID of the keychain.
    /// - Returns: The location.
    /// - Throws: `KeychainError`; the errors of `load(_:)`.
    public func location(of keychain: String) throws(KeychainError) -> Location? {
        try find(keychain)?.location
    }

    /// The time when the payload expires; `nil` if there is none or it never expires.
    ///
    /// The clock for the expiry continues during suspend and is not affected by setting the time.
    ///
    /// - Parameter keychain: The UUID of the keychain.
    /// - Returns: The time.
    /// - Throws: `KeychainError`; the errors of `load(_:)`.
    public func expiry(of keychain: String) throws(KeychainError) -> Date? {
        try find(keychain)?.record.expiry
    }

    /// Removes the payload from all locations.
    ///
    /// - Parameter keychain: The UUID of the keychain.
    /// - Returns: Whether there was one.
    /// - Throws: `KeychainError`; the errors of `load(_:)`, and `fileUnavailable` if the file cannot be removed.
    @discardableResult
    public func remove(_ keychain: String) throws(KeychainError) -> Bool {
        let name = try Self.fileName(keychain)
        var wasThere = usesKernelKeyring && KernelKeyring.remove(Self.description(keychain))
        for place in places where try removeFile(name, in: place) { wasThere = true }
        return wasThere
    }

    /// Removes the record if `isStale` returns true for the currently stored one.
    ///
    /// A record that another process has stored since the caller looked stays. A file that does not hold a record is
    /// stale.
    ///
    /// - Parameters:
    ///   - keychain: The UUID of the keychain.
    ///   - isStale: Whether to remove a record.
    /// - Throws: `KeychainError`; the errors of `remove(_:)`.
    func remove(_ keychain: String, where isStale: (UnlockedRecord) -> Bool) throws(KeychainError) {
        let name = Self.description(keychain)
        if usesKernelKeyring, case .found(let bytes) = KernelKeyring.load(name),
            let record = UnlockedRecord(decoding: bytes), isStale(record)
        {
            KernelKeyring.remove(name, ifStill: bytes)
        }
        let fileName = try Self.fileName(keychain)
        // A file on a disk is never read.
        for place in places where !MemoryFileSystem.holds(place.filePath) { _ = try removeFile(fileName, in: place) }
        guard let directory, try Self.mayHoldState(directory) else { return }
        let file = directory.appendingPathComponent(fileName, isDirectory: false)
        func holdsStale() throws(KeychainError) -> Bool {
            guard let bytes = try Self.read(file) else { return false }
            guard let record = UnlockedRecord(decoding: bytes) else { return true }
            return isStale(record)
        }
        // Check without the lock first, since there is rarely anything to remove.
        guard try holdsStale() else { return }
        try exclusively(in: directory) { () throws(KeychainError) in
            guard try holdsStale() else { return }
            _ = try Self.removeAll(file)
        }
    }

    /// Runs `body` while no other process stores or removes a file, or without the lock if it cannot be taken.
    private func exclusively<Result>(
        in directory: URL, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try FileLock.attempting(
            directory.appendingPathComponent("unlocked.lock", isDirectory: false), deadline: .after(.seconds(2)), body)
    }

    /// Removes the file of that name from a directory; true if there was one.
    private func removeFile(_ name: String, in place: URL) throws(KeychainError) -> Bool {
        let file = place.appendingPathComponent(name, isDirectory: false)
        // No state is stored in a directory on a disk, so its owner and mode matter only if there is such a file.
        guard unsafe MemoryFileSystem.willHold(place) || access(file.filePath, F_OK) == 0, try Self.mayHoldState(place)
        else { return false }
        return try exclusively(in: place) { () throws(KeychainError) in try Self.removeAll(file) }
    }

    /// Removes the file and remains of killed writers; true if the file existed. Call it with the lock held.
    private static func removeAll(_ file: URL) throws(KeychainError) -> Bool {
        let wasThere = try PrivateFile.remove(file)
        try PrivateFile.removeUnfinished(file)
        return wasThere
    }

    private func find(_ keychain: String) throws(KeychainError) -> (record: UnlockedRecord, location: Location)? {
        if let found = try living(keychain) { return found }
        // The record may be from before the last boot, or have expired, so that no process may read it again.
        try remove(keychain) { $0.hasExpired }
        // Another process may have stored a record in the meantime.
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

    /// Whether the runtime directory exists and belongs to this user. Checks its owner and mode.
    ///
    /// A directory of another user, which any user can create in `/dev/shm`, holds no state of this user. An attempt to
    /// store a file there fails.
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
        // The check also keeps the file inside the directory.
        guard let uuid = UUID(uuidString: keychain) else {
            throw KeychainError(.invalidArgument, "a keychain is named by a UUID here.")
        }
        return "unlocked-" + uuid.uuidString.lowercased()
    }
}
