import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The directory of a token of ours goes out of sight, as with a disk that is not mounted for a moment.
@Suite struct LostSightTests {
    /// Runs `body` while the token's directory is elsewhere. It comes back as it was, so that its files tell nothing.
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

    // In processes of their own: what another test is making may be the token that is away, for all that is known, and
    // nobody says then that it is absent.

    @Test func `a token that is away is told to be absent, and serves again when it is back`() async {
        await #expect(processExitsWith: .success) { try LostSightTests().isAbsentWhileAway() }
    }

    private func isAbsentWhileAway() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let identity = try keychain.createIdentity("web", .server("web"), issuer: SelfIssuer()).identity
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let password = try keychain.only(.genericPassword(service: "a"))
        let signer = try keychain.tokenKey(for: identity)
        let message = Array("message".utf8)
        func expectService() throws {
            #expect(try keychain.find(.identities).compactMap(\.label) == ["web"])
            let signature = try signer.sign(message, using: .ecdsa(.sha256))
            #expect(try signer.publicKey.verify(signature, of: message, using: .ecdsa(.sha256)))
            #expect(try keychain.secret(of: password) == SecretBytes(utf8: "secret"))
        }
        try expectService()
        // Twice, for what was healed once has to be healed again.
        for _ in 0..<2 {
            try whileAway(keychain) {
                #expect(code { _ = try keychain.find(.identities) } == .tokenAbsent)
                #expect(code { _ = try keychain.generateKey(.p256, label: "none") } == .tokenAbsent)
                keychain.token.forgetHandles()
                #expect(code { _ = try signer.sign(message, using: .ecdsa(.sha256)) } == .tokenAbsent)
                #expect(code { _ = try keychain.secret(of: password) } == .tokenAbsent)
                #expect(!keychain.objectsVersion().isReadable)
            }
            try expectService()
            #expect(try keychain.vaultFindings().isEmpty)
        }
        try keychain.delete(identity)
        #expect(try keychain.find(.identities).isEmpty)
    }

    @Test func `a token that was away unnoticed is looked at anew`() async {
        await #expect(processExitsWith: .success) { try LostSightTests().isLookedAtAnew() }
    }

    private func isLookedAtAnew() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let identity = try keychain.createIdentity("web", .server("web"), issuer: SelfIssuer()).identity
        let objects = try keychain.token.readObjects().objects.count
        // SoftHSM is asked for every object, past everything that would notice.
        func lose() throws {
            try whileAway(keychain) { _ = try keychain.token.pool().withSession { try $0.findObjects([.token(true)]) } }
            #expect(!keychain.token.sight.isLost)
        }
        try lose()
        #expect(try keychain.token.readObjects().objects.count == objects)
        try lose()
        keychain.token.forgetHandles()
        let signer = try keychain.tokenKey(for: identity)
        #expect(try signer.sign([1], using: .ecdsa(.sha256)).isEmpty == false)
        // A change that may not run twice fails, and can be made then.
        try lose()
        keychain.token.forgetHandles()
        let criteria = try Criteria(#require(identity.reference))
        if let failure = code({ try keychain.update(criteria, [.label: "renamed"]) }) {
            #expect(failure == .itemNotFound)
            try keychain.update(criteria, [.label: "renamed"])
        }
        #expect(try keychain.find(.identities).compactMap(\.label) == ["renamed"])
    }

    @Test func `a key that was really removed is not looked for by initialising the module`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let key = try keychain.generateKey(.p256, label: "key")
        let signer = try keychain.tokenKey(for: key)
        _ = try signer.sign([1], using: .ecdsa(.sha256))
        for type in ["privkey", "pubkey"] { try test.tool(["--delete-object", "--type", type, "--label", "key"]) }
        #expect(code { _ = try signer.sign([1], using: .ecdsa(.sha256)) } == .itemNotFound)
        // Other tests initialise the module now and then, but not each time.
        let isLeftAlone = try (0..<10).contains { _ in
            try !keychain.token.regainObjects(since: keychain.token.generation)
        }
        #expect(isLeftAlone)
    }
}
