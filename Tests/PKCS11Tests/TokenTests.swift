import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite("Tokens") struct TokenTests {
    @Test("A new token gives its identity, and says that it has a user PIN")
    func describesItself() throws {
        let token = try TestToken.make(label: "describe")
        let info = try token.slot.tokenInfo()
        #expect(info.label == token.label)
        #expect(info.manufacturer == "SoftHSM project")
        #expect(info.model == "SoftHSM v2")
        #expect(info.serialNumber == token.serialNumber)
        #expect(info.flags.isSuperset(of: [.tokenInitialized, .userPINInitialized, .loginRequired]))
        #expect(info.flags.isDisjoint(with: [.userPINCountLow, .userPINLocked, .writeProtected]))
        #expect(info.pinLength == 4...255)
        #expect(info.uri.token == token.label)
        #expect(try token.slot.info().isTokenPresent)
    }

    @Test("The module gives its manufacturer")
    func describesModule() throws {
        let info = try TestToken.loadModule().info()
        #expect(info.manufacturer == "SoftHSM")
        #expect(info.cryptokiVersion == Version(major: 2, minor: 40))
    }

    @Test("Mechanism flags come from the token, and not from old memory")
    func mechanismFlags() throws {
        let token = try TestToken.make(label: "mechanisms")
        let listed = try token.slot.mechanisms()
        #expect(listed.contains(.aesGCM) && listed.contains(.rsaPSS))
        let gcm = try token.slot.mechanismInfo(.aesGCM)
        #expect(gcm.flags.isSuperset(of: [.encrypt, .decrypt]))
        #expect(gcm.flags.isDisjoint(with: [.sign, .generate, .hardware]))
        #expect(gcm.keySizes == 16...32)
        let error = #expect(throws: PKCS11Error.self) {
            try token.slot.mechanismInfo(MechanismType(rawValue: 0x7fff_ffff))
        }
        #expect(error?.returnValue == .mechanismInvalid)
    }

    @Test("A token is found only if all parts of its URI match")
    func selection() throws {
        let token = try TestToken.make(label: "select")
        #expect(try token.module.slot(matching: token.uri) == token.slot)
        #expect(try token.module.slot(matching: token.slot.tokenInfo().uri) == token.slot)
        var other = token.uri
        other.serial = "0000"
        // Restrict the search to this slot. Otherwise an unreadable token of another test might be the one, and SoftHSM
        // may treat that token as broken from then on.
        other.slotID = token.slot.id
        #expect(try token.module.slot(matching: other) == nil)
        _ = try TestToken.make(label: "select")
        var ambiguous = PKCS11URI()
        ambiguous.manufacturer = "SoftHSM project"
        let directory = try TemporaryDirectory()
        let module = try token.behind(FaultyModule(in: directory)).module
        let error = #expect(throws: PKCS11Error.self) { try module.slot(matching: ambiguous) }
        #expect(error?.returnValue == .argumentsBad)
    }

    @Test("A label longer than 32 bytes is refused before the token is changed")
    func longLabel() throws {
        let token = try TestToken.make(label: "label")
        let error = #expect(throws: PKCS11Error.self) {
            try token.slot.initializeToken(
                label: String(repeating: "x", count: 33), securityOfficerPIN: token.securityOfficerPIN)
        }
        #expect(error?.returnValue == .argumentsBad)
        #expect(try token.slot.tokenInfo().label == token.label)
    }

    @Test("An unknown slot is an error")
    func unknownSlot() throws {
        let slot = Slot(module: try TestToken.loadModule(), id: 0xdead_beef)
        let error = #expect(throws: PKCS11Error.self) { try slot.tokenInfo() }
        #expect(error?.returnValue == .slotIDInvalid)
        #expect(error?.function == .getTokenInfo)
    }

    @Test("Other programs see the token")
    func seenByOthers() throws {
        let token = try TestToken.make(label: "shared")
        let result = try run("softhsm2-util", ["--show-slots"], environment: token.environment)
        #expect(result.status == 0)
        #expect(result.stdout.contains(token.label))
    }
}
