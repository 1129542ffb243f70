import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The directory of a token that Keyfob made disappears for a while, as with a disk that is not mounted.
@Suite struct DroppedObjectTests {
    /// Runs `body` while the token's directory is elsewhere.
    ///
    /// The directory comes back unchanged, so that its files show no difference.
    private func whileAway<Result>(_ keychain: Keychain, _ body: () throws -> Result) throws -> Result {
        let token = keychain.token
        let softHSM = try #require(token.softHSM)
        let found = try softHSM.awaitToken(serial: #require(token.uri.serial), label: token.label)
        guard case .whole(let place) = found else {
            throw KeychainError(.tokenAbsent, "the test's token is not there: \(found)")
        }
        let name = "away-" + place.directory.lastPathComponent
        let elsewhere = softHSM.root.appendingPathComponent(name, isDirectory: true)
        try FileManager.default.moveItem(at: place.directory, to: elsewhere)
        let result = Swift.Result { try body() }
        try FileManager.default.moveItem(at: elsewhere, to: place.directory)
        return try result.get()
    }

    // These tests run in processes of their own. A token that another test is making could be the missing one, and
    // Keyfob does not report a token as absent then.

    @Test func `a missing token is reported as absent and works again when it is back`() async {
        await #expect(processExitsWith: .success) { try DroppedObjectTests().isAbsentWhileAway() }
    }

    private func isAbsentWhileAway() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let password = try keychain.only(.genericPassword(service: "a"))
        let signer = try keychain.keys.tokenKey(for: identity)
        let message = Array("message".utf8)
        func expectService() throws {
            #expect(try keychain.find(.identities).compactMap(\.label) == ["web"])
            let signature = try signer.sign(message, using: .ecdsa(.sha256))
            #expect(try signer.publicKey.verify(signature, of: message, using: .ecdsa(.sha256)))
            #expect(try keychain.secret(of: password) == SecretBytes(utf8: "secret"))
        }
        try expectService()
        // Repeated, because a repaired state must be repairable again.
        for _ in 0..<2 {
            try whileAway(keychain) {
                #expect(code { _ = try keychain.find(.identities) } == .tokenAbsent)
                #expect(code { _ = try keychain.keys.generate(.p256, label: "none") } == .tokenAbsent)
                keychain.token.forgetHandles()
                #expect(code { _ = try signer.sign(message, using: .ecdsa(.sha256)) } == .tokenAbsent)
                #expect(code { _ = try keychain.secret(of: password) } == .tokenAbsent)
                #expect(!keychain.objects.version().isReadable)
            }
            try expectService()
            #expect(try keychain.integrity.findings().isEmpty)
        }
        try keychain.delete(identity)
        #expect(try keychain.find(.identities).isEmpty)
    }

    @Test func `a token is read again after it was missing unnoticed`() async {
        await #expect(processExitsWith: .success) { try DroppedObjectTests().isReadAgain() }
    }

    private func isReadAgain() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
        let objects = try keychain.token.readObjects().objects.count
        // SoftHSM reads every object here, and Keyfob's checks do not notice.
        func lose() throws {
            try whileAway(keychain) { _ = try keychain.token.pool().withSession { try $0.findObjects([.token(true)]) } }
            #expect(!keychain.token.visibility.isStale)
        }
        try lose()
        #expect(try keychain.token.readObjects().objects.count == objects)
        try lose()
        keychain.token.forgetHandles()
        let signer = try keychain.keys.tokenKey(for: identity)
        #expect(try signer.sign([1], using: .ecdsa(.sha256)).isEmpty == false)
        // A change that must not run twice fails, and succeeds when repeated by the caller.
        try lose()
        keychain.token.forgetHandles()
        let criteria = try Criteria(#require(identity.reference))
        if let failure = code({ try keychain.update(criteria, [.label: "renamed"]) }) {
            #expect(failure == .itemNotFound)
            try keychain.update(criteria, [.label: "renamed"])
        }
        #expect(try keychain.find(.identities).compactMap(\.label) == ["renamed"])
    }

    @Test func `a key that was removed does not cause the module to be initialised again`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let key = try keychain.keys.generate(.p256, label: "key")
        let signer = try keychain.keys.tokenKey(for: key)
        _ = try signer.sign([1], using: .ecdsa(.sha256))
        for type in ["privkey", "pubkey"] { try test.tool(["--delete-object", "--type", type, "--label", "key"]) }
        #expect(code { _ = try signer.sign([1], using: .ecdsa(.sha256)) } == .itemNotFound)
        // Other tests sometimes initialise the module, but not every time.
        let isLeftAlone = try (0..<10).contains { _ in
            try !keychain.token.reinitializeIfObjectsDropped(since: keychain.token.generation)
        }
        #expect(isLeftAlone)
    }
}
