import Foundation
import KeyfobPrimitives
import Testing

@Suite struct POSIXThreadTests {
    @Test func `two pieces of work run at the same time, and both have ended afterwards`() {
        // Each waits for the other: one after the other they would not get by.
        let met = Lock(0)
        let meet: @Sendable () -> Bool = {
            met.withLock { $0 += 1 }
            met.broadcast()
            return met.wait(until: .after(.seconds(60)), { $0 == 2 ? true : nil }) ?? false
        }
        var didMeet = false
        let value = POSIXThread.run("test", meet) { didMeet = meet() }
        #expect(value)
        #expect(didMeet)
    }

    @Test func `what the work throws is thrown once the other piece has ended`() {
        var hasEnded = false
        #expect(throws: CocoaError(.fileNoSuchFile)) {
            try POSIXThread.run("test", { throw CocoaError(.fileNoSuchFile) }, meanwhile: { hasEnded = true })
        }
        #expect(hasEnded)
    }

    private final class Held: Sendable {}

    @Test func `nothing of the work is held any more once both have ended`() {
        weak var held: Held?
        for _ in 0..<50 {
            let made = Held()
            held = made
            _ = POSIXThread.run("test", { [made] in withExtendedLifetime(made) { 0 } }, meanwhile: {})
        }
        #expect(held == nil)
    }
}
