import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives
import TestSupport
import Testing

extension EveryToken {
    /// Logins and logouts, which concern all keychains of a process that are on the same token.
    @Suite struct LoginChangeTests {
        @Test(.needs(.makesECKeys)) func `a keychain finds its keys while other keychains of the process unlock`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let key = try await keychain.keys.generate(.p256, label: "one")
            // The searches that have ended, and whether there are no more unlocks.
            let progress = Lock((searches: 0, isDone: false))
            async let searching: Void = BlockingExecutor.shared.run {
                repeat {
                    #expect(try keychain.find(.key(label: "one").keyClass(.private)).map(\.reference) == [key.reference])
                    _ = try keychain.keys.tokenKey(for: key).sign([1, 2, 3], using: .ecdsa(.sha256))
                    progress.withLock { $0.searches += 1 }
                    progress.broadcast()
                } while !progress.withLock { $0.isDone }
            }
            // Also set if an unlock fails, because the search would never end otherwise.
            defer { progress.withLock { $0.isDone = true } }
            for _ in 0..<10 {
                // Each logs the token out and in again, to have its PIN checked. One search loses one login at most.
                let other = try test.reopen()
                try await BlockingExecutor.shared.run {
                    let before = progress.withLock { $0.searches }
                    try other.unlock()
                    try #require(progress.wait(until: .after(.seconds(60))) { $0.searches > before ? true : nil } != nil)
                }
            }
            progress.withLock { $0.isDone = true }
            try await searching
            withExtendedLifetime(test) {}
        }
    }
}
