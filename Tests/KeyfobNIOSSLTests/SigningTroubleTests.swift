#if NIOSSL
import Keyfob
import KeyfobPrimitives
import Testing

@testable import KeyfobNIOSSL

struct SigningTroubleTests {
    @Test func `an interval that is over before anybody sleeps wakes him all the same`() async {
        let trouble = SigningTrouble()
        // What is not woken is let go in the end, and found out.
        let patience = Task {
            do { try await Task.sleep(for: .seconds(600)) } catch { return }
            trouble.end()
        }
        // As the timer does while the thread that is to sleep is held up.
        trouble.endInterval()
        #expect(await trouble.wait(.seconds(3600)) == false)
        // And not twice.
        #expect(await trouble.wait(.milliseconds(1)) == false)
        patience.cancel()
    }

    @Test func `of failures without end one is told now and then, the first at once and none that came last is lost`()
        async
    {
        let trouble = SigningTrouble()
        let flood = Task.detached {
            while !Task.isCancelled {
                trouble.report(KeychainError(.tokenAbsent, "the token is gone"))
                await Task.yield()
            }
        }
        let start = ContinuousClock.now
        for _ in 0..<2 { #expect(await trouble.wait(.seconds(600), pausing: .seconds(4)) == true) }
        // A pause before each but the first; a sleep is never too short, and no machine is so slow without one.
        #expect(ContinuousClock.now - start >= .seconds(4))
        flood.cancel()
        await flood.value
        trouble.report(KeychainError(.tokenAbsent, "the token is gone"))
        #expect(await trouble.wait(.seconds(600), pausing: .milliseconds(50)) == true)
        // And an interval without failures is no failure.
        #expect(await trouble.wait(.milliseconds(1), pausing: .milliseconds(50)) == false)
    }
}
#endif
