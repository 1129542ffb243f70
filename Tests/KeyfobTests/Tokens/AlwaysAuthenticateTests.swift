import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Keys that require the PIN for each use. A wrong PIN is sent once, because the token counts every attempt.
@Suite struct AlwaysAuthenticateTests {
    private let directory: TemporaryDirectory
    private let module: FaultyModule
    private let keychain: Keychain

    init() throws {
        directory = try TemporaryDirectory()
        module = try FaultyModule(in: directory)
        let token = try TestToken.make(label: "guarded")
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        _ = try keychain.keys.importKey(PrivateKey.generate(.rsa(bits: 2048)), label: "guarded")
    }

    /// Returns the key as the token describes it after the module was configured with `words`.
    private func key(saying words: String) throws -> TokenKey {
        try module.say(words)
        return try keychain.keys.tokenKey(
            for: #require(keychain.find(.key(label: "guarded")).first { $0.keyClass == .private }))
    }

    private let message = Array("message".utf8)

    @Test(arguments: ["sign", "decrypt"])
    func `a PIN refused when a key is used is sent once and remembered`(use: String) throws {
        let key = try key(saying: "context-login=160")
        let ciphertext = try key.publicKey.encryptOAEP(SecretBytes("secret"), hash: .sha1)
        let codes = (0..<5).map { _ in
            code {
                if use == "sign" {
                    _ = try key.sign(message, using: .rsaPKCS1(.sha256))
                } else {
                    _ = try key.decrypt(ciphertext, using: .rsaOAEP(.sha1))
                }
            }
        }
        #expect(codes == [.pinIncorrect, .pinRemembered, .pinRemembered, .pinRemembered, .pinRemembered])
        #expect(try module.authentications == 1)
        #expect(keychain.lockState.withLock { $0.pin == nil && $0.keys == nil })
        // A newly entered PIN is verified even while another session is logged in.
        try module.say("")
        #expect(code { try keychain.unlock(with: SecretBytes("wrong-1234")) } == .pinIncorrect)
        try keychain.unlock(with: SecretBytes(TestToken.pinText))
        let free = try self.key(saying: "")
        let signature = try free.sign(message, using: .rsaPKCS1(.sha256))
        #expect(try free.publicKey.verify(signature, of: message, using: .rsaPKCS1(.sha256)))
    }

    @Test func `threads that use a key at the same time send the PIN once`() throws {
        let (key, message) = (try key(saying: "context-login=160"), message)
        let refused = Lock(0)
        let threads = (0..<4).map { _ in
            POSIXThread.start("signer") {
                let answer = code { _ = try key.sign(message, using: .rsaPKCS1(.sha256)) }
                if answer == .pinIncorrect || answer == .pinRemembered { refused.withLock { $0 += 1 } }
            }
        }
        for thread in threads { try #require(thread).join() }
        #expect(refused.withLock { $0 } == 4)
        #expect(try module.authentications == 1)
    }

    /// CKR_GENERAL_ERROR, CKR_FUNCTION_FAILED and CKR_DEVICE_ERROR.
    @Test(arguments: [5, 6, 48])
    func `a PIN is not sent again after a token error that may have counted the attempt`(answer: Int) throws {
        let key = try key(saying: "context-login=\(answer)")
        #expect(code { _ = try key.sign(message, using: .rsaPKCS1(.sha256)) } == .failed)
        #expect(try module.authentications == 1)
    }

    @Test func `the PIN is not sent for the use of a key when only one attempt is left`() throws {
        let key = try key(saying: "context-login=160 pin-final")
        #expect(code { _ = try key.sign(message, using: .rsaPKCS1(.sha256)) } == .pinFinalTry)
        #expect(try module.authentications == 0)
    }

    @Test func `a PIN stored after another one was refused is sent and stays stored`() throws {
        let key = try key(saying: "context-login=160")
        let keys = try keychain.vaultKeys()
        #expect(code { _ = try key.sign(message, using: .rsaPKCS1(.sha256)) } == .pinIncorrect)
        let session = try slot().openSession()
        let pin = SecretBytes("new-5678")
        try session.setPIN(old: SecretBytes(TestToken.pinText), new: pin)
        _ = try keychain.leaveUnlocked(pin: pin, keys)
        let free = try self.key(saying: "")
        let signature = try free.sign(message, using: .rsaPKCS1(.sha256))
        #expect(try free.publicKey.verify(signature, of: message, using: .rsaPKCS1(.sha256)))
        #expect(keychain.isUnlockedForSession)
        #expect(try !isRemembered(pin))
        #expect(try isRemembered(SecretBytes(TestToken.pinText)))
    }

    @Test func `public objects stay readable after a typed PIN was refused, and the PIN leaves no trace`() throws {
        let pin = SecretBytes(TestToken.pinText)
        let typed = try Keychains(Directories(root: directory.url("typed"))).create(
            "typed", on: .existing(keychain.token.uri, .path(module.path), pin: pin, pinSource: nil)).keychain
        try typed.unlock(with: pin)
        _ = try typed.keys.importKey(PrivateKey.generate(.rsa(bits: 2048)), label: "typed")
        try module.say("context-login=160")
        let key = try typed.keys.tokenKey(for: #require(typed.find(.key(label: "typed")).first { $0.keyClass == .private }))
        #expect(code { _ = try key.sign(message, using: .rsaPKCS1(.sha256)) } == .pinIncorrect)
        #expect(try typed.find(.certificates).isEmpty)
        #expect(try module.authentications == 1)
        #expect(try !isRemembered(pin, by: typed))
    }

    private func slot() throws -> Slot { try #require(try Module.load(path: module.path).slot(matching: keychain.token.uri)) }

    private func isRemembered(_ pin: SecretBytes, by other: Keychain? = nil) throws -> Bool {
        let keychain = other ?? keychain
        return try WrongPINMemory(directories: keychain.directories).contains(
            pin, serial: keychain.token.uri.serial ?? "", label: keychain.token.label)
    }
}
