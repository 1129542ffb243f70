import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// The errors that a keychain makes of a token's refusals.
@Suite struct RefusalTextTests {
    @Test(arguments: [PKCS11Function.login, .openSession])
    func `waiting too long for the token is reported as a timeout, not as a failure`(
        function: PKCS11Function
    ) {
        let waited = PKCS11Error(function: function, returnValue: .sessionCount, detail: "it took too long")
        let error = KeychainError.token(waited, .login, token: "card")
        #expect(error.code == .timedOut)
        #expect(error.message.contains("it took too long"))
        #expect(error.remedies.last == Remedy("To wait longer", .change(.timeout)))
        // The token itself has no more sessions.
        let full = PKCS11Error(function: function, returnValue: .sessionCount)
        #expect(KeychainError.token(full, .login, token: "card").code == .failed)
    }

    @Test func `a module that another thread is still loading is not reported as missing`() {
        let waited = PKCS11Error(function: .moduleLoad, returnValue: .cantLock, detail: "it took too long")
        let error = KeychainError.token(waited, .login, token: "card")
        #expect(error.code == .timedOut && error.message.contains("it took too long"), "\(error)")
    }

    @Test(arguments: [
        (PKCS11Error(function: .getTokenInfo, returnValue: .pinIncorrect), .change(.finalTry)),
        (PKCS11Error(function: .login, returnValue: .pinLocked), .unblockPIN(token: "my token")),
        (PKCS11Error(function: .login, returnValue: .userPINNotInitialized), .setPIN(token: "my token")),
        (PKCS11Error(function: .login, returnValue: .pinExpired), .changePIN(token: "my token")),
        (PKCS11Error(function: .createObject, returnValue: .deviceMemory), .listObjects(token: "my token")),
    ] as [(PKCS11Error, Remedy.Operation)])
    func `a refusal proposes an operation on the token that refused`(
        refusal: PKCS11Error, operation: Remedy.Operation
    ) {
        let error = KeychainError.token(refusal, .create, token: "my token")
        #expect(error.remedies.last?.operation == operation)
    }

    @Test(arguments: [
        ReturnValue.pinIncorrect, .pinLocked, .userNotLoggedIn, .tokenNotPresent, .tokenWriteProtected, .deviceMemory,
        .mechanismInvalid, .keyUnextractable, .deviceError, .sessionCount,
    ])
    func `the hint of a refusal names no command of keyfob and no option`(value: ReturnValue) throws {
        let refusal = PKCS11Error(function: .login, returnValue: value, detail: "it took too long")
        let error = KeychainError.token(refusal, .login, token: "card", flags: [.userPINFinalTry])
        let words = error.description.replacing(/pkcs11-tool.*/, with: "")
        #expect(!words.contains("keyfob") && !words.contains("--"), "\(error)")
    }

    @Test(arguments: ["short=63", "short=0", "garbled", "garbled stranger"])
    func `an invalid signature is reported as an error of the token, with the token and the key`(words: String) throws {
        let token = try TestToken.make(label: "signer")
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory, saying: words.contains("stranger") ? "stranger" : "")
        _ = try token.behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        let keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin))).keychain
        let key = try keychain.keys.generate(.p256, label: "web")
        let signer = try keychain.keys.tokenKey(for: key)
        try module.say(words)
        let error = #expect(throws: KeychainError.self) {
            try keychain.identities.create("site", .server("site"), issuer: SelfIssuer())
        }
        #expect(error?.code == .tokenContractViolation && error?.message.contains("the new key") == true, "\(error as Any)")
        #expect(error?.message.contains("token \"\(token.label)\"") == true && error?.hint != nil)
        // On a token that keeps its handles, only the form of a plain signature can be checked.
        guard words != "garbled" else { return }
        let refused = #expect(throws: KeychainError.self) { try signer.sign([1, 2, 3], using: .ecdsa(.sha256)) }
        #expect(refused?.code == .tokenContractViolation && refused?.message.contains("key \"web\"") == true)
    }

    @Test func `the key sizes in a message are those that Keyfob makes and the token supports`() {
        #expect(KeySpecification.rsaKinds(128...4_294_967_295) == "RSA 2048-4096")
        #expect(KeySpecification.rsaKinds(1024...2048) == "RSA 2048")
        #expect(KeySpecification.rsaKinds(512...1024) == nil)
        #expect(KeySpecification.ecKinds(112...521) == "EC P-256, P-384, P-521")
        #expect(KeySpecification.ecKinds(256...384) == "EC P-256, P-384")
    }
}
