import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The keychain of one test, and ways to bypass it.
///
/// Its token is a SoftHSM token of its own, in this process' directory, or the token of the run.
final class TestKeychain: Sendable {
    let keychain: Keychain
    let directories: Directories
    /// Removes the keychain and its token; `nil` on the token of the run.
    private let throwaway: ThrowawayKeychain?
    private let folder: TemporaryDirectory?
    var configuration: KeychainConfiguration { keychain.configuration }

    init(_ options: Keychain.Options = .init()) throws {
        if let token = TokenUnderTest.current {
            let folder = try TemporaryDirectory()
            let directories = Directories(root: folder.url("home"))
            keychain = try Keychains(directories).create(
                "test",
                on: .existing(
                    token.uri, .path(token.modulePath), pin: SecretBytes(token.pin),
                    pinSource: .file(folder.write(Array(token.pin.utf8), to: "pin"))),
                wrappingKey: token.kind.wrappingKey.map { try PKCS11URI($0) }, options: options
            ).keychain
            (self.directories, self.folder, throwaway) = (directories, folder, nil)
        } else {
            let throwaway = try TestToken.retrying { try ThrowawayKeychain(options: options, tokens: Self.tokens) }
            (keychain, directories, self.throwaway, folder) =
                (throwaway.keychain, throwaway.directories, throwaway, nil)
        }
    }

    deinit {
        guard let token = TokenUnderTest.current else { return }
        do { try token.clear() } catch { Issue.record("the objects of the test stay on the token: \(error)") }
    }

    /// The directory that this process is bound to, also for users of SoftHSM that know nothing of Keyfob.
    static var tokens: URL { URL(fileURLWithPath: TestToken.configurationPath).deletingLastPathComponent() }

    /// The same keychain, opened again as another process would.
    func reopen(_ options: Keychain.Options = .init()) throws -> Keychain {
        try Keychain.open(keychain.name, in: directories, options: options)
    }

    /// The same keychain, which waits for its vault until `timeout`, and for the token as long as this one: other tests
    /// may delay every user of the token.
    func reopen(waitingForVault timeout: Duration) throws -> Keychain {
        var options = Keychain.Options()
        options.timeout = timeout
        let store = try SQLiteStore(
            path: configuration.vault, keychain: keychain.name, use: .server, busyTimeout: options.timeoutInSeconds)
        return Keychain(
            configuration: configuration, directories: directories, options: options, store: store,
            token: keychain.token, lockState: keychain.lockState)
    }

    var pin: String {
        get throws {
            let source = try #require(configuration.pinSource)
            return try String(contentsOfFile: String(source.dropFirst(5)), encoding: .utf8)
        }
    }

    /// Leaves the unlocked state, but with a wrong PIN for the token: as after another program changed it.
    func leaveStalePIN() throws -> SecretBytes {
        let keys = try keychain.vaultKeys()
        try keychain.lock()
        let stale = SecretBytes(utf8: "9999999")
        let payload = SecretBytes(
            [0, UInt8(stale.count)] + stale.copyBytes() + keys.metadataKey.copyBytes() + keychain.store.identity)
        try keychain.unlockedState.store(payload, for: keychain.stateName, timeout: 60)
        return stale
    }

    /// Runs pkcs11-tool on the token, logged in.
    @discardableResult
    func tool(_ arguments: [String], stdin: [UInt8] = []) throws -> RunResult {
        let result =
            if let token = TokenUnderTest.current {
                try token.runTool(arguments, stdin: stdin)
            } else {
                try TestToken.runTool(arguments, onToken: keychain.name, pin: pin, stdin: stdin)
            }
        try #require(result.status == 0, "pkcs11-tool \(arguments): \(result.stderr)")
        return result
    }

    /// A separate connection to the vault's file, as of any other program.
    func sql<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let queue = try DatabaseQueue(path: configuration.vault)
        return try queue.writeWithoutTransaction(body)
    }

    /// Copies the vault to a file that no connection has open.
    ///
    /// - Returns: Its path.
    func copyVault() throws -> String {
        let folder = URL(fileURLWithPath: configuration.vault).deletingLastPathComponent()
        let copy = folder.appendingPathComponent("copy.sqlite").path
        try sql { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy)
        // A vault is in this mode from its beginning; a copy is not.
        try DatabaseQueue(path: copy).writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        return copy
    }

    /// A second vault for the same token.
    var vaultFiles: [String] { ["", "-journal"].map { configuration.vault + $0 } }
}

extension TokenStore {
    /// Runs `body`, and again if another test of this process has initialised SoftHSM in the meantime: that ends all
    /// sessions and their objects.
    func undisturbed<Result>(_ body: () throws -> Result) throws -> Result {
        for _ in 0..<20 {
            let before = generation
            let result = Swift.Result { try body() }
            if generation == before { return try result.get() }
        }
        return try body()
    }
}

/// The code of the `KeychainError` that `body` throws; `nil` if it throws none.
func code(_ body: () throws -> Void) -> KeychainError.Code? {
    do {
        try body()
        return nil
    } catch let error as KeychainError {
        return error.code
    } catch {
        Issue.record("not a KeychainError: \(error)")
        return nil
    }
}

/// Certificates made by the openssl command.
struct TestCertificate {
    let directory: TemporaryDirectory
    var der: Data { get throws { try Data(contentsOf: directory.url("cert.der")) } }
    var keyPEM: Data { get throws { try Data(contentsOf: directory.url("key.pem")) } }

    init(_ name: String = "example.org", key: [String] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], days: Int = 30)
        throws
    {
        directory = try TemporaryDirectory()
        try openssl(
            ["req", "-x509", "-nodes", "-subj", "/CN=\(name)", "-days", "\(days)", "-addext", "subjectAltName=DNS:\(name)"]
                + key + ["-keyout", directory.file("key.pem"), "-outform", "DER", "-out", directory.file("cert.der")])
    }
}

@discardableResult
func openssl(_ arguments: [String], stdin: [UInt8] = []) throws -> RunResult {
    let result = try run("openssl", arguments, stdin: stdin)
    try #require(result.status == 0, "openssl \(arguments): \(result.stderr)")
    return result
}

extension SecretBytes {
    init(_ text: String) { self.init(utf8: text) }
}
