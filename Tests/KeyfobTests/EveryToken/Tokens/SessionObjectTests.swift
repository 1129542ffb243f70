import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Objects that live as long as a session, such as a key that is being unwrapped.
    ///
    /// Every session of the process sees them.
    @Suite struct SessionObjectTests {
        @Test(.needs(.makesAESKeys)) func `a session object is not an item`() throws {
            let test = try TestKeychain()
            let token = test.keychain.token
            let (before, count, after) = try token.undisturbed {
                let before = try token.readObjects()
                let other = try token.pool().openSession()
                _ = try other.generateKey(
                    Mechanism(.aesKeyGeneration),
                    template: [
                        .objectClass(.secretKey), .keyType(.aes), .valueLength(32), .token(false), .isPrivate(true),
                        .id([9]),
                    ])
                let count = try token.withSession(.read) { session in try session.findObjects([.token(false)]).count }
                let after = try token.readObjects()
                try other.close()
                return (before, count, after)
            }
            #expect(count == 1)
            #expect(after.objects.count == before.objects.count)
            // A session object has no file, and the files are compared with the listed objects.
            #expect(after.listed == before.listed)
        }
    }
}
