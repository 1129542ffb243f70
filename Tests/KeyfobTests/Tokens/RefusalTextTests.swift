import PKCS11
import Testing

@testable import Keyfob

/// What a keychain makes of a token's refusal.
@Suite struct RefusalTextTests {
    @Test(arguments: [PKCS11Function.login, .openSession])
    func `a wait for the token that lasts too long is a deadline that has passed, not a failure`(
        function: PKCS11Function
    ) {
        let waited = PKCS11Error(function: function, returnValue: .sessionCount, detail: "it took too long")
        let error = KeychainError.token(waited, .login, token: "card")
        #expect(error.code == .timedOut)
        #expect(error.message.contains("it took too long") && error.hint?.contains("--timeout") == true)
        // The token itself has no more sessions.
        let full = PKCS11Error(function: function, returnValue: .sessionCount)
        #expect(KeychainError.token(full, .login, token: "card").code == .failed)
    }

    @Test(arguments: [
        PKCS11Error(function: .getTokenInfo, returnValue: .pinIncorrect),
        PKCS11Error(function: .createObject, returnValue: .deviceMemory),
    ])
    func `the label of a token is one word of the command that a hint gives`(refusal: PKCS11Error) {
        let hint = KeychainError.token(refusal, .create, token: "my token").hint ?? ""
        #expect(hint.contains("'my token'"), "\(hint)")
    }
}
