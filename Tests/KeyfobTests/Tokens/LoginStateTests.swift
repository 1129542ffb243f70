import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The login state of a token, and the objects that are visible in it.
@Suite struct LoginStateTests {
    /// Writes to the token as another program would, which makes the index outdated.
    private func touch(_ test: TestKeychain) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(Array("anything".utf8), to: "data")
        try test.tool(["--write-object", file, "--type", "data", "--label", "foreign"])
    }

    @Test func `private keys stay visible after reading without a PIN`() throws {
        let test = try TestKeychain()
        try test.keychain.identities.create("web", .server("web"), issuer: SelfIssuer())
        _ = try test.keychain.unlockForSession()
        try touch(test)
        // The login belongs to the process, whichever keychain made it.
        try test.keychain.token.logout()
        let keychain = try test.reopen()
        // Opens sessions that are not logged in.
        _ = try keychain.certificates.publicCertificates()
        #expect(try keychain.find(.identities).map(\.label) == ["web"])
        #expect(try test.reopen().find(.identities).map(\.label) == ["web"])
    }

    @Test func `a keychain shows all private keys after another one of the process has logged out`() throws {
        let test = try TestKeychain()
        try test.keychain.identities.create("web", .server("web"), issuer: SelfIssuer())
        let other = try test.reopen()
        #expect(try other.find(.identities).count == 1)
        try touch(test)
        try test.keychain.token.logout()
        #expect(try other.find(.identities).count == 1)
        #expect(try test.reopen().find(.identities).count == 1)
    }

    @Test func `a stored PIN that has changed is sent once, and then the PIN source is used`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let old = try test.leaveStalePIN()
        let keychain = try test.reopen()
        #expect(code { _ = try keychain.secret(of: keychain.only(.genericPassword(service: "a"))) } == .pinIncorrect)
        let memory = WrongPINMemory(directories: test.directories)
        #expect(try memory.contains(old, serial: keychain.token.uri.serial ?? "", label: keychain.token.label))
        #expect(try keychain.unlockedState.load(keychain.stateName) == nil)
        // This process and any other.
        for keychain in [keychain, try test.reopen()] {
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        }
    }

    @Test func `typing a wrong PIN does not remove the stored unlocked state`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        _ = try test.keychain.unlockForSession()
        let keychain = try test.reopen()
        let item = try keychain.only(.genericPassword(service: "a"))
        let wrong = SecretBytes(utf8: "wrong-1234")
        #expect(code { try keychain.unlock(with: wrong) } == .pinIncorrect)
        #expect(try keychain.unlockedState.load(keychain.stateName) != nil)
        let memory = WrongPINMemory(directories: test.directories)
        #expect(try !memory.contains(wrong, serial: keychain.token.uri.serial ?? "", label: keychain.token.label))
        #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
    }

    @Test func `a wrong PIN is not accepted because another keychain of the process is logged in`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let other = try test.reopen()
        #expect(code { try other.unlock(with: SecretBytes(utf8: "wrong-1234")) } == .pinIncorrect)
        let item = try test.keychain.only(.genericPassword(service: "a"))
        #expect(try test.keychain.secret(of: item) == SecretBytes(utf8: "secret"))
    }

    @Test func `a wrong PIN is not accepted because another keychain has logged in again after a lock`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let other = try test.reopen()
        try other.unlock()
        try other.lock()
        let item = try test.keychain.only(.genericPassword(service: "a"))
        #expect(try test.keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        let token = test.keychain.token
        let isLoggedIn = try token.undisturbed {
            _ = try test.keychain.secret(of: item)
            return try token.slot().openSession().info().isUserLoggedIn
        }
        #expect(isLoggedIn)
        #expect(code { try other.unlock(with: SecretBytes(utf8: "wrong-1234")) } == .pinIncorrect)
        #expect(try test.keychain.secret(of: item) == SecretBytes(utf8: "secret"))
    }

    @Test func `a wrong PIN is not accepted by a token of any other module either`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "proving")
        let module = try FaultyModule(in: directory)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychains = Keychains(Directories(root: directory.url("keyfob")))
        let keychain = try keychains.create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let other = try keychains.open(token.label)
        #expect(code { try other.unlock(with: SecretBytes(utf8: "wrong-1234")) } == .pinIncorrect)
        let item = try keychain.only(.genericPassword(service: "a"))
        #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
    }

    @Test func `threads that unlock with the same wrong stored PIN send it once`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "threads")
        let module = try FaultyModule(in: directory)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        try keychain.lock()
        try module.say("answer=C_Login,160,99")
        let memory = keychain.directories.state.appendingPathComponent("wrong-pins.json.lock", isDirectory: false)
        try PrivateFile.createDirectory(memory.deletingLastPathComponent())
        let codes = Lock<[KeychainError.Code?]>([])
        var threads: [POSIXThread.Joinable?] = []
        func unlock() {
            threads.append(
                POSIXThread.start("unlock") {
                    let answer = code { try keychain.unlock() }
                    codes.withLock { $0.append(answer) }
                })
        }
        // The thread whose PIN is refused first waits for this lock to remember it, while the others start.
        try FileLock.holding(memory, deadline: .after(.seconds(60))) { () throws(KeychainError) -> Void in
            unlock()
            let deadline = Deadline.after(.seconds(60))
            while (try? module.logins) != 1, !deadline.hasPassed { usleep(1_000) }
            for _ in 0..<7 {
                usleep(30_000)
                unlock()
            }
            usleep(100_000)
        }
        for thread in threads { try #require(thread).join() }
        #expect(try module.logins == 1)
        let answers = codes.withLock { $0 }
        #expect(answers.count { $0 == .pinIncorrect } == 1 && answers.count { $0 == .pinRemembered } == 7)
    }

    /// Makes a locked keychain whose token refuses the stored PIN from now on, and counts logins.
    private static func refusing(
        in directory: TemporaryDirectory, label: String
    ) throws -> (keychains: Keychains, token: TestToken, module: FaultyModule) {
        let token = try TestToken.make(label: label)
        let module = try FaultyModule(in: directory)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychains = Keychains(Directories(root: directory.url("keyfob")))
        try keychains.create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))
        ).keychain.lock()
        try module.say("answer=C_Login,160,99")
        return (keychains, token, module)
    }

    @Test func `processes that start together send a wrong stored PIN once`() throws {
        let directory = try TemporaryDirectory()
        let (keychains, token, module) = try Self.refusing(in: directory, label: "together")
        let memory = keychains.directories.state.appendingPathComponent("wrong-pins.json.lock", isDirectory: false)
        try PrivateFile.createDirectory(memory.deletingLastPathComponent())
        // Each has its own state, as each process would.
        let processes = try (0..<5).map { _ in try keychains.open(token.label, options: .patient) }
        let codes = Lock<[KeychainError.Code?]>([])
        var threads: [POSIXThread.Joinable?] = []
        func unlock(_ keychain: Keychain) {
            threads.append(
                POSIXThread.start("unlock") {
                    let answer = code { try keychain.unlock() }
                    codes.withLock { $0.append(answer) }
                })
        }
        // The keychain whose PIN is refused first waits for this lock to remember it, while the others start.
        try FileLock.holding(memory, deadline: .after(.seconds(60))) { () throws(KeychainError) -> Void in
            unlock(processes[0])
            let deadline = Deadline.after(.seconds(60))
            while (try? module.logins) != 1, !deadline.hasPassed { usleep(1_000) }
            for keychain in processes.dropFirst() { unlock(keychain) }
            usleep(300_000)
        }
        for thread in threads { try #require(thread).join() }
        #expect(try module.logins == 1)
        let answers = codes.withLock { $0 }
        #expect(answers.count { $0 == .pinIncorrect } == 1 && answers.count { $0 == .pinRemembered } == 4)
    }

    @Test func `a wrong stored PIN is reported as wrong even if it cannot be remembered in time`() throws {
        let directory = try TemporaryDirectory()
        let (keychains, token, module) = try Self.refusing(in: directory, label: "busy")
        var options = Keychain.Options()
        options.timeout = .seconds(1)
        let keychain = try keychains.open(token.label, options: options)
        let memory = keychain.directories.state.appendingPathComponent("wrong-pins.json.lock", isDirectory: false)
        try PrivateFile.createDirectory(memory.deletingLastPathComponent())
        try FileLock.holding(memory, deadline: .after(.seconds(60))) { () throws(KeychainError) -> Void in
            let refusal = #expect(throws: KeychainError.self) { try keychain.unlock() }
            #expect(refusal?.code == .pinIncorrect && refusal?.hint?.contains("could not be noted") == true)
            // This process remembers it in memory.
            #expect(code { try keychain.unlock() } == .pinRemembered)
        }
        #expect(try module.logins == 1)
    }

    @Test func `a stored PIN is sent even if there is no place for the lock file`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("no directory".utf8, to: "state")
        let memory = WrongPINMemory(directories: Directories(root: URL(fileURLWithPath: directory.path)))
        let answer = try memory.sending(serial: "1", label: "a", deadline: .after(.zero)) { 7 }
        #expect(answer == 7)
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test func `a refused wrong PIN does not restore the right one after the keychain was locked`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        try keychain.unlock()
        // Called after the refusal and before `unlock` returns.
        keychain.token.refusedPIN.withLock { refused in
            refused = { [weak keychain] in
                do { try keychain?.lock() } catch { Issue.record(error) }
            }
        }
        #expect(code { try keychain.unlock(with: SecretBytes(utf8: "wrong-1234")) } == .pinIncorrect)
        #expect(keychain.lockState.withLock { $0.pin == nil && $0.keys == nil })
    }

    @Test(arguments: [true, false])
    func `a keychain that is locked while its PIN is being sent to the token stays locked`(isSent: Bool) throws {
        let test = try TestKeychain()
        // The token must have been reached before disturbances can be detected.
        _ = try test.keychain.token.pool()
        let (answer, isWiped, isLoggedIn) = try test.keychain.token.undisturbed {
            try unlockWhileLocked(test, isSent: isSent)
        }
        // Without the PIN the token does not show the wrapping key; this must not be reported as a loss.
        let expected: KeychainError.Code? = isSent ? nil : .locked
        #expect(answer == expected && isWiped && !isLoggedIn)
    }

    /// Unlocks a keychain that is locked as soon as its PIN is requested.
    private func unlockWhileLocked(
        _ test: TestKeychain, isSent: Bool
    ) throws -> (answer: KeychainError.Code?, isWiped: Bool, isLoggedIn: Bool) {
        let pin = SecretBytes(utf8: try test.pin)
        let state = Lock(Keychain.LockState())
        // Longer than other tests block sessions.
        let token = TokenStore(
            uri: test.keychain.token.uri, softHSM: nil, configuration: .init(deadline: .seconds(120)),
            openModule: { try TestToken.loadModule() },
            pin: {
                // The part of `lock()` that does not wait for a login, such as this one.
                state.withLock { state in
                    defer {
                        state.pin = nil
                        state.lockings += 1
                    }
                    return isSent ? state.tokenPIN : nil
                }
            })
        let keychain = Keychain(
            configuration: test.keychain.configuration, directories: test.directories, options: .init(),
            store: test.keychain.store, token: token, lockState: state)
        try test.keychain.lock()
        let answer = code { try keychain.unlock(with: pin) }
        let isLoggedIn = try token.slot().openSession().info().isUserLoggedIn
        return (answer, state.withLock { $0.pin == nil && $0.keys == nil }, isLoggedIn)
    }

    @Test func `a keychain stays locked while another thread takes over a stored unlocked state`() throws {
        let test = try TestKeychain()
        _ = try test.keychain.unlockForSession()
        let keychain = try test.reopen()
        try keychain.unlock()
        let before = keychain.lockState.withLock { $0.lockings }
        // `lock` wipes the keys, waits here, and then removes the stored state.
        let locking = keychain.pinEnvironment.memory.withLock { _ -> POSIXThread.Joinable? in
            let locking = POSIXThread.start("lock") {
                do { try keychain.lock() } catch { Issue.record(error) }
            }
            let deadline = Deadline.after(.seconds(60))
            while keychain.lockState.withLock({ $0.lockings }) == before, !deadline.hasPassed { usleep(1_000) }
            #expect(keychain.isUnlocked)
            return locking
        }
        try #require(locking).join()
        #expect(keychain.lockState.withLock { $0.pin == nil && $0.keys == nil })
        #expect(try keychain.unlockedState.load(keychain.stateName) == nil)
    }

    @Test(arguments: ["rsa:2048", "EC:prime256v1"])
    func `a key that requires the PIN for each use receives it`(_ kind: String) throws {
        let test = try TestKeychain()
        try test.tool(["--keypairgen", "--key-type", kind, "--label", "guarded", "--id", "0a0b", "--always-auth"])
        let key = try test.keychain.keys.tokenKey(
            for: #require(test.keychain.find(.key(label: "guarded")).first { $0.keyClass == .private }))
        let message = Array("message".utf8)
        for _ in 0..<2 {
            let scheme: SignatureScheme = kind.hasPrefix("rsa") ? .rsaPKCS1(.sha256) : .ecdsa(.sha256)
            #expect(try key.publicKey.verify(key.sign(message, using: scheme), of: message, using: scheme))
        }
    }
}
