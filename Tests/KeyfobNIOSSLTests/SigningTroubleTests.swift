#if NIOSSL
import Keyfob
import KeyfobPrimitives
import Testing

@testable import KeyfobNIOSSL

struct SigningTroubleTests {
    @Test func `an interval that ends before the task sleeps wakes it all the same`() async {
        let trouble = SigningTrouble()
        // A task that is not woken is released in the end, and the test detects that.
        let patience = Task {
            do { try await Task.sleep(for: .seconds(600)) } catch { return }
            trouble.end()
        }
        // As the timer does while the thread that is about to sleep is delayed.
        trouble.endInterval()
        #expect(await trouble.wait(.seconds(3600)) == false)
        // It is not woken twice.
        #expect(await trouble.wait(.milliseconds(1)) == false)
        patience.cancel()
    }

    @Test func `endless failures are reported from time to time, with the first one at once and the last one included`()
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
        // A pause before each but the first. A sleep is never too short, and no machine needs this long without one.
        #expect(ContinuousClock.now - start >= .seconds(4))
        flood.cancel()
        await flood.value
        trouble.report(KeychainError(.tokenAbsent, "the token is gone"))
        #expect(await trouble.wait(.seconds(600), pausing: .milliseconds(50)) == true)
        // An interval without failures reports none.
        #expect(await trouble.wait(.milliseconds(1), pausing: .milliseconds(50)) == false)
    }
}
#endif
