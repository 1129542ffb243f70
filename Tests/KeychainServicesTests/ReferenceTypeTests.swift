import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

@Suite("Reference types")
struct ReferenceTypeTests {
    @Test("a private key is equal to itself read again, and never to its public half")
    func equality() throws {
        let key = try PrivateKey.generate(.ec(.p256))
        #expect(SecKey(.memory(key)) == SecKey(.memory(key)))
        #expect(SecKey(.memory(key)) != SecKey(.public(key.publicKey)))
        #expect(Set([SecKey(.memory(key)), SecKey(.memory(key))]).count == 1)
    }
}
