import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

extension KeyfobTLSBench {
    /// The slot of a keychain's token, past the keychain.
    static func slot(of keychain: Keychain) throws -> Slot {
        let uri = try PKCS11URI(keychain.configuration.token)
        let module = try Module.load(
            path: ProcessInfo.processInfo.environment["KEYFOB_BENCH_MODULE"] ?? "/usr/lib/softhsm/libsofthsm2.so")
        guard let slot = try module.slots().first(where: { (try? $0.tokenInfo().label) == uri.token }) else {
            throw KeychainError(.tokenAbsent, "the token is gone.")
        }
        return slot
    }

    /// What the token is asked for.
    static func mechanism(of scheme: SignatureScheme) -> Mechanism {
        scheme == .ecdsa(.sha256) ? Mechanism(.ecdsa) : .rsaPSS(hash: .sha256, saltLength: 32)
    }

    /// `C_SignInit` and `C_Sign` in a loop on sessions of their own, past the keychain: what the token can do at most,
    /// with as many threads as there are cores.
    static func rawRate(
        _ keychain: Keychain, _ identity: Identity, _ scheme: SignatureScheme, seconds: Double
    ) async throws -> Double {
        return try await BlockingExecutor(width: 1).run {
            let slot = try slot(of: keychain)
            let id = [UInt8](try identity.certificate().publicKey.identifier)
            let digest = [UInt8](repeating: 7, count: 32)
            let mechanism = mechanism(of: scheme)
            let total = Lock(0)
            let group = DispatchGroup()
            let start = ContinuousClock.now
            let end = start + .seconds(seconds)
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
                group.enter()
                Thread.detachNewThread {
                    defer { group.leave() }
                    // A thread that fails counts nothing, and the rate shows it.
                    guard let session = try? slot.openSession(),
                        let handle = try? session.findObjects([.objectClass(.privateKey), .id(id)]).first
                    else { return }
                    var count = 0
                    while ContinuousClock.now < end {
                        guard (try? session.sign(digest, with: handle, using: mechanism)) != nil else { break }
                        count += 1
                    }
                    total.withLock { [count] in $0 += count }
                }
            }
            group.wait()
            return Double(total.withLock { $0 }) / ((ContinuousClock.now - start) / .seconds(1))
        }
    }
}
