import KeyfobPrimitives
@testable import PKCS11
import TestSupport
import Testing

/// Tests the pool's logins and the PINs that it sends, with a separate module for each test.
@Suite struct SessionPoolLoginTests {
    @Test func `a login does not send a PIN that an operation has sent and the token has refused`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory, saying: "answer=C_Login,160,9")
        let pool = SessionPool(module: try token.behind(faulty).module, token: token.uri) { token.pin }
        let before = pool.loginAttempts
        #expect(throws: PKCS11Error.self) { try pool.withSession { _ in } }
        let error = #expect(throws: PKCS11Error.self) { try pool.login(provingPIN: true, unlessRefusedSince: before) }
        #expect(error?.function == .login && error?.returnValue == .pinIncorrect)
        #expect(try faulty.logins == 1)
        // A refusal at the current number of attempts may concern an earlier PIN.
        #expect(throws: PKCS11Error.self) {
            try pool.login(provingPIN: true, unlessRefusedSince: pool.loginAttempts)
        }
        #expect(try faulty.logins == 2)
    }

    @Test(arguments: [
        ("answer=C_Login,179,1", nil, 2), ("answer=C_Login,179,9", .sessionHandleInvalid, 2), ("answer=C_Login,224,9", .tokenNotPresent, 2),
        // The token may have checked the PIN, or says that it has.
        ("answer=C_Login,5,9", .generalError, 1), ("answer=C_Login,6,9", .functionFailed, 1), ("answer=C_Login,48,9", .deviceError, 1),
        ("answer=C_Login,50,9", .deviceRemoved, 1), ("answer=C_Login,224,9 pin-low", .tokenNotPresent, 1),
        ("answer=C_Login,160,9", .pinIncorrect, 1), ("answer=C_Login,258,9", .userPINNotInitialized, 1),
    ] as [(String, ReturnValue?, Int)])
    func `a login is repeated only if the token cannot have checked the PIN, and fails with its own error`(
        words: String, refusal: ReturnValue?, logins: Int
    ) throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory, saying: words)
        let pool = SessionPool(module: try token.behind(faulty).module, token: token.uri) { token.pin }
        if let refusal {
            let error = #expect(throws: PKCS11Error.self) { try pool.withSession { _ in } }
            #expect(error?.function == .login && error?.returnValue == refusal)
        } else {
            #expect(try pool.withSession { try $0.info().isUserLoggedIn })
        }
        #expect(try faulty.logins == logins)
    }

    @Test func `a PIN that is not sent on the final try logs out no other session`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory)
        let module = try token.behind(faulty).module
        let first = SessionPool(module: module, token: token.uri) { token.pin }
        #expect(try first.withSession { try $0.info().isUserLoggedIn })
        try faulty.say("pin-final")
        let second = SessionPool(module: module, token: token.uri) { token.pin }
        let error = #expect(throws: PKCS11Error.self) { try second.login(provingPIN: true) }
        #expect(error?.function == .getTokenInfo && error?.returnValue == .pinIncorrect)
        #expect(try first.withSession { try $0.info().isUserLoggedIn })
    }

    @Test func `a logout after a new initialisation is not told that its session has ended`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let module = try token.behind(FaultyModule(in: directory)).module
        let pool = SessionPool(module: module, token: token.uri) { token.pin }
        #expect(try pool.withSession { try $0.info().isUserLoggedIn })
        try module.reinitialize()
        try pool.logout()
        let slot = try #require(try module.slot(matching: token.uri))
        #expect(try !slot.openSession().info().isUserLoggedIn)
        #expect(try pool.withSession { try $0.info().isUserLoggedIn })
    }

    @Test func `a search runs again if another pool has logged in meanwhile`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let module = try token.behind(FaultyModule(in: directory)).module
        let pools = (0..<2).map { _ in SessionPool(module: module, token: token.uri) { token.pin } }
        try pools[0].withSession { session in
            let epoch = pools[0].loginEpoch
            var searches = 0
            let count = try pools[0].searching(with: session) {
                searches += 1
                let handles = try session.findObjects()
                if searches == 1 { try pools[1].login(provingPIN: true) }
                return handles.count
            }
            #expect(searches == 2 && count == 0)
            #expect(pools[0].loginEpoch != epoch)
        }
    }

    @Test func `a login to another token of the module leaves object handles valid`() throws {
        let tokens = try (0..<2).map { _ in try TestToken.make(label: "pool") }
        let directory = try TemporaryDirectory()
        let module = try tokens[0].behind(FaultyModule(in: directory)).module
        let pools = tokens.map { token in SessionPool(module: module, token: token.uri) { token.pin } }
        try pools[0].login()
        let epoch = pools[0].loginEpoch
        try pools[1].login()
        try pools[1].login(provingPIN: true)
        try pools[1].logout()
        #expect(pools[0].loginEpoch == epoch)
    }

    @Test func `a search waits for a login on its token only, and until the deadline only`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let module = try token.behind(FaultyModule(in: directory)).module
        var configuration = SessionPool.Configuration()
        configuration.deadline = .milliseconds(100)
        let pool = SessionPool(module: module, token: token.uri, configuration: configuration) { token.pin }
        try pool.withSession { session in
            let slot = session.slot.id
            try module.loginChanges.during(slot + 1) { () throws in
                #expect(try pool.searching(with: session) { true })
            }
            try module.loginChanges.during(slot) { () throws in
                let error = #expect(throws: PKCS11Error.self) { try pool.searching(with: session) {} }
                #expect(error?.function == .login && error?.returnValue == .cantLock)
            }
            #expect(try pool.searching(with: session) { true })
        }
    }

    @Test func `a pool without a PIN to send logs no other session out, and is not logged in`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let module = try token.behind(FaultyModule(in: directory)).module
        let first = SessionPool(module: module, token: token.uri) { token.pin }
        #expect(try first.withSession { try $0.info().isUserLoggedIn })
        try SessionPool(module: module, token: token.uri) { nil }.login(provingPIN: true)
        #expect(try first.withSession { try $0.info().isUserLoggedIn })
    }

    @Test func `a lost login is restored when the pool fills the token`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory, saying: "sessions=3")
        let module = try token.behind(faulty).module
        let pool = SessionPool(module: module, token: token.uri) { token.pin }
        func requireLogin() throws {
            try pool.withSession { session in
                guard try session.info().isUserLoggedIn else {
                    throw PKCS11Error(function: .sign, returnValue: .userNotLoggedIn)
                }
            }
        }
        try pool.withSession { _ in try pool.withSession { try $0.logout() } }
        try requireLogin()
        // Another program takes the slot of the session that kept the login.
        try pool.logout()
        let other = try #require(try module.slot(matching: token.uri)).openSession()
        try requireLogin()
        try other.close()
    }

    @Test func `the wait for a PIN for one use of a key is limited like the wait for a session`() throws {
        let token = try TestToken.make(label: "pool")
        let directory = try TemporaryDirectory()
        let module = try Module.load(path: FaultyModule(in: directory).path)
        let pool = SessionPool(
            module: module, token: token.uri, configuration: SessionPool.Configuration(deadline: .seconds(1))
        ) { token.pin }
        let slot = try #require(try module.slot(matching: token.uri))
        let refusal = try pool.authenticating(on: slot) { () throws(PKCS11Error) -> PKCS11Error? in
            // Stands for a call of another thread.
            do throws(PKCS11Error) {
                return try pool.authenticating(on: slot) { () throws(PKCS11Error) -> PKCS11Error? in nil }
            } catch { return error }
        }
        #expect(refusal?.function == .login && refusal?.returnValue == .cantLock)
        // The failed attempt has left no state behind.
        #expect(try pool.authenticating(on: slot) { () throws(PKCS11Error) -> Bool in true })
    }
}
