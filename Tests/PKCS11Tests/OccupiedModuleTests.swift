import CP11Kit
import Foundation
import KeyfobPrimitives
@testable import PKCS11
import Synchronization
import TestSupport
import Testing

/// A module with a call that does not return, as when a process holding SoftHSM's lock is stopped or a reader hangs.
@Suite struct OccupiedModuleTests {
    private let directory: TemporaryDirectory
    private let faulty: FaultyModule
    private let token: TestToken

    init() throws {
        directory = try TemporaryDirectory()
        faulty = try FaultyModule(in: directory)
        token = try TestToken.make(label: "occupied").behind(faulty)
    }

    private func makePool() -> SessionPool {
        let pin = token.pin
        return SessionPool(module: token.module, token: token.uri, configuration: .init(deadline: .seconds(1))) { pin }
    }

    /// Runs `body` while another thread's call for the token's information does not return.
    private func whileOccupied(_ body: () throws -> Void) throws {
        let slot = token.slot
        let failure = Lock<String?>(nil)
        try faulty.say("hold=C_GetTokenInfo")
        let thread = POSIXThread.start("asking") {
            do { _ = try slot.tokenInfo() } catch { failure.withLock { $0 = "\(error)" } }
        }
        var trouble: (any Error)?
        do {
            let deadline = Deadline.after(.seconds(60))
            while try faulty.calls(of: "C_GetTokenInfo") == 0, !deadline.hasPassed { usleep(1_000) }
            try body()
        } catch {
            trouble = error
        }
        try faulty.say("")
        try #require(thread).join()
        #expect(failure.withLock { $0 } == nil)
        if let trouble { throw trouble }
    }

    private func expectRefusal(of pool: SessionPool, by function: PKCS11Function) {
        let start = ContinuousClock.now
        let error = #expect(throws: PKCS11Error.self) { try pool.withSession { _ in } }
        let elapsed = ContinuousClock.now - start
        #expect(elapsed < .seconds(60))
        #expect(error?.function == function && error?.returnValue == .cantLock, "\(error as Any)")
        #expect(error?.detail?.hasPrefix("another call of the module has not returned") == true)
    }

    @Test func `a request for a session is refused at its deadline, and succeeds afterwards`() throws {
        let (known, stranger) = (makePool(), makePool())
        // The only session of `known` is in use, and the pool knows the token's slot.
        try known.withSession(idempotent: false) { _ in
            try whileOccupied {
                expectRefusal(of: known, by: .openSession)
                expectRefusal(of: stranger, by: .getSlotList)
            }
        }
        for pool in [known, stranger] { #expect(try pool.withSession { try $0.info().isUserLoggedIn }) }
    }

    @Test func `a request to list objects is refused after a wait while a call that adds one does not return`() throws {
        let module = token.module
        let hasBegun = Lock(false)
        let isOver = Lock(false)
        let failure = Lock<String?>(nil)
        let thread = POSIXThread.start("adding") {
            do {
                _ = try module.inTurn(.createObject) { () -> CK_RV in
                    hasBegun.withLock { $0 = true }
                    hasBegun.broadcast()
                    _ = isOver.wait(until: .never) { $0 ? true : nil }
                    return CKR_OK
                }
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
        }
        _ = hasBegun.wait(until: .after(.seconds(120))) { $0 ? true : nil }
        // The call returns CKR_OK, so only a refusal can be thrown here.
        let error = try refusal { try module.inTurn(.findObjectsInit, until: .after(.milliseconds(100))) { CKR_OK } }
        isOver.withLock { $0 = true }
        isOver.broadcast()
        try #require(thread).join()
        #expect(error?.function == .findObjectsInit && error?.returnValue == .cantLock, "\(error as Any)")
        #expect(error?.detail?.hasPrefix("another call of the module has not returned") == true)
        #expect(failure.withLock { $0 } == nil)
        let session = try token.slot.openSession(readWrite: false)
        _ = try session.findObjects()
        try session.close()
    }

    @Test func `loading a module that another thread is still initialising is refused after a wait`() throws {
        let slow = try FaultyModule(in: TemporaryDirectory(), saying: "hold=C_Initialize")
        let path = slow.path
        let first = Lock<Module?>(nil)
        let thread = POSIXThread.start("loading") {
            // An error shows as a missing module below.
            let module = try? Module.load(path: path)
            first.withLock { $0 = module }
        }
        let deadline = Deadline.after(.seconds(120))
        while try slow.calls(of: "C_Initialize") == 0, !deadline.hasPassed { usleep(1_000) }
        let error = try refusal { try Module.load(path: path, until: .after(.milliseconds(100))) }
        try slow.say("")
        try #require(thread).join()
        #expect(error?.function == .moduleLoad && error?.returnValue == .cantLock, "\(error as Any)")
        #expect(error?.detail?.hasPrefix("another thread is still initialising the module") == true)
        let module = first.withLock { $0 }
        let again = try Module.load(path: path)
        #expect(module === again)
    }

    @Test func `closing a session does not wait for the call, and the sessions are closed afterwards`() throws {
        let pool = makePool()
        let handle = try pool.withSession { $0.handle }
        let module = token.module
        try whileOccupied {
            let start = ContinuousClock.now
            pool.close()
            let elapsed = ContinuousClock.now - start
            #expect(elapsed < .seconds(60))
            let waiting = module.lateClosings.load(ordering: .relaxed)
            #expect(waiting > 0)
        }
        let deadline = Deadline.after(.seconds(60))
        while module.lateClosings.load(ordering: .relaxed) > 0, !deadline.hasPassed { usleep(1_000) }
        let former = Session(slot: token.slot, handle: handle, generation: module.generation)
        let error = try refusal { try former.info() }
        #expect(error?.returnValue == .sessionHandleInvalid)
    }
}
