import CP11Kit
import Foundation
import KeyfobPrimitives
@testable import PKCS11
import Synchronization
import TestSupport
import Testing

/// A module of which one call does not return: a process that holds SoftHSM's lock was stopped, or a reader hangs.
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

    /// Runs `body` while another thread asks the token what it is, and is not answered.
    private func whileOccupied(_ body: () throws -> Void) throws {
        let slot = token.slot
        let failure = Lock<String?>(nil)
        try faulty.say("hold-info")
        let thread = POSIXThread.start("asking") {
            do { _ = try slot.tokenInfo() } catch { failure.withLock { $0 = "\(error)" } }
        }
        var trouble: (any Error)?
        do {
            let deadline = Deadline.after(.seconds(60))
            while try faulty.heldQuestions == 0, !deadline.hasPassed { usleep(1_000) }
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

    @Test func `who wants a session meanwhile is refused at his deadline, and gets one afterwards`() throws {
        let (known, stranger) = (makePool(), makePool())
        // Its one session is in use, and it knows where the token is.
        try known.withSession(idempotent: false) { _ in
            try whileOccupied {
                expectRefusal(of: known, by: .openSession)
                expectRefusal(of: stranger, by: .getSlotList)
            }
        }
        for pool in [known, stranger] { #expect(try pool.withSession { try $0.info().isUserLoggedIn }) }
    }

    @Test func `sessions that are closed meanwhile keep nobody waiting, and are closed afterwards`() throws {
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
