import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Objects that live as long as a session of this process, such as a key that is being unwrapped, and that every
/// session of the process sees.
@Suite struct SessionObjectTests {
    @Test func `an object that lives as long as a session is no item`() throws {
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
        // It has no file, and the files are compared with what is listed.
        #expect(after.listed == before.listed)
    }
}
