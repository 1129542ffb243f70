import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// A process that ends while its threads are at work on the token, as a server does.
extension TestChild {
    static func endAtWork(_ keychain: Keychain) throws {
        let key = try keychain.tokenKey(for: keychain.generateKey(.p256, label: "end"))
        let hasBegun = DispatchSemaphore(value: 0)
        for _ in 0..<8 {
            Thread.detachNewThread {
                // What fails once the process ends is nobody's concern.
                while true {
                    _ = try? key.sign([1, 2, 3], using: .ecdsa(.sha256))
                    hasBegun.signal()
                }
            }
        }
        for _ in 0..<40 { hasBegun.wait() }
        exit(0)
    }
}
