import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct UnlockedStateTests {
    /// Whether this kernel stores keys for us; the reason why a test is skipped.
    static let hasKeyring: Bool = {
        let name = "keyfob:test-probe-\(UUID().uuidString)"
        defer { _ = KernelKeyring.remove(name) }
        return KernelKeyring.store(SecretBytes(utf8: "x"), as: name, seconds: 60)
    }()

    private let payload = SecretBytes(utf8: "PIN and metadata key")

    private func code(_ body: () throws -> Void) -> KeychainError.Code? {
        #expect(throws: KeychainError.self, performing: body)?.code
    }

    private func roundTrip(_ state: UnlockedState, _ keychain: String) throws -> UnlockedState.Location? {
        #expect(try state.load(keychain) == nil)
        #expect(try state.location(of: keychain) == nil)
        let stored = try state.store(payload, for: keychain, timeout: 3600)
        #expect(try state.load(keychain) == payload)
        #expect(try state.load(keychain.lowercased()) == payload)
        #expect(try state.location(of: keychain) == stored)
        let expiry = try #require(try state.expiry(of: keychain))
        #expect(abs(expiry.timeIntervalSinceNow - 3600) < 60)
        try state.store(SecretBytes(utf8: "newer"), for: keychain, timeout: 0)
        #expect(try state.load(keychain)?.copyString() == "newer")
        #expect(try state.expiry(of: keychain) == nil)
        #expect(try state.load(UUID().uuidString) == nil)
        #expect(try state.remove(keychain))
        #expect(try !state.remove(keychain))
        #expect(try state.load(keychain) == nil)
        return stored
    }

    @Test(.enabled(if: hasKeyring, "this kernel keeps no keys for us (add_key is forbidden)"))
    func `the kernel's keyring keeps a payload until its timeout`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let state = UnlockedState(directories: Directories(root: URL(fileURLWithPath: directory.path)))
        #expect(try roundTrip(state, UUID().uuidString) == .kernelKeyring)
        #expect(!FileManager.default.fileExists(atPath: directory.file("runtime")))
        let keychain = UUID().uuidString
        try state.store(payload, for: keychain, timeout: 1)
        usleep(2_100_000)
        #expect(try state.load(keychain) == nil)
    }

    @Test(.enabled(if: hasKeyring, "this kernel keeps no keys for us (add_key is forbidden)"))
    func `another process finds the payload that this one stores`() throws {
        let name = "keyfob:test-\(UUID().uuidString)"
        defer { _ = KernelKeyring.remove(name) }
        #expect(KernelKeyring.store(payload, as: name, seconds: 60))
        let keys = try run("grep", [name, "/proc/keys"])
        // All rights for the possessor and the owner; none for group and others.
        #expect(keys.stdout.contains("3f3f0000"))
    }

    @Test(arguments: [true, false])
    func `a command leaves a PIN file's keychain unlocked, and no other without a request`(isFile: Bool) throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "left")
        let module = try FaultyModule(in: directory)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let source: PINSource = isFile ? .file(pin) : .command("cat \(ShellWord.quoted(pin))")
        let directories = Directories(root: directory.url("keyfob"))
        let made = try Keychains(directories).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: source)).keychain
        try made.lock()
        var options = Keychain.Options()
        options.isOneShot = true
        let keychain = try Keychain.open(made.name, in: directories, options: options)
        try keychain.add(GenericPassword(service: "s"), secret: SecretBytes(utf8: "x"))
        #expect(keychain.isUnlockedForSession == isFile)
        try keychain.lock()
    }

    @Test func `without a keyring a private file keeps the payload`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let directories = Directories(root: URL(fileURLWithPath: directory.path))
        let state = UnlockedState(directories: directories, usesKernelKeyring: false)
        let keychain = UUID().uuidString
        let url = directories.runtime.appendingPathComponent("unlocked-" + keychain.lowercased())
        #expect(try roundTrip(state, keychain) == .runtimeFile(url))
        try state.store(payload, for: keychain, timeout: 60)
        var status = stat()
        #expect(unsafe lstat(url.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(unsafe lstat(directories.runtime.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    /// A state that is stored in a file.
    private func stored(
        in directory: TemporaryDirectory, timeout: Int
    ) throws -> (state: UnlockedState, keychain: String, url: URL) {
        let state = UnlockedState(
            directories: Directories(root: URL(fileURLWithPath: directory.path)), usesKernelKeyring: false)
        let keychain = UUID().uuidString
        guard case .runtimeFile(let url) = try state.store(payload, for: keychain, timeout: timeout) else {
            throw CocoaError(.fileNoSuchFile)
        }
        return (state, keychain, url)
    }

    @Test func `the first process that finds an expired file removes it`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let (state, keychain, url) = try stored(in: directory, timeout: 1)
        usleep(2_100_000)
        #expect(try state.load(keychain) == nil)
        #expect(!FileManager.default.fileExists(atPath: url.path))
    }

    @Test func `a state stored while another process removes the expired one stays, and is found`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let (state, keychain, url) = try stored(in: directory, timeout: 1)
        let runtime = url.deletingLastPathComponent()
        let newer = runtime.appendingPathComponent("newer")
        try PrivateFile.write(UnlockedRecord(payload: SecretBytes(utf8: "newer"), timeout: 3600).encoded, to: newer)
        usleep(2_100_000)
        let found = Lock<String?>(nil)
        let ended = DispatchSemaphore(value: 0)
        let lock = runtime.appendingPathComponent("unlocked.lock")
        try FileLock.holding(lock, deadline: .after(.seconds(60))) { () throws(KeychainError) in
            Thread.detachNewThread {
                do {
                    let text = try state.load(keychain)?.copyString()
                    found.withLock { $0 = text }
                } catch { Issue.record(error) }
                ended.signal()
            }
            // Until it has seen that the state has expired; it waits for the lock then.
            usleep(500_000)
            let result = unsafe rename(newer.path, url.path)
            #expect(result == 0)
        }
        ended.wait()
        #expect(found.withLock { $0 } == "newer")
        #expect(try state.load(keychain)?.copyString() == "newer")
    }

    @Test func `files left by kills during a write are removed when the keychain is locked or unlocked`()
        throws
    {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let directories = Directories(root: URL(fileURLWithPath: directory.path))
        let state = UnlockedState(directories: directories, usesKernelKeyring: false)
        let (keychain, other) = (UUID().uuidString, UUID().uuidString)
        func leave(_ keychain: String) throws -> String {
            let name = "unlocked-\(keychain.lowercased()).3w5e11264sgsf.new"
            let url = directories.runtime.appendingPathComponent(name)
            try PrivateFile.createDirectory(directories.runtime)
            try PrivateFile.write(payload, to: url)
            return url.path
        }
        let foreign = try leave(other)
        for action in ["store", "store", "remove", "remove"] {
            let left = try leave(keychain)
            if action == "store" {
                try state.store(payload, for: keychain, timeout: 60)
                #expect(try state.load(keychain) == payload)
            } else {
                try state.remove(keychain)
            }
            #expect(!FileManager.default.fileExists(atPath: left), "\(action)")
        }
        #expect(FileManager.default.fileExists(atPath: foreign))
    }

    @Test func `only the payload that was read is removed`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let state = UnlockedState(
            directories: Directories(root: URL(fileURLWithPath: directory.path)), usesKernelKeyring: false)
        let keychain = UUID().uuidString
        try state.store(payload, for: keychain, timeout: 60)
        try state.remove(keychain) { $0.payload == SecretBytes(utf8: "an older one") }
        #expect(try state.load(keychain) == payload)
        try state.remove(keychain) { $0.payload == payload }
        #expect(try state.load(keychain) == nil)
    }

    @Test(.enabled(if: hasKeyring, "this kernel keeps no keys for us (add_key is forbidden)"))
    func `the kernel's keyring removes only the payload that was read`() throws {
        let name = "keyfob:test-\(UUID().uuidString)"
        defer { _ = KernelKeyring.remove(name) }
        #expect(KernelKeyring.store(payload, as: name, seconds: 60))
        KernelKeyring.remove(name, ifStill: SecretBytes(utf8: "an older one"))
        guard case .found(let stored) = KernelKeyring.load(name), stored == payload else {
            Issue.record("another payload was removed")
            return
        }
        KernelKeyring.remove(name, ifStill: payload)
        guard case .absent = KernelKeyring.load(name) else {
            Issue.record("the payload is still there")
            return
        }
    }

    @Test func `a file of another boot, a cut one and one that others can read give nothing`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let (state, keychain, url) = try stored(in: directory, timeout: 60)
        var bytes = try Data(contentsOf: url)
        bytes[6] ^= 1
        try PrivateFile.write(SecretBytes(bytes), to: url)
        #expect(try state.load(keychain) == nil)
        try PrivateFile.write(SecretBytes(bytes.prefix(20)), to: url)
        #expect(try state.load(keychain) == nil)
        try state.store(payload, for: keychain, timeout: 60)
        unsafe chmod(url.path, 0o644)
        #expect(code { _ = try state.load(keychain) } == .unsafeFile)
        unsafe chmod(url.path, 0o600)
        unsafe chmod(url.deletingLastPathComponent().path, 0o777)
        #expect(code { _ = try state.load(keychain) } == .unsafeFile)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives directories away"))
    func `another user's runtime directory is not read, and refused only for writing`()
        throws
    {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let directories = Directories(root: URL(fileURLWithPath: directory.path))
        let keychain = UUID().uuidString
        try PrivateFile.createDirectory(directories.runtime)
        try #require(unsafe chown(directories.runtime.path, 65_533, 65_533) == 0)
        let file = UnlockedState(directories: directories, usesKernelKeyring: false)
        #expect(try file.load(keychain) == nil && !file.remove(keychain))
        let error = try #require(throws: KeychainError.self) { try file.store(payload, for: keychain, timeout: 60) }
        #expect(error.code == .unsafeFile && error.hint?.contains("XDG_RUNTIME_DIR") == true)
        guard Self.hasKeyring else { return }
        let state = UnlockedState(directories: directories)
        #expect(try state.store(payload, for: keychain, timeout: 60) == .kernelKeyring)
        #expect(try state.load(keychain) == payload && state.remove(keychain))
    }

    @Test func `a file in the place of the runtime directory is refused, and the error proposes a directory`() throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let directories = Directories(root: URL(fileURLWithPath: directory.path))
        _ = try directory.write([], to: "runtime")
        let state = UnlockedState(directories: directories, usesKernelKeyring: false)
        let error = try #require(throws: KeychainError.self) { _ = try state.load(UUID().uuidString) }
        #expect(error.code == .unsafeFile && error.hint == "Use a directory of your own, mode 0700.")
    }

    @Test(arguments: ["", "login", "../../etc/passwd"])
    func `only a UUID names a keychain`(name: String) throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let state = UnlockedState(directories: Directories(root: URL(fileURLWithPath: directory.path)))
        #expect(code { try state.store(payload, for: name, timeout: 1) } == .invalidArgument)
        #expect(code { _ = try state.load(name) } == .invalidArgument)
        #expect(code { try state.store(payload, for: UUID().uuidString, timeout: -1) } == .invalidArgument)
        let large = SecretBytes(repeatElement(1, count: UnlockedState.maximumLength + 1))
        #expect(code { try state.store(large, for: UUID().uuidString, timeout: 1) } == .invalidArgument)
    }

    @Test(arguments: [true, false])
    func `the largest payload is returned completely`(usesKernelKeyring: Bool) throws {
        let directory = try TemporaryDirectory(in: "/dev/shm")
        let state = UnlockedState(
            directories: Directories(root: URL(fileURLWithPath: directory.path)), usesKernelKeyring: usesKernelKeyring)
        let keychain = UUID().uuidString
        let large = SecretBytes((0..<UnlockedState.maximumLength).map { UInt8(truncatingIfNeeded: $0) })
        try state.store(large, for: keychain, timeout: 60)
        #expect(try state.load(keychain) == large)
        try state.remove(keychain)
    }

    /// A directory on a disk, and Keyfob's directories below it.
    private func onDisk() throws -> (TemporaryDirectory, Directories) {
        let directory = try TemporaryDirectory(in: "/var/tmp")
        return (directory, Directories(root: URL(fileURLWithPath: directory.path)))
    }

    static let hasDisk = !MemoryFileSystem.holds("/var/tmp")

    @Test(.enabled(if: hasDisk, "/var/tmp is in memory"), arguments: [true, false])
    func `if the runtime directory is on a disk, memory keeps the payload`(isMade: Bool) throws {
        let (directory, directories) = try onDisk()
        let memory = try TemporaryDirectory(in: "/dev/shm")
        if isMade { try PrivateFile.createDirectory(directories.runtime) }
        let state = UnlockedState(
            directories: directories, usesKernelKeyring: false, fallback: memory.url("keyfob"))
        let keychain = UUID().uuidString
        let file = memory.url("keyfob/unlocked-" + keychain.lowercased())
        #expect(try roundTrip(state, keychain) == .runtimeFile(file))
        try state.store(payload, for: keychain, timeout: 60)
        var status = stat()
        #expect(unsafe lstat(memory.file("keyfob"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        let left = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        #expect(!left.contains { $0.contains("unlocked-") }, "\(left)")
    }

    @Test(.enabled(if: hasDisk, "/var/tmp is in memory"))
    func `without such memory nothing is stored, and the result says so`() throws {
        let (directory, directories) = try onDisk()
        let state = UnlockedState(
            directories: directories, usesKernelKeyring: false, fallback: directory.url("fallback"))
        let keychain = UUID().uuidString
        let error = try #require(throws: KeychainError.self) { try state.store(payload, for: keychain, timeout: 60) }
        #expect(error.code == .refused)
        #expect(error.message.contains("XDG_RUNTIME_DIR") && error.message.contains("/dev/shm"))
        #expect(try state.load(keychain) == nil)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test(.enabled(if: hasDisk, "/var/tmp is in memory"), arguments: ["load", "store", "remove"])
    func `a file that an earlier version left on a disk is ignored and removed`(action: String) throws {
        let (directory, directories) = try onDisk()
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let state = UnlockedState(
            directories: directories, usesKernelKeyring: false, fallback: memory.url("keyfob"))
        let keychain = UUID().uuidString
        let old = directories.runtime.appendingPathComponent("unlocked-" + keychain.lowercased())
        try PrivateFile.createDirectory(directories.runtime)
        try PrivateFile.write(UnlockedRecord(payload: payload, timeout: 60).encoded, to: old)
        switch action {
        case "load": #expect(try state.load(keychain) == nil)
        case "store": try state.store(payload, for: keychain, timeout: 60)
        default: #expect(try state.remove(keychain))
        }
        #expect(!FileManager.default.fileExists(atPath: old.path))
        withExtendedLifetime(directory) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives directories away"), arguments: [0o700, 0o777])
    func `a directory in its place that another user can use is refused`(mode: mode_t) throws {
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let directories = Directories(root: URL(fileURLWithPath: memory.path))
        try PrivateFile.createDirectory(directories.runtime)
        if mode == 0o700 { try #require(unsafe chown(directories.runtime.path, 65_533, 65_533) == 0) }
        try #require(unsafe chmod(directories.runtime.path, mode) == 0)
        let state = UnlockedState(directories: directories, usesKernelKeyring: false)
        #expect(code { try state.store(payload, for: UUID().uuidString, timeout: 60) } == .unsafeFile)
    }
}
