import Foundation
import Glibc
public import KeyfobPrimitives
public import PKCS11

/// A SoftHSM token that belongs to one test.
///
/// SoftHSM reads its configuration once per process. So all tests of a process share one directory, created with the
/// first token and removed when the process ends; each test has its own token in it. Safe to use from tests that run in
/// parallel.
public struct TestToken: Sendable {
    /// SoftHSM, initialised with this process' directory.
    public let module: Module
    /// The token's slot in this process; another process must search for `label`.
    public let slot: Slot
    /// The token's label, which is unique.
    public let label: String
    /// The token's serial number.
    public let serialNumber: String
    /// The user's PIN.
    public let pin = SecretBytes(utf8: Self.pinText)
    /// The security officer's PIN.
    public let securityOfficerPIN = SecretBytes(utf8: Self.securityOfficerPINText)

    /// The user's PIN of every test token, for the command lines of child processes.
    public static let pinText = "1234-user"
    /// The security officer's PIN of every test token.
    public static let securityOfficerPINText = "5678-officer"
    /// The path of the SoftHSM library.
    public static let modulePath = "/usr/lib/softhsm/libsofthsm2.so"

    /// The `softhsm2.conf` of this process; pass it to a child as `SOFTHSM2_CONF`.
    public static var configurationPath: String { directory + "/softhsm2.conf" }
    /// The `softhsm2.conf` of this process; pass it to a child as `SOFTHSM2_CONF`.
    public var configurationPath: String { Self.configurationPath }
    /// The environment variables with which a child finds the token.
    public var environment: [String: String] { ["SOFTHSM2_CONF": configurationPath] }

    /// A URI that identifies the token by label and serial number.
    public var uri: PKCS11URI {
        var uri = PKCS11URI()
        uri.token = label
        uri.serial = serialNumber
        return uri
    }

    /// Creates an empty token with both PINs set.
    ///
    /// - Parameter label: The beginning of the unique label; at most 20 bytes of it are used.
    /// - Throws: `PKCS11Error` of the call that failed.
    public static func make(label: String = "test") throws -> TestToken {
        let module = try loadModule()
        // The code under test uses the free slot, too (`SoftHSMDirectory.createToken`), and then initialises SoftHSM
        // again. That ends all sessions and renumbers the slots, and leaves a token that is being created incomplete.
        let deadline = Deadline.after(.seconds(30))
        while true {
            let generation = module.generation
            do {
                let token = try make(label, in: module)
                if module.generation == generation || deadline.hasPassed { return token }
            } catch let error as PKCS11Error {
                guard !deadline.hasPassed else { throw error }
            }
            usleep(20_000)
        }
    }

    /// Runs `body`, which creates an object with a new token, such as a keychain, up to five times until it succeeds.
    ///
    /// It may fail because logins of other tests of the process rewrite SoftHSM's files.
    ///
    /// - Throws: `PKCS11Error` if the module cannot be loaded; the last error of `body`.
    public static func retrying<Result>(_ body: () throws -> Result) throws -> Result {
        _ = try loadModule()
        for _ in 0..<4 {
            do { return try body() } catch { usleep(200_000) }
        }
        return try body()
    }

    private static func make(_ label: String, in module: Module) throws -> TestToken {
        let unique = String(label.prefix(20)) + "-" + UUID().uuidString.suffix(10)
        // SoftHSM has one free slot at a time, and a new token occupies it.
        let token = try initialization.withLock { _ in try initializeToken(unique, module) }
        try token.initializePIN()
        return token
    }

    private static func initializeToken(_ label: String, _ module: Module) throws -> TestToken {
        // The newest slot is the free one, unless the module was initialised again. Do not read other slots: SoftHSM
        // may treat a token as broken if it reads it while another test logs in to it.
        guard let slot = try module.slots().newestFirst.first(where: { slot in
            (try? slot.tokenInfo()).map { !$0.flags.contains(.tokenInitialized) } ?? false
        })
        else {
            // This happens for a moment after another test has taken the free slot.
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent, detail: "no free slot")
        }
        try slot.initializeToken(label: label, securityOfficerPIN: SecretBytes(utf8: securityOfficerPINText))
        return TestToken(
            module: module, slot: slot, label: label, serialNumber: try slot.tokenInfo().serialNumber)
    }

    private func initializePIN() throws {
        let session = try slot.openSession()
        try session.login(.securityOfficer, pin: securityOfficerPIN)
        try session.initializePIN(pin)
        try session.logout()
        try session.close()
    }

    /// Returns the same token in the test's own module, which no other test initialises again.
    ///
    /// A new initialisation would end all sessions and renumber the slots. Code that loads the library while `faulty`
    /// lives sees the token, too. The library's path may be a different one afterwards.
    ///
    /// - Throws: `PKCS11Error` if the module cannot be loaded, or was loaded before the token was created.
    public func behind(_ faulty: FaultyModule) throws -> TestToken {
        var module = try Module.load(path: faulty.path)
        if try module.slot(matching: uri) == nil {
            // Seen once in some hundred runs, and never while debugging.
            print("note: a SoftHSM that has just been loaded does not know \(label); \(try sight(in: module))")
            try faulty.startAnew()
            module = try Module.load(path: faulty.path)
        }
        faulty.keep(module)
        return TestToken(
            module: module, slot: try Self.findSlot(of: uri, in: module), label: label, serialNumber: serialNumber)
    }

    /// Describes all tokens that a module shows, and the files of this token.
    private func sight(in module: Module) throws -> String {
        let slots = try module.slots().map { slot in
            do { return "\(slot.id) \(try slot.tokenInfo().serialNumber)" } catch { return "\(slot.id) \(error)" }
        }
        // SoftHSM uses the end of the directory's name as the serial number.
        let files = try run("sh", ["-c", "ls -l \"$0\"/tokens/*\"$1\"", Self.directory, String(serialNumber.suffix(12))])
        return "slots: \(slots.joined(separator: ", ")); files: \(files.stdout)\(files.stderr)"
    }

    private static func findSlot(of uri: PKCS11URI, in module: Module) throws -> Slot {
        guard let slot = try module.slot(matching: uri) else {
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent, detail: uri.token)
        }
        return slot
    }

    /// Runs `body` in a session with a token that the code under test created, bypassing that code.
    ///
    /// Repeats it if another test initialises the module in the meantime, which ends all sessions and logins. The token
    /// is identified by label and serial number, so that other tokens are not read. SoftHSM may treat a token as broken
    /// if it reads it while another test logs in to it.
    ///
    /// - Parameter pin: The user's PIN, if the session is to be logged in.
    /// - Throws: `PKCS11Error`, with `tokenNotPresent` if the token does not exist; the errors of `body`.
    public static func withSession<Result>(
        _ uri: PKCS11URI, pin: SecretBytes? = nil, _ body: (borrowing Session) throws -> Result
    ) throws -> Result {
        let module = try loadModule()
        let deadline = Deadline.after(.seconds(30))
        while true {
            let generation = module.generation
            do {
                let session = try findSlot(of: uri, in: module).openSession()
                if let pin { try logIn(session, pin) }
                return try body(session)
            } catch let error as PKCS11Error {
                guard module.generation != generation, !deadline.hasPassed else { throw error }
            }
        }
    }

    /// Opens a session with the token, logged in by default.
    ///
    /// The login ends when the last session of the test is closed.
    ///
    /// - Throws: `PKCS11Error` of `C_OpenSession` or `C_Login`.
    public func openSession(readWrite: Bool = true, loggedIn: Bool = true) throws -> Session {
        let session = try slot.openSession(readWrite: readWrite)
        if loggedIn {
            try Self.logIn(session, pin)
        }
        return session
    }

    private static func logIn(_ session: borrowing Session, _ pin: SecretBytes) throws {
        do throws(PKCS11Error) {
            try session.login(pin: pin)
        } catch {
            guard error.returnValue == .userAlreadyLoggedIn else { throw error }
        }
    }

    /// Runs pkcs11-tool on a token of this process' directory, logged in, as another program would.
    ///
    /// - Throws: `RunError`; a failure of the tool is a result.
    public static func runTool(
        _ arguments: [String], onToken label: String, pin: String, stdin: [UInt8] = []
    ) throws -> RunResult {
        try run(
            "pkcs11-tool", ["--module", modulePath, "--token-label", label, "--login", "--pin", pin] + arguments,
            stdin: stdin, environment: ["SOFTHSM2_CONF": configurationPath])
    }

    /// Loads SoftHSM with this process' directory, for tests that need no token.
    ///
    /// - Throws: `PKCS11Error` if it cannot be loaded.
    public static func loadModule() throws -> Module {
        // Create the directory before the module reads its configuration.
        _ = directory
        return try keeper.withLock { try keep(&$0) }
    }

    private static func keep(_ module: inout Module?) throws(PKCS11Error) -> Module {
        if let module { return module }
        let loaded = try Module.load(path: modulePath)
        module = loaded
        return loaded
    }

    private static let initialization = Lock(0)
    /// Keeps the module initialised between tests.
    private static let keeper = Lock<Module?>(nil)

    /// The directory that `ThrowawayKeychain` uses in this process, too, since SoftHSM has one directory per process.
    private static let directoryPath: String = {
        // Field 22 of proc(5): the start time of the process.
        let line = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ")"
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
        return NSTemporaryDirectory() + "keyfob-softhsm-\(getpid())-\(fields.count > 20 ? String(fields[20]) : "0")"
    }()

    /// The same path, after creating the directory and setting the environment variable.
    private static let directory: String = {
        let path = directoryPath
        let configuration = """
            directories.tokendir = \(path)/tokens
            objectstore.backend = file
            log.level = ERROR
            slots.removable = false

            """
        do {
            try FileManager.default.createDirectory(
                atPath: path + "/tokens", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: path + "/softhsm2.conf"), options: .atomic)
        } catch {
            preconditionFailure("tests need a temporary directory: \(error)")
        }
        unsafe setenv("SOFTHSM2_CONF", path + "/softhsm2.conf", 1)
        atexit {
            // A failure cannot be handled here, and the next boot empties the directory anyway.
            do { try FileManager.default.removeItem(atPath: TestToken.directoryPath) } catch {}
        }
        return path
    }()
}
