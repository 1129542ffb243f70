import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

extension KeyfobBench {
    /// ECDSA P-256 signatures a second through a keychain, on the token that the C peer uses.
    static func sign(seconds: Double, threads: [Int]) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let module = environment["KEYFOB_BENCH_MODULE"], let token = environment["KEYFOB_BENCH_TOKEN"],
            let pin = environment["KEYFOB_BENCH_PIN"]
        else { throw KeychainError(.invalidArgument, "KEYFOB_BENCH_MODULE, _TOKEN and _PIN must name the token.") }
        try withDirectories { directories in
            var uri = PKCS11URI()
            uri.token = token
            let keychain = try Keychains(directories).create(
                "bench", on: .existing(uri, .path(module), pin: SecretBytes(utf8: pin), pinSource: nil)
            ).keychain
            let item = try keychain.keys.generate(.p256, label: "bench")
            let key = try keychain.keys.tokenKey(for: item)
            let digest = [UInt8](repeating: 7, count: 32)
            for count in threads {
                _ = try key.signDigest(digest, using: .ecdsa(.sha256))
                print("sign-\(count)-threads", try rate(seconds: seconds, threads: count) {
                    _ = try key.signDigest(digest, using: .ecdsa(.sha256))
                }, "sign/s")
            }
            try keychain.delete(item)
        }
    }

    static func rate(seconds: Double, threads: Int, _ body: @escaping @Sendable () throws -> Void) throws -> Double {
        let total = Lock(0)
        let failure = Lock<(any Error)?>(nil)
        let group = DispatchGroup()
        let start = ContinuousClock().now
        let end = start + .seconds(seconds)
        for _ in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                var count = 0
                do {
                    while ContinuousClock().now < end {
                        try body()
                        count += 1
                    }
                } catch { failure.withLock { $0 = error } }
                total.withLock { [count] in $0 += count }
                group.leave()
            }
        }
        group.wait()
        if let error = failure.withLock({ $0 }) { throw error }
        return Double(total.withLock { $0 }) / ((ContinuousClock().now - start) / .seconds(1))
    }
}
