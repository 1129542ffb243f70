import Foundation
import Glibc
public import KeyfobPrimitives
public import PKCS11

/// A SoftHSM token that belongs to one test.
///
/// SoftHSM reads its configuration once per process, so all tests of a process share a directory of their own, made
/// with the first token and removed when the process ends; each test has its own token in it. Safe to call from
/// tests that run in parallel.
public struct TestToken: Sendable {
    /// SoftHSM, initialised on this process' own directory.
    public let module: Module
    /// Where the token is in this process; another process must look for `label`.
    public let slot: Slot
    /// The token's label, which no other token has.
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
    /// The library.
    public static let modulePath = "/usr/lib/softhsm/libsofthsm2.so"

    /// The `softhsm2.conf` of this process: give it to a child as `SOFTHSM2_CONF`.
    public static var configurationPath: String { directory + "/softhsm2.conf" }
    /// The `softhsm2.conf` of this process: give it to a child as `SOFTHSM2_CONF`.
    public var configurationPath: String { Self.configurationPath }
    /// The environment in which a child finds the token.
    public var environment: [String: String] { ["SOFTHSM2_CONF": configurationPath] }

    /// Names the token: by label and serial number.
    public var uri: PKCS11URI {
        var uri = PKCS11URI()
        uri.token = label
        uri.serial = serialNumber
        return uri
    }

    /// Makes a token with both PINs set and nothing on it.
    ///
    /// - Parameter label: how the unique label begins; at most 20 bytes of it are used.
    /// - Throws: `PKCS11Error` of whatever failed.
    public static func make(label: String = "test") throws -> TestToken {
        let module = try loadModule()
        // The library's own code under test takes the free slot, too (`SoftHSMDirectory.createToken`), and has SoftHSM
        // look anew, which ends all sessions and numbers the slots differently. What is half made then stays as it is.
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

    /// Makes something on a new token that the code under test makes, such as a keychain: five times at most.
    ///
    /// Making a token meets the logins of the other tests of the process, which rewrite SoftHSM's files.
    ///
    /// - Throws: `PKCS11Error` where the module cannot be loaded; what `body` throws the last time.
    public static func retrying<Result>(_ body: () throws -> Result) throws -> Result {
        _ = try loadModule()
        for _ in 0..<4 {
            do { return try body() } catch { usleep(200_000) }
        }
        return try body()
    }

    private static func make(_ label: String, in module: Module) throws -> TestToken {
        let unique = String(label.prefix(20)) + "-" + UUID().uuidString.suffix(10)
        // SoftHSM has one free slot at a time, and a new token takes it.
        let token = try initialization.withLock { _ in try initializeToken(unique, module) }
        try token.initializePIN()
        return token
    }

    private static func initializeToken(_ label: String, _ module: Module) throws -> TestToken {
        // The newest slot is the free one, unless the module was initialised again. Others are not asked: SoftHSM may
        // take a token for broken that it reads while another test logs in to it.
        guard let slot = try module.slots().newestFirst.first(where: { slot in
            (try? slot.tokenInfo()).map { !$0.flags.contains(.tokenInitialized) } ?? false
        })
        else {
            // So it is, for a moment, where somebody has just taken the one there was.
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

    /// The same token in a module of the test's own, which no other test initialises anew: that ends all sessions, and
    /// numbers the slots differently. Whoever loads that library while `faulty` lives sees the token, too; its path may
    /// be another one now.
    ///
    /// - Throws: `PKCS11Error` where it cannot be loaded, or was loaded before the token was made.
    public func behind(_ faulty: FaultyModule) throws -> TestToken {
        var module = try Module.load(path: faulty.path)
        if try module.slot(matching: uri) == nil {
            // Seen once in some hundred runs, and never where somebody was looking.
            print("note: a SoftHSM that has just been loaded does not know \(label); \(try sight(in: module))")
            try faulty.startAnew()
            module = try Module.load(path: faulty.path)
        }
        faulty.keep(module)
        return TestToken(
            module: module, slot: try Self.findSlot(of: uri, in: module), label: label, serialNumber: serialNumber)
    }

    /// What a module says of all tokens, and what of this one there is on the disk.
    private func sight(in module: Module) throws -> String {
        let slots = try module.slots().map { slot in
            do { return "\(slot.id) \(try slot.tokenInfo().serialNumber)" } catch { return "\(slot.id) \(error)" }
        }
        // SoftHSM makes the serial number of the end of the directory's name.
        let files = try run("sh", ["-c", "ls -l \"$0\"/tokens/*\"$1\"", Self.directory, String(serialNumber.suffix(12))])
        return "slots: \(slots.joined(separator: ", ")); files: \(files.stdout)\(files.stderr)"
    }

    private static func findSlot(of uri: PKCS11URI, in module: Module) throws -> Slot {
        guard let slot = try module.slot(matching: uri) else {
            throw PKCS11Error(function: .getSlotList, returnValue: .tokenNotPresent, detail: uri.token)
        }
        return slot
    }

    /// Runs `body` with a session with a token that the code under test made, past that code; and again where another
    /// test has the module initialised anew meanwhile, which ends all sessions, and a login with them.
    ///
    /// The token is named by label and serial number: others are then not asked, which SoftHSM may take for broken when
    /// another test logs in to them.
    ///
    /// - Parameter pin: The user's PIN, for a session that is logged in.
    /// - Throws: `PKCS11Error`, with `tokenNotPresent` where there is no such token; what `body` throws.
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

    /// A session with the token, logged in unless said otherwise.
    ///
    /// Login is the token's: it ends when the last session of the test is closed.
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

    /// Runs pkcs11-tool on a token of this process' directory, logged in: what other programs do to it.
    ///
    /// - Throws: `RunError`; that the tool fails is a result.
    public static func runTool(
        _ arguments: [String], onToken label: String, pin: String, stdin: [UInt8] = []
    ) throws -> RunResult {
        try run(
            "pkcs11-tool", ["--module", modulePath, "--token-label", label, "--login", "--pin", pin] + arguments,
            stdin: stdin, environment: ["SOFTHSM2_CONF": configurationPath])
    }

    /// SoftHSM on this process' own directory, initialised; use it where no token is needed.
    ///
    /// - Throws: `PKCS11Error` when it cannot be loaded.
    public static func loadModule() throws -> Module {
        // Made before the module can read its configuration.
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

    /// The place that `ThrowawayKeychain` uses in this process, too: SoftHSM has one directory in a process.
    private static let directoryPath: String = {
        // Field 22 of proc(5): when the process started.
        let line = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ")"
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
        return NSTemporaryDirectory() + "keyfob-softhsm-\(getpid())-\(fields.count > 20 ? String(fields[20]) : "0")"
    }()

    /// The same path, with the directory there and the environment naming it.
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
            // Nothing could be done about a failure here, and the next boot empties the directory anyway.
            do { try FileManager.default.removeItem(atPath: TestToken.directoryPath) } catch {}
        }
        return path
    }()
}
