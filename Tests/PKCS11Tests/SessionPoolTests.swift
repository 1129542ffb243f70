import CP11Kit
import Foundation
import KeyfobPrimitives
@testable import PKCS11
import Synchronization
import Testing
import TestSupport

/// Tests of the pool with real SoftHSM tokens.
@Suite struct SessionPoolTests {
    /// A pool that counts how often it asks for the PIN.
    private struct Fixture {
        let token: TestToken
        let pool: SessionPool
        let asked: Counter

        init(_ configuration: SessionPool.Configuration = .init(), pin: SecretBytes? = nil) throws {
            let token = try TestToken.make(label: "pool")
            let asked = Counter()
            self.token = token
            self.asked = asked
            let secret = pin ?? token.pin
            pool = SessionPool(module: token.module, token: token.uri, configuration: configuration) {
                asked.increment()
                return secret
            }
        }

        /// Creates a private EC key on the token, labelled `key`.
        func makeKey() throws -> ObjectHandle {
            try pool.withSession { session in
                try session.generateKeyPair(
                    Mechanism(.ecKeyPairGeneration),
                    publicTemplate: [
                        .bytes(.ecParameters, EllipticCurve.p256.parametersDER), .token(true), .isPrivate(false),
                        .verify(true), .label("key"),
                    ],
                    privateTemplate: [
                        .token(true), .isPrivate(true), .sensitive(true), .extractable(false), .sign(true),
                        .label("key"),
                    ]
                ).privateKey
            }
        }

        func findKey() throws -> ObjectHandle? {
            try pool.withSession { try $0.findObjects([.objectClass(.privateKey), .label("key")]).first }
        }
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        func increment() { count.add(1, ordering: .relaxed) }
        var value: Int { count.load(ordering: .relaxed) }
    }

    /// Runs `body` on new threads and waits until all have ended and released their sessions.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        guard count > 0 else { return }
        let thread = POSIXThread.start("test") { body(count - 1) }
        onThreads(count - 1, body)
        thread?.join()
    }

    private let digest = [UInt8](repeating: 7, count: 32)

    @Test func `a thread that lists objects does not disturb threads that create keys`() throws {
        let fixture = try Fixture()
        let (failures, made) = (Lock<[String]>([]), Counter())
        onThreads(3) { index in
            do {
                for _ in 0..<(index == 0 ? 40 : 150) {
                    if index == 0 {
                        let key = try fixture.makeKey()
                        try fixture.pool.withSession { session in
                            _ = try session.attributes([.label], of: key)
                            try session.destroy(key)
                        }
                        made.increment()
                    } else {
                        try fixture.pool.withSession { _ = try $0.findObjects([.objectClass(.privateKey)]) }
                    }
                }
            } catch { failures.withLock { $0.append("\(error)") } }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(made.value == 40)
    }

    @Test func `eight threads make five hundred signatures each with two sessions`() throws {
        let fixture = try Fixture(.init(maximumSessions: 2))
        let key = try fixture.makeKey()
        let (pool, digest, signed) = (fixture.pool, digest, Counter())
        let handles = Lock<Set<UInt>>([])
        onThreads(8) { _ in
            for _ in 0..<500 {
                do {
                    let signature = try pool.withSession { session in
                        let handle = session.handle
                        handles.withLock { _ = $0.insert(handle) }
                        return try session.sign(digest, with: key, using: Mechanism(.ecdsa))
                    }
                    if signature.count == 64 { signed.increment() }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(signed.value == 4_000)
        #expect(fixture.asked.value == 1)
        #expect(handles.withLock { $0.count } == 2)
    }

    @Test func `threads that sign in a loop take turns, and change places far less often than they sign`() throws {
        let fixture = try Fixture(.init(maximumSessions: 1))
        let key = try fixture.makeKey()
        let (pool, digest) = (fixture.pool, digest)
        let owners = Lock<[Int]>([])
        onThreads(2) { index in
            for _ in 0..<1_000 {
                do {
                    try pool.withSession { session in
                        owners.withLock { $0.append(index) }
                        _ = try session.sign(digest, with: key, using: Mechanism(.ecdsa))
                    }
                } catch { Issue.record(error) }
            }
        }
        let order = owners.withLock { $0 }
        #expect(order.count == 2_000)
        let changes = zip(order, order.dropFirst()).count { $0 != $1 }
        #expect(changes < 1_000)
    }

    @Test func `a call gives up if all sessions stay in use`() throws {
        let fixture = try Fixture(.init(maximumSessions: 1))
        let pool = fixture.pool
        try pool.withSession { _ in
            let start = ContinuousClock.now
            let error = #expect(throws: PKCS11Error.self) {
                try pool.withSession(deadline: .after(.milliseconds(80))) { _ in }
            }
            let elapsed = ContinuousClock.now - start
            #expect(error?.function == .openSession)
            #expect(error?.returnValue == .sessionCount)
            #expect(elapsed >= .milliseconds(75))
            #expect(elapsed < .seconds(60))
        }
        try pool.withSession { _ in }
    }

    @Test func `a broken session is replaced`() throws {
        let fixture = try Fixture(.init(maximumSessions: 1))
        let first = try fixture.pool.withSession { session in
            session.markBroken()
            return session.handle
        }
        let second = try fixture.pool.withSession { session in
            let isBroken = session.isBroken
            #expect(!isBroken)
            return session.handle
        }
        #expect(first != second)
        #expect(fixture.asked.value == 1)
    }

    @Test func `an operation recovers if its session is closed by other code`() throws {
        let fixture = try Fixture(.init(maximumSessions: 1))
        _ = try fixture.makeKey()
        let runs = Counter()
        let module = fixture.token.module
        let closeSession = unsafe module.functions.table.pointee.C_CloseSession
        let random = try fixture.pool.withSession { session in
            runs.increment()
            if runs.value == 1 {
                let handle = session.handle
                let close = try #require(closeSession)
                // Take the module's lock, because SoftHSM closes sessions safely only one at a time.
                let value = module.slotLock.withLock { _ in close(handle) }
                #expect(value == 0)
            }
            _ = try session.findObjects([.label("key")])
            return try session.random(count: 8)
        }
        #expect(random.count == 8)
        #expect(runs.value == 2)
    }

    @Test func `an operation recovers if all sessions are closed, and the login with them`() throws {
        let fixture = try Fixture(.init(maximumSessions: 2))
        _ = try fixture.makeKey()
        let closeAll = try #require(unsafe fixture.token.module.functions.table.pointee.C_CloseAllSessions)
        let epoch = fixture.pool.loginEpoch
        let (module, slot) = (fixture.token.module, fixture.token.slot)
        let value = module.slotLock.withLock { _ in closeAll(slot.id) }
        #expect(value == 0)
        #expect(try fixture.findKey() != nil)
        #expect(fixture.asked.value == 2)
        #expect(fixture.pool.loginEpoch != epoch)
    }

    @Test func `an operation that may not run twice is not run twice`() throws {
        let fixture = try Fixture()
        let runs = Counter()
        let error = #expect(throws: PKCS11Error.self) {
            try fixture.pool.withSession(idempotent: false) { _ in
                runs.increment()
                throw PKCS11Error(function: .sign, returnValue: .deviceError)
            }
        }
        #expect(error?.returnValue == .deviceError)
        #expect(runs.value == 1)
    }

    @Test func `an operation recovers from a logout by other code`() throws {
        let fixture = try Fixture(.init(maximumSessions: 2))
        let key = try fixture.makeKey()
        let epoch = fixture.pool.loginEpoch
        try fixture.token.openSession(loggedIn: false).logout()
        // SoftHSM reports either a missing login, which the pool repairs, or an unknown handle, which is also true.
        do {
            _ = try fixture.pool.withSession { try $0.sign(digest, with: key, using: Mechanism(.ecdsa)) }
        } catch let error as PKCS11Error {
            #expect(error.recovery == .lookUpAgain)
        }
        let again = try #require(try fixture.findKey())
        _ = try fixture.pool.withSession { try $0.sign(digest, with: again, using: Mechanism(.ecdsa)) }
        #expect(fixture.asked.value == 2)
        #expect(fixture.pool.loginEpoch != epoch)
    }

    @Test func `many signing threads recover from a logout by another thread`() throws {
        let fixture = try Fixture(.init(maximumSessions: 2))
        _ = try fixture.makeKey()
        let (pool, token, digest) = (fixture.pool, fixture.token, digest)
        let signed = Counter()
        onThreads(4) { index in
            for round in 0..<60 {
                do {
                    if index == 0 && round % 20 == 10 {
                        do { try token.openSession(loggedIn: false).logout() } catch let error as PKCS11Error {
                            #expect(error.returnValue == .userNotLoggedIn)
                        }
                    }
                    for attempt in 1...40 {
                        do {
                            _ = try pool.withSession { session in
                                // A search on a token that was logged out finds nothing, without an error.
                                guard let key = try session.findObjects([.objectClass(.privateKey)]).first else {
                                    throw PKCS11Error(function: .sign, returnValue: .userNotLoggedIn)
                                }
                                return try session.sign(digest, with: key, using: Mechanism(.ecdsa))
                            }
                            signed.increment()
                            break
                        } catch let error as PKCS11Error where error.recovery != .final && attempt < 40 {}
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(signed.value >= 4 * 60 - 3)
    }

    @Test func `a stale handle is reported as one to look up again`() throws {
        let fixture = try Fixture()
        let key = try fixture.makeKey()
        try fixture.pool.logout()
        let error = #expect(throws: PKCS11Error.self) {
            try fixture.pool.withSession { try $0.sign(digest, with: key, using: Mechanism(.ecdsa)) }
        }
        #expect(error?.recovery == .lookUpAgain)
        #expect(fixture.asked.value == 2)
    }

    @Test func `a wrong PIN is asked for and sent once, by any number of threads`() throws {
        let fixture = try Fixture(pin: SecretBytes(utf8: "wrong-pin"))
        let (pool, refused) = (fixture.pool, Counter())
        onThreads(8) { _ in
            for _ in 0..<5 {
                do {
                    try pool.withSession { _ in }
                    Issue.record("a wrong PIN was accepted")
                } catch let error as PKCS11Error {
                    if error.returnValue == .pinIncorrect { refused.increment() }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(refused.value == 40)
        #expect(fixture.asked.value == 1)
        #expect(throws: PKCS11Error.self) { try pool.login() }
        #expect(fixture.asked.value == 2)
    }

    @Test func `an error of the PIN closure reaches all waiters after one call`() throws {
        struct Cancelled: Error {}
        let token = try TestToken.make(label: "pool")
        let asked = Counter()
        let begun = Counter()
        let pool = SessionPool(module: token.module, token: token.uri) {
            asked.increment()
            while begun.value < 4 { usleep(1000) }
            // The threads are about to wait; give them time to get there.
            usleep(200_000)
            throw Cancelled()
        }
        let cancelled = Counter()
        onThreads(4) { _ in
            begun.increment()
            do {
                try pool.withSession { _ in }
            } catch is Cancelled {
                cancelled.increment()
            } catch {
                Issue.record(error)
            }
        }
        #expect(cancelled.value == 4)
        #expect(asked.value < 4)
    }

    @Test func `without a PIN the pool works without a login`() throws {
        let token = try TestToken.make(label: "pool")
        let pool = SessionPool(module: token.module, token: token.uri) { nil }
        let isLoggedIn = try pool.withSession { try $0.info().isUserLoggedIn }
        #expect(!isLoggedIn)
    }

    @Test func `a missing token is reported as missing`() throws {
        let fixture = try Fixture()
        var uri = PKCS11URI()
        uri.token = "no such token"
        // Restrict the search to this slot: otherwise an unreadable token of another test might be the one.
        uri.slotID = fixture.token.slot.id
        let pool = SessionPool(module: fixture.token.module, token: uri) { nil }
        let error = #expect(throws: PKCS11Error.self) { try pool.withSession { _ in } }
        #expect(error?.returnValue == .tokenNotPresent)
        #expect(throws: PKCS11Error.self) { try pool.tokenInfo() }
    }

    @Test
    func `another owner's token that cannot be read ends no sessions, but a module that fails does`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory)
        let module = try token.behind(faulty).module
        try faulty.say("unreadable=\(token.label)")
        var uri = PKCS11URI()
        uri.token = "no such token"
        let pool = SessionPool(module: module, token: uri) { nil }
        let generation = module.generation
        let error = #expect(throws: PKCS11Error.self) { try pool.withSession { _ in } }
        #expect(error?.returnValue == .generalError)
        #expect(module.generation == generation)
        try faulty.say("answer=C_GetTokenInfo,5")
        #expect(throws: PKCS11Error.self) { try pool.withSession { _ in } }
        #expect(module.generation == generation + 1)
    }

    /// Creates a pool that has found its token, with a separate module in a directory that must outlive it.
    private func lookingPool(
        in directory: TemporaryDirectory
    ) throws -> (pool: SessionPool, token: TestToken, module: Module, faulty: FaultyModule) {
        let token = try TestToken.make(label: "pool")
        let faulty = try FaultyModule(in: directory)
        let module = try token.behind(faulty).module
        let pool = SessionPool(module: module, token: token.uri) { token.pin }
        #expect(try pool.tokenInfo().label == token.label)
        return (pool, token, module, faulty)
    }

    @Test(arguments: [ReturnValue.deviceError, .cryptokiNotInitialized])
    func `a pool reports what a token says about itself, also after a daemon was lost`(refusal: ReturnValue) throws {
        let directory = try TemporaryDirectory()
        let (pool, token, module, faulty) = try lookingPool(in: directory)
        let generation = module.generation
        try faulty.say("lost=C_GetTokenInfo,\(refusal.rawValue)")
        #expect(try pool.tokenInfo().label == token.label)
        #expect(module.generation == generation + 1)
    }

    @Test func `a process that was forked after the module was loaded is refused`() async {
        // Run in a new process: a child of this one might wait for locks that other tests' threads held at the fork.
        await #expect(processExitsWith: .success) { try SessionPoolTests().askInChild() }
    }

    private func askInChild() throws {
        let directory = try TemporaryDirectory()
        let (pool, _, module, _) = try lookingPool(in: directory)
        let status = try ForkedChild.run {
            do {
                _ = try pool.tokenInfo()
                _exit(1)
            } catch let error as PKCS11Error {
                _exit(error.returnValue == .cantLock && module.isForked ? 0 : 2)
            }
        }
        #expect(status == 0)
    }

    @Test func `a slow call is reported while it lasts, and a fast one is not`() throws {
        let told = Lock<[(String, Duration)]>([])
        let fixture = try Fixture(.init(slowCallNotice: { operation, elapsed in
            told.withLock { $0.append((operation, elapsed)) }
            told.broadcast()
        }))
        let time = try ContinuousClock().measure { try fixture.pool.withSession { _ in } }
        // On a busy machine any call may be slow.
        let before = told.withLock { $0.count }
        #expect(before == 0 || time >= .milliseconds(500))
        try fixture.pool.withSession { _ in
            let elapsed = told.wait(until: .after(.seconds(120))) { $0.dropFirst(before).first?.1 }
            #expect(elapsed.map { $0 >= .milliseconds(500) } == true)
            usleep(300_000)
        }
        #expect(told.withLock { $0.count } == before + 1)
    }

    @Test func `a closed pool refuses`() throws {
        let fixture = try Fixture()
        try fixture.pool.withSession { _ in }
        fixture.pool.close()
        let error = #expect(throws: PKCS11Error.self) { try fixture.pool.withSession { _ in } }
        #expect(error?.returnValue == .sessionClosed)
        // Closing the last session ends the login.
        let isLoggedIn = try fixture.token.openSession(loggedIn: false).info().isUserLoggedIn
        #expect(!isLoggedIn)
    }
}
