import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Objects that other tools remove from the token without Keyfob.
    @Suite struct MissingObjectTests {
        @Test(.needs(.makesAESKeys, .makesECKeys, .seesOtherPrograms), arguments: [("privkey", "key"), ("cert", "certificate")])
        func `an object that another tool removed is reported missing, and its row is removed by acceptVault`(
            type: String, kind: String
        ) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            _ = try keychain.keys.generate(.p256, label: "other")
            _ = try keychain.keys.generate(.aes(bits: 128), label: "third")
            #expect(try keychain.integrity.findings().isEmpty)
            let id = try identity.certificate().publicKey.identifier.hexadecimal
            try test.tool(["--delete-object", "--type", type, "--id", id])
            let checked = try test.reopen()
            let findings = try checked.integrity.findings()
            #expect(findings.map(\.code) == [.objectAbsent], "\(findings)")
            #expect(findings.first?.description.hasPrefix("\(kind) \"web\" is not on") == true, "\(findings)")
            let token = checked.token
            let files = token.softHSM?.directory(serial: token.uri.serial, label: token.label)
            let restoring = files.map { "restore the token's files from a backup (\($0.filePath)), " } ?? ""
            let remedy = "any more: \(restoring)import it again, or"
            #expect(findings.first?.description.contains(remedy) == true, "\(findings)")
            let rows = try checked.store.read { try $0.rowCount() }
            #expect(try checked.integrity.acceptVault() == rows - 1)
            #expect(try checked.integrity.findings().isEmpty)
            #expect(try checked.store.read { try $0.rowCount() } == rows - 1)
        }

        @Test(.needs(.makesECKeys, .seesOtherPrograms)) func `a private key without its public key is not reported missing`() throws {
            let test = try TestKeychain()
            let identity = try test.keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let id = try identity.certificate().publicKey.identifier.hexadecimal
            try test.tool(["--delete-object", "--type", "pubkey", "--id", id])
            #expect(try test.reopen().integrity.findings().isEmpty)
        }

        @Test(.needs(.makesECKeys)) func `objects that Keyfob itself renews and removes are not reported missing`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            _ = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer())
            let key = try keychain.keys.generate(.p256, label: "gone")
            try keychain.delete(key)
            try keychain.delete(Query<Identity>())
            #expect(try keychain.integrity.findings().isEmpty)
        }
    }
}
