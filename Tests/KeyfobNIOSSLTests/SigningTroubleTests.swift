#if NIOSSL
import KeyfobPrimitives
import Testing

@testable import KeyfobNIOSSL

struct SigningTroubleTests {
    @Test func `an interval that is over before anybody sleeps wakes him all the same`() async {
        let trouble = SigningTrouble()
        // What is not woken is let go in the end, and found out.
        let patience = Task {
            do { try await Task.sleep(for: .seconds(30)) } catch { return }
            trouble.end()
        }
        // As the timer does while the thread that is to sleep is held up.
        trouble.endInterval()
        #expect(await trouble.wait(.seconds(600)) == false)
        // And not twice.
        #expect(await trouble.wait(.milliseconds(1)) == false)
        patience.cancel()
    }
}
#endif
