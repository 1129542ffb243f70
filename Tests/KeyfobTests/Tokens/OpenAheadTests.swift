import Foundation
import KeyfobPrimitives
import KeyfobTesting
import Testing

@testable import Keyfob

@Suite struct OpenAheadTests {
    private static var options: Keychain.Options {
        var options = Keychain.Options()
        options.isOneShot = true
        options.warmsUpToken = true
        return options
    }

    @Test func `a keychain whose token is opened in advance reads secrets, whether locked or unlocked`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        for isUnlocked in [false, true] {
            if isUnlocked {
                _ = try test.keychain.unlockForSession()
            } else {
                try test.keychain.unlockedState.remove(test.keychain.stateName)
            }
            let keychain = try test.reopen(Self.options)
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        }
    }

    @Test func `a PIN that the token refuses is sent once, and the refusal is reported`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        _ = try test.leaveStalePIN()
        let keychain = try test.reopen(Self.options)
        let item = try keychain.only(.genericPassword(service: "a"))
        #expect(code { _ = try keychain.secret(of: item) } == .pinIncorrect)
        // The PIN is then forgotten, and the PIN source is used.
        #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        try test.keychain.unlockedState.remove(test.keychain.stateName)
    }

    @Test func `a missing vault is reported even if the token could be opened`() throws {
        let test = try TestKeychain()
        var configuration = test.configuration
        configuration.directory.appendPathComponent("missing", isDirectory: true)
        let error = #expect(throws: KeychainError.self) {
            try Keychains(test.directories).open(configuration, options: Self.options)
        }
        #expect(error?.code == .vaultUnavailable)
    }

    @Test func `a module in use is not mistaken for one that is only mapped`() throws {
        let test = try TestKeychain()
        _ = try test.keychain.token.pool()
        try #require(SoftHSMPresence.mayBeInUse)
        // Mapping it now maps a library that other threads are using.
        SoftHSMDirectory.mapModule()
        #expect(SoftHSMPresence.mayBeInUse)
    }

    /// Runs `body` while no token can be opened, for the next fifth of a second.
    ///
    /// During that time a file exists, whose path is passed to `body`. Code that finds the file did not wait for the
    /// token.
    private func holdingUpLogins(of test: TestKeychain, _ body: (String) throws -> Void) throws {
        let lock = TestKeychain.tokens.appendingPathComponent("softhsm.lock", isDirectory: false)
        let mark = test.directories.data.appendingPathComponent("held-up").path
        let isHeld = Lock(false)
        let holder = try #require(
            POSIXThread.start("test") {
                do {
                    // Unlike this call, other code continues without the lock if it is not free soon.
                    try FileLock.holding(lock, deadline: .after(.seconds(60))) { () throws(KeychainError) in
                        #expect(FileManager.default.createFile(atPath: mark, contents: nil))
                        isHeld.withLock { $0 = true }
                        isHeld.broadcast()
                        usleep(200_000)
                        #expect(unsafe unlink(mark) == 0)
                    }
                } catch {
                    Issue.record(error)
                }
            })
        defer { holder.join() }
        try #require(isHeld.wait(until: .after(.seconds(60))) { $0 ? true : nil } == true)
        try body(mark)
    }

    @Test func `closing a keychain waits until the token has been opened`() throws {
        let test = try TestKeychain()
        _ = try test.keychain.unlockForSession()
        try holdingUpLogins(of: test) { mark in
            _ = try test.reopen(Self.options)
            #expect(!FileManager.default.fileExists(atPath: mark))
        }
        try test.keychain.unlockedState.remove(test.keychain.stateName)
    }

    @Test func `a vault that cannot be opened is reported after the token has been opened`() throws {
        let test = try TestKeychain()
        var configuration = test.configuration
        configuration.directory.appendPathComponent("missing", isDirectory: true)
        try holdingUpLogins(of: test) { mark in
            let refusal = code { _ = try Keychains(test.directories).open(configuration, options: Self.options) }
            #expect(refusal == .vaultUnavailable)
            #expect(!FileManager.default.fileExists(atPath: mark))
        }
    }

    @Test func `a PIN source is read after the token has been opened, because it may change the environment`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        try test.keychain.unlockedState.remove(test.keychain.stateName)
        let log = test.directories.data.appendingPathComponent("log").path
        var options = Self.options
        try holdingUpLogins(of: test) { mark in
            options.pinSource = .command("test -e '\(mark)' && echo early > '\(log)'; echo \(try test.pin)")
            let keychain = try test.reopen(options)
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        }
        #expect(!FileManager.default.fileExists(atPath: log))
        try test.keychain.unlockedState.remove(test.keychain.stateName)
    }
}
