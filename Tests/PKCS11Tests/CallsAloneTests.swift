import KeyfobPrimitives
import TestSupport
import Testing

@testable import PKCS11

/// Libraries that must not be called by two threads at once.
@Suite struct CallsAloneTests {
    @Test(arguments: [true, false])
    func `only one thread at a time is inside the client of p11-kit`(isRemote: Bool) throws {
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory, saying: isRemote ? "remote" : "")
        let token = try TestToken.make().behind(faulty)
        #expect(token.module.profile.has(.callsAlone) == isRemote)
        // The word makes the module count. The profile stays as it was when the module was loaded.
        try faulty.say("remote")
        let threads = (0..<8).compactMap { _ in
            POSIXThread.start("calls") {
                for _ in 0..<20 {
                    do {
                        let session = try token.slot.openSession()
                        for _ in 0..<10 { _ = try session.findObjects() }
                        try session.close()
                    } catch { Issue.record(error) }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(threads.count == 8)
        #expect(try (faulty.callsTogether == 0) == isRemote)
    }
}
