import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// A process that forks while it has a keychain open.
extension TestChild {
    /// Swift hides fork(2), because little of a Swift program may be used after it.
    static func cFork() -> Int32 {
        guard let symbol = unsafe dlsym(nil, "fork") else { exit(70) }
        return unsafe unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
    }

    /// Forks, and uses the keychain on both sides.
    static func fork(_ keychain: Keychain) throws {
        let item = try keychain.add(GenericPassword(service: "before", account: "a"), secret: SecretBytes(utf8: "s"))
        let key = try keychain.keys.tokenKey(for: keychain.keys.generate(.p256, label: "key"))
        let child = cFork()
        guard child != 0 else {
            // The kernel ends a child that waits for ever.
            alarm(60)
            tell("vault") { _ = try keychain.secret(of: item) }
            tell("token") { _ = try key.sign([1, 2, 3], using: .ecdsa(.sha256)) }
            _exit(0)
        }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
        _ = try key.sign([1, 2, 3], using: .ecdsa(.sha256))
        try keychain.add(GenericPassword(service: "after", account: "a"), secret: SecretBytes(utf8: "s"))
        say("parent done")
        _exit(status == 0 ? 0 : 1)
    }

    private static func tell(_ what: String, _ body: () throws -> Void) {
        do {
            try body()
            say("\(what): done")
        } catch let error as KeychainError {
            say("\(what): \(error.code)")
        } catch {
            say("\(what): \(error)")
        }
    }
}
