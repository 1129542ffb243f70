import Foundation
import TestSupport
import Testing

/// What a token answers when it is tried whether it can seal a keychain.
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
    func `what goes wrong with the device is not said to be what the token cannot do`(answer: String) throws {
        let (_, failed) = try create(refusing: "trial-fails=\(answer)")
        #expect(failed.status != 0)
        #expect(!failed.error.contains("in no way") && !failed.error.contains("Use another token"), "\(failed.error)")
    }

    /// CKR_MECHANISM_INVALID, CKR_KEY_SIZE_RANGE, and CKR_GENERAL_ERROR again and again.
    @Test(arguments: ["0x70", "0x62", "0x5"])
    func `a token that refuses every wrapping is told to`(answer: String) throws {
        let (_, failed) = try create(refusing: "trial-fails=\(answer)")
        #expect(failed.status != 0 && failed.error.contains("in no way"), "\(failed.error)")
    }

    @Test func `a failure of the moment does not choose the second best wrapping for good`() throws {
        let (_, made) = try create(refusing: "trial-stumbles=2")
        #expect(made.status == 0 && made.output.contains("\"A256GCMKW\""), "\(made.output)\(made.error)")
    }
}
