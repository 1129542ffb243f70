import Foundation
import TestSupport
import Testing

/// The answers of a token to the trial whether it can seal a keychain.
@Suite struct WrapTrialTests {
    private func create(refusing words: String) throws -> (TestHome, Tool.Result) {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(
            ["FAULTY_TARGET": TestToken.modulePath, "FAULTY_REFUSE": words]) { $1 }
        let made = try household.keyfob(
            [
                "--json", "keychain", "create", "card", "--token", "card", "--module", module, "--pin-source",
                "env:CARD_PIN",
            ], environment: environment)
        return (household, made)
    }

    /// CKR_DEVICE_REMOVED, CKR_PIN_EXPIRED, CKR_DEVICE_MEMORY.
    @Test(arguments: ["0x32", "0xa3", "0x31"])
    func `a device error is not reported as a missing ability of the token`(answer: String) throws {
        let (_, failed) = try create(refusing: "answer=C_GenerateKey,\(answer) answer=C_GenerateKeyPair,\(answer)")
        #expect(failed.status != 0)
        #expect(!failed.error.contains("in no way") && !failed.error.contains("Use another token"), "\(failed.error)")
    }

    /// CKR_MECHANISM_INVALID, CKR_KEY_SIZE_RANGE.
    @Test(arguments: ["0x70", "0x62"])
    func `a token that refuses every way of wrapping gets a keychain without passwords`(answer: String) throws {
        let (household, made) = try create(refusing: "answer=C_GenerateKey,\(answer) answer=C_GenerateKeyPair,\(answer)")
        #expect(made.status == 0, "\(made.error)")
        #expect(made.output.contains("\"wrap_suite\":\"none\""), "\(made.output)")
        #expect(made.output.contains("in no way"), "\(made.output)")
        #expect(try household.keychains() == ["card"])
    }

    /// Repeated CKR_GENERAL_ERROR.
    @Test func `a token that fails without a reason gets no keychain`() throws {
        let (household, failed) = try create(refusing: "answer=C_GenerateKey,0x5 answer=C_GenerateKeyPair,0x5")
        #expect(failed.status == 8 && failed.error.contains("in no way"), "\(failed.error)")
        #expect(failed.error.contains("--no-passwords"), "\(failed.error)")
        #expect(try household.keychains().isEmpty)
    }

    @Test func `a temporary failure does not select a weaker wrapping`() throws {
        let (_, made) = try create(refusing: "answer=C_GenerateKey,5,2")
        #expect(made.status == 0 && made.output.contains("\"A256GCMKW\""), "\(made.output)\(made.error)")
    }
}
