import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Searches while another keychain of the process renews the identity.
    @Suite struct RenewalSearchTests {
        @Test(.needs(.makesECKeys)) func `a search for a name during its renewal always finds exactly one identity`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try await keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let renewals = 12
            let progress = Lock((looks: 0, isDone: false))
            // The closure must not hold `test`: it ends on another thread, maybe during the next test, and the end of
            // `test` removes all objects of the token.
            let other = try test.reopen()
            async let looking = try await BlockingExecutor.shared.run { () throws -> (Int, Set<Data>) in
                var seen: Set<Data> = []
                var looks = 0
                while !progress.withLock({ $0.isDone }) {
                    let found = try other.find(.identity(label: "web"))
                    #expect(found.count == 1)
                    if let identity = found.first {
                        #expect(identity.key.label == "web")
                        seen.insert(identity.der)
                        if looks % 8 == 0 { _ = try other.keys.tokenKey(for: identity).sign([1, 2, 3], using: .ecdsa(.sha256)) }
                    }
                    looks += 1
                    progress.withLock { $0.looks = looks }
                    progress.broadcast()
                }
                return (looks, seen)
            }
            // Also set if a renewal fails, because the search would never end otherwise.
            defer { progress.withLock { $0.isDone = true } }
            var identity = first
            for index in 0..<renewals {
                identity = try await keychain.identities.renew(
                    identity, key: index % 2 == 0 ? .new(nil) : .same, issuer: SelfIssuer()).identity
                // On a busy machine the renewals would end before the search has looked often.
                try await BlockingExecutor.shared.run {
                    try #require(progress.wait(until: .after(.seconds(60))) { $0.looks > index + 1 ? true : nil } != nil)
                }
            }
            progress.withLock { $0.isDone = true }
            let (looks, seen) = try await looking
            print("\(looks) looks during \(renewals) renewals saw \(seen.count) versions")
            #expect(looks > renewals && seen.count > 2)
            withExtendedLifetime(test) {}
        }
    }
}
