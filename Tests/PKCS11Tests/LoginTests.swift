import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite("Login") struct LoginTests {
    @Test("A login applies to all sessions with the token, and ends with the last of them")
    func sharedByAllSessions() throws {
        let token = try TestToken.make(label: "login")
        let first = try token.slot.openSession()
        let second = try token.slot.openSession(readWrite: false)
        try expectState(of: first, .readWritePublic)
        try expectState(of: second, .readOnlyPublic)
        try first.login(pin: token.pin)
        try expectState(of: first, .readWriteUser)
        try expectState(of: second, .readOnlyUser)
        let error = #expect(throws: PKCS11Error.self) { try token.logIn(SecretBytes(utf8: "whatever")) }
        #expect(error?.returnValue == .userAlreadyLoggedIn)
        try first.close()
        try expectState(of: second, .readOnlyUser)
        try second.close()
        let third = try token.slot.openSession()
        try expectState(of: third, .readWritePublic)
    }

    struct WrongPIN: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let pin: SecretBytes
        let answer: ReturnValue
    }

    @Test("A wrong PIN is refused, and the token shows that one failed", arguments: [
        WrongPIN(testDescription: "another", pin: SecretBytes(utf8: "4321-user"), answer: .pinIncorrect),
        WrongPIN(testDescription: "empty", pin: SecretBytes(utf8: ""), answer: .pinIncorrect),
        WrongPIN(testDescription: "the officer's", pin: SecretBytes(utf8: TestToken.securityOfficerPINText),
            answer: .pinIncorrect),
    ])
    func wrongPIN(_ row: WrongPIN) throws {
        let token = try TestToken.make(label: "wrong")
        let error = #expect(throws: PKCS11Error.self) { try token.logIn(row.pin) }
        #expect(error?.function == .login)
        #expect(error?.returnValue == row.answer)
        #expect(try token.slot.tokenInfo().flags.contains(.userPINCountLow))
        try token.logIn(token.pin)
        #expect(try !token.slot.tokenInfo().flags.contains(.userPINCountLow))
    }

    @Test("The error of a refused login does not contain the PIN")
    func errorHoldsNoPIN() throws {
        let token = try TestToken.make(label: "planted")
        let error = #expect(throws: PKCS11Error.self) { try token.logIn(SecretBytes(utf8: "planted-secret")) }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("planted-secret"))
    }

    @Test("A changed PIN replaces the old one")
    func changePIN() throws {
        let token = try TestToken.make(label: "change")
        let new = SecretBytes(utf8: "another-pin")
        let session = try token.openSession()
        try session.setPIN(old: token.pin, new: new)
        try session.close()
        let error = #expect(throws: PKCS11Error.self) { try token.logIn(token.pin) }
        #expect(error?.returnValue == .pinIncorrect)
        try token.logIn(new)
    }

    @Test("A logout without a login is an error, and the session stays usable")
    func logoutTwice() throws {
        let token = try TestToken.make(label: "logout")
        let session = try token.openSession()
        try session.logout()
        try expectState(of: session, .readWritePublic)
        try session.login(pin: token.pin)
        let isBroken = session.isBroken
        #expect(!isBroken)
    }

    @Test("The security officer cannot log in while a read-only session is open")
    func officerAndReaders() throws {
        let token = try TestToken.make(label: "officer")
        let reader = try token.slot.openSession(readWrite: false)
        let error = try refusal {
            let session = try token.slot.openSession()
            try session.login(.securityOfficer, pin: token.securityOfficerPIN)
        }
        #expect(error?.returnValue == .sessionReadOnlyExists)
        try reader.close()
    }
}

private func expectState(
    of session: borrowing Session, _ expected: SessionInfo.State, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let state = try session.info().state
    #expect(state == expected, sourceLocation: sourceLocation)
}

extension TestToken {
    /// Opens a session, logs in, and closes it.
    func logIn(_ pin: SecretBytes) throws {
        let session = try slot.openSession()
        try session.login(pin: pin)
        try session.close()
    }
}
