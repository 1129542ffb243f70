import Foundation
import GRDB
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct TimeoutTests {
    @Test(
        "a timeout keeps its fraction of a second, and a negative one is zero",
        arguments: [
            (.milliseconds(900), 0.9), (.milliseconds(1_500), 1.5), (.seconds(10), 10), (.zero, 0), (.seconds(-3), 0),
        ] as [(Duration, TimeInterval)])
    func seconds(timeout: Duration, seconds: TimeInterval) {
        var options = Keychain.Options()
        options.timeout = timeout
        #expect(abs(options.timeoutInSeconds - seconds) < 0.001)
    }

    @Test func `a write waits for another program that writes to the vault, even with a timeout below one second`() throws {
        let test = try TestKeychain(.patient)
        try test.keychain.unlock()
        let keychain = try test.reopen(waitingForVault: .milliseconds(900))
        _ = try keychain.find(.genericPasswords)
        try test.sql { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            let clock = ContinuousClock()
            let begin = clock.now
            #expect(code { try keychain.add(GenericPassword(service: "a"), secret: SecretBytes("x")) } == .vaultBusy)
            #expect(begin.duration(to: clock.now) >= .milliseconds(800))
            try db.execute(sql: "ROLLBACK")
        }
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "x"))
    }
}
