import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Who is logged in, with which PIN, and what is seen by whom.
@Suite struct LoginStateTests {
    /// As another program writes to the token: the index is no longer true.
    private func touch(_ test: TestKeychain) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(Array("anything".utf8), to: "data")
        try test.tool(["--write-object", file, "--type", "data", "--label", "foreign"])
    }

    @Test func `a look without a PIN hides no private key from anybody afterwards`() throws {
        let test = try TestKeychain()
        try test.keychain.createIdentity("web", .server("web"), issuer: SelfIssuer())
        _ = try test.keychain.unlockForSession()
        try touch(test)
        // The login is the process', whoever made it.
        try test.keychain.token.logout()
        let keychain = try test.reopen()
        // Opens sessions that nobody is logged in to.
        _ = try keychain.publicCertificates()
        #expect(try keychain.find(.identities).map(\.label) == ["web"])
        #expect(try test.reopen().find(.identities).map(\.label) == ["web"])
    }

    @Test func `whom another keychain of the process has logged out sees all private keys`() throws {
        let test = try TestKeychain()
        try test.keychain.createIdentity("web", .server("web"), issuer: SelfIssuer())
        let other = try test.reopen()
        #expect(try other.find(.identities).count == 1)
        try touch(test)
        try test.keychain.token.logout()
        #expect(try other.find(.identities).count == 1)
        #expect(try test.reopen().find(.identities).count == 1)
    }

    @Test func `a PIN that was left and has changed since is sent once, and then the source is asked`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let old = try test.leaveStalePIN()
        let keychain = try test.reopen()
        #expect(code { _ = try keychain.secret(of: keychain.only(.genericPassword(service: "a"))) } == .pinIncorrect)
        let memory = WrongPINMemory(directories: test.throwaway.directories)
        #expect(try memory.contains(old, serial: keychain.token.uri.serial ?? "", label: keychain.token.label))
        #expect(try keychain.unlockedState.load(keychain.stateName) == nil)
        // The same process, and any other.
        for keychain in [keychain, try test.reopen()] {
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        }
    }

    @Test func `a wrong PIN that somebody types costs nothing that an earlier unlocking left`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        _ = try test.keychain.unlockForSession()
        let keychain = try test.reopen()
        let item = try keychain.only(.genericPassword(service: "a"))
        let wrong = SecretBytes(utf8: "wrong-1234")
        #expect(code { try keychain.unlock(with: wrong) } == .pinIncorrect)
        #expect(try keychain.unlockedState.load(keychain.stateName) != nil)
        let memory = WrongPINMemory(directories: test.throwaway.directories)
        #expect(try !memory.contains(wrong, serial: keychain.token.uri.serial ?? "", label: keychain.token.label))
        #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
    }

    @Test func `a wrong PIN is not believed because another keychain of the process is logged in`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let other = try test.reopen()
        #expect(code { try other.unlock(with: SecretBytes(utf8: "wrong-1234")) } == .pinIncorrect)
        let item = try test.keychain.only(.genericPassword(service: "a"))
        #expect(try test.keychain.secret(of: item) == SecretBytes(utf8: "secret"))
    }

    @Test func `a wrong PIN is not believed because another keychain logged in again after a lock`() throws {
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

    @Test func `a wrong PIN is not believed by a token of any other module either`() throws {
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

    @Test func `threads that unlock by one stored PIN send it once where it is wrong`() throws {
        let directory = try TemporaryDirectory()
        let token = try TestToken.make(label: "threads")
        let module = try FaultyModule(in: directory)
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        try keychain.lock()
        try module.say("login=160,99")
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
        // Whoever is refused first waits for this to remember it, while the others come.
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

    /// A locked keychain whose token refuses the stored PIN from now on, and counts the logins.
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
        try module.say("login=160,99")
        return (keychains, token, module)
    }

    @Test func `of processes that begin together one sends a stored PIN that is wrong`() throws {
        let directory = try TemporaryDirectory()
        let (keychains, token, module) = try Self.refusing(in: directory, label: "together")
        let memory = keychains.directories.state.appendingPathComponent("wrong-pins.json.lock", isDirectory: false)
        try PrivateFile.createDirectory(memory.deletingLastPathComponent())
        // What each process has of its own.
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
        // Whoever is refused first waits for this to remember it, while the others come.
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

    @Test func `a stored PIN that is wrong is told as that also where it cannot be remembered in time`() throws {
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
            // This process knows it.
            #expect(code { try keychain.unlock() } == .pinRemembered)
        }
        #expect(try module.logins == 1)
    }

    @Test func `who has no place for a lock sends a stored PIN all the same`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("no directory".utf8, to: "state")
        let memory = WrongPINMemory(directories: Directories(root: URL(fileURLWithPath: directory.path)))
        let answer = try memory.sending(serial: "1", label: "a", deadline: .after(.zero)) { 7 }
        #expect(answer == 7)
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test func `a wrong PIN that is refused after the keychain was locked brings back no right one`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        try keychain.unlock()
        // Told of the refusal before whoever unlocks is.
        keychain.token.refusedPIN.withLock { refused in
            refused = { [weak keychain] in
                do { try keychain?.lock() } catch { Issue.record(error) }
            }
        }
        #expect(code { try keychain.unlock(with: SecretBytes(utf8: "wrong-1234")) } == .pinIncorrect)
        #expect(keychain.lockState.withLock { $0.pin == nil && $0.keys == nil })
    }

    @Test(arguments: [true, false])
    func `a keychain that is locked while its PIN is on the way to the token stays locked`(isSent: Bool) throws {
        let test = try TestKeychain()
        // What is disturbed is known of a token that has been reached.
        _ = try test.keychain.token.pool()
        let (answer, isWiped, isLoggedIn) = try test.keychain.token.undisturbed {
            try unlockWhileLocked(test, isSent: isSent)
        }
        // Without the PIN the token shows no wrapping key; nobody is told that it is gone.
        let expected: KeychainError.Code? = isSent ? nil : .locked
        #expect(answer == expected && isWiped && !isLoggedIn)
    }

    /// Unlocks a keychain that is locked as soon as somebody asks for its PIN.
    private func unlockWhileLocked(
        _ test: TestKeychain, isSent: Bool
    ) throws -> (answer: KeychainError.Code?, isWiped: Bool, isLoggedIn: Bool) {
        let pin = SecretBytes(utf8: try test.pin)
        let state = Lock(Keychain.LockState())
        // Longer than other tests keep anybody from a session.
        let token = TokenStore(
            uri: test.keychain.token.uri, softHSM: nil, configuration: .init(deadline: .seconds(120)),
            openModule: { try TestToken.loadModule() },
            pin: {
                // The part of `lock()` that waits for no login, such as this one.
                state.withLock { state in
                    defer {
                        state.pin = nil
                        state.lockings += 1
                    }
                    return isSent ? state.tokenPIN : nil
                }
            })
        let keychain = Keychain(
            configuration: test.keychain.configuration, directories: test.throwaway.directories, options: .init(),
            store: test.keychain.store, token: token, lockState: state)
        try test.keychain.lock()
        let answer = code { try keychain.unlock(with: pin) }
        let isLoggedIn = try token.slot().openSession().info().isUserLoggedIn
        return (answer, state.withLock { $0.pin == nil && $0.keys == nil }, isLoggedIn)
    }

    @Test func `a keychain stays locked where another thread takes over what an earlier unlocking left`() throws {
        let test = try TestKeychain()
        _ = try test.keychain.unlockForSession()
        let keychain = try test.reopen()
        try keychain.unlock()
        let before = keychain.lockState.withLock { $0.lockings }
        // Whoever locks wipes the keys, waits here, and then removes what was left.
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
    func `a key that wants the PIN at each use gets it`(_ kind: String) throws {
        let test = try TestKeychain()
        try test.tool(["--keypairgen", "--key-type", kind, "--label", "guarded", "--id", "0a0b", "--always-auth"])
        let key = try test.keychain.tokenKey(
            for: #require(test.keychain.find(.key(label: "guarded")).first { $0.keyClass == .private }))
        let message = Array("message".utf8)
        for _ in 0..<2 {
            let scheme: SignatureScheme = kind.hasPrefix("rsa") ? .rsaPKCS1(.sha256) : .ecdsa(.sha256)
            #expect(try key.publicKey.verify(key.sign(message, using: scheme), of: message, using: scheme))
        }
    }
}
