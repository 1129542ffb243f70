import Glibc
import KeyfobPrimitives
import TestSupport
import Testing

@testable import PKCS11

/// Libraries that must not look for tokens during an operation.
@Suite struct OperatesAloneTests {
    @Test(arguments: ["C_SignInit", "C_Sign"], [true, false])
    func `OpenSC is not asked for its token between the two calls of a signature`(
        function: String, isOpenSC: Bool
    ) throws {
        let directory = try TemporaryDirectory()
        let words = isOpenSC ? "opensc" : ""
        let faulty = try FaultyModule(in: directory, saying: words)
        let token = try TestToken.make().behind(faulty)
        #expect(token.module.profile.has(.operatesAlone) == isOpenSC)
        let session = try token.openSession()
        let key = try session.generateKeyPair(
            Mechanism(.ecKeyPairGeneration),
            publicTemplate: [.ecParameters(EllipticCurve.p256.parametersDER), .verify(true)],
            privateTemplate: [.sign(true)]
        ).privateKey
        try faulty.say("\(words) hold=\(function)")
        let signature = Lock<[UInt8]>([])
        let slot = token.slot
        let thread = POSIXThread.start("signing") {
            do {
                let own = try token.openSession(loggedIn: false)
                let made = try own.sign(Array(repeating: 1, count: 32), with: key, using: Mechanism(.ecdsa))
                signature.withLock { $0 = made }
            } catch { Issue.record(error) }
        }
        let deadline = Deadline.after(.seconds(60))
        while try faulty.calls(of: function) == 0, !deadline.hasPassed { usleep(1_000) }
        let soon = Deadline.after(.milliseconds(100))
        if isOpenSC {
            let error = #expect(throws: PKCS11Error.self) { try slot.tokenInfo(until: soon) }
            #expect(error?.function == .getTokenInfo && error?.returnValue == .cantLock)
        } else {
            _ = try slot.tokenInfo(until: soon)
        }
        try faulty.say(words)
        try #require(thread).join()
        #expect(signature.withLock { $0.count } == 64)
        _ = try slot.tokenInfo()
    }
}
