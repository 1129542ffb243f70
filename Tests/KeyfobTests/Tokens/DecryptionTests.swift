import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Errors of decryption: the module returns the same error for a bad ciphertext and for a lost daemon.
@Suite struct DecryptionTests {
    private let directory: TemporaryDirectory
    private let module: FaultyModule
    private let keychain: Keychain
    private let key: TokenKey

    init() throws {
        directory = try TemporaryDirectory()
        module = try FaultyModule(in: directory)
        let token = try TestToken.make(label: "opener")
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        key = try keychain.keys.tokenKey(
            for: keychain.keys.importKey(PrivateKey.generate(.rsa(bits: 2048)), label: "opener"))
    }

    @Test(arguments: [("", 0), ("answer=C_Decrypt,5,1", 0), ("lost=C_Decrypt,5 lost=C_GenerateRandom,5", 1)])
    func `a lost daemon is reconnected and the decryption is repeated`(
        words: String, initializations: Int
    ) throws {
        let ciphertext = try key.publicKey.encryptOAEP(SecretBytes("secret"), hash: .sha1)
        #expect(try key.decrypt(ciphertext, using: .rsaOAEP(.sha1)) == SecretBytes("secret"))
        let before = try #require(keychain.token.generation)
        try module.say(words)
        #expect(try key.decrypt(ciphertext, using: .rsaOAEP(.sha1)) == SecretBytes("secret"))
        #expect(keychain.token.generation == before + initializations)
    }

    @Test(arguments: ["", "answer=C_Decrypt,5"])
    func `a ciphertext that a working token keeps refusing is reported as bad`(words: String) throws {
        var ciphertext = try key.publicKey.encryptOAEP(SecretBytes("secret"), hash: .sha1)
        if words.isEmpty { ciphertext[ciphertext.count - 1] ^= 1 }
        let before = try #require(keychain.token.generation)
        try module.say(words)
        let error = #expect(throws: KeychainError.self) { try key.decrypt(ciphertext, using: .rsaOAEP(.sha1)) }
        #expect(error?.code == .invalidArgument && error?.cause is PKCS11Error, "\(error as Any)")
        #expect(keychain.token.generation == before)
    }
}
