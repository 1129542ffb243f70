import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// No printable value contains a secret, a PIN or the value of an attribute.
    @Suite struct SilenceTests {
        private struct Planted {
            let account = "account-5d1f"
            let comment = "comment-77aa"
            let generic = "generic-93be"
            let secret = "secret-c04e"
            let pin = "pin-41b7"
            var texts: [String] { [account, comment, generic, secret, pin] }
        }

        private func printed(_ value: Any) -> String {
            var dumped = ""
            dump(value, to: &dumped)
            return [String(describing: value), String(reflecting: value), dumped].joined(separator: "\n")
        }

        /// Every planted text, as it is and in the form in which arrays of bytes print.
        private func leaks(_ planted: Planted, in text: String, but allowed: [String] = []) -> [String] {
            planted.texts.filter { !allowed.contains($0) }.filter { secret in
                let bytes = Array(secret.utf8)
                let inHex = bytes.map { String(format: "%02x", $0) }.joined()
                return [secret, inHex, "\(bytes)".dropFirst().dropLast().description, Data(bytes).base64EncodedString()]
                    .contains { text.localizedCaseInsensitiveContains($0) }
            }
        }

        private func errors(_ test: TestKeychain, _ planted: Planted, _ item: GenericPassword) -> [any Error] {
            let keychain = test.keychain
            let all = Query.genericPassword(service: "s")
            let attempts: [() throws -> Void] = [
                { try keychain.add(item, secret: SecretBytes(planted.secret)) },
                { try keychain.update(all, [.account: .string(planted.account)], secret: SecretBytes(planted.secret)) },
                { try keychain.update(all, [.server: .string(planted.comment)]) },
                { try keychain.update(all, [.creationDate: .string(planted.comment)]) },
                { _ = try keychain.only(.genericPassword(account: planted.account + "x")) },
                { _ = try keychain.only(all) },
                { try keychain.delete(Query.genericPassword(service: planted.generic)) },
                { _ = try PersistentReference(Data(planted.secret.utf8)) },
                { _ = try keychain.findItems(Criteria(.key, [.keyClass: .date(Date()), .comment: .string(planted.comment)])) },
                { _ = try Certificate(der: Data(planted.secret.utf8)) },
                { _ = try PrivateKey.load(Data(planted.secret.utf8)) },
                {
                    _ = try keychain.identities.importPKCS12(
                        Data(planted.secret.utf8), fileName: "f", passphrase: SecretBytes(planted.pin))
                },
                {
                    let directory = try TemporaryDirectory()
                    var wrongPIN = Keychain.Options()
                    wrongPIN.pinSource = .file(try directory.write(planted.pin.utf8, to: "pin"))
                    try keychain.lock()
                    try withExtendedLifetime(directory) { try test.reopen(wrongPIN).unlock() }
                },
                {
                    try test.sql { try $0.execute(sql: "UPDATE item SET attributes_tag = zeroblob(16)") }
                    _ = try keychain.find(all)
                },
                { try keychain.token.withSession(.login) { _ in throw KeychainError(.failed, "it failed.") } },
            ]
            return attempts.compactMap { attempt in
                do {
                    try attempt()
                    return nil
                } catch { return error }
            }
        }

        @Test(.needs(.makesECKeys)) func `no error, item, attribute, criteria or key prints a value that it must hide`() throws {
            let test = try TestKeychain()
            let planted = Planted()
            var item = GenericPassword(service: "s", account: planted.account)
            item.comment = planted.comment
            item.item.attributes[.generic] = .data(Data(planted.generic.utf8))
            try test.keychain.add(item, secret: SecretBytes(planted.secret))
            try test.keychain.add(GenericPassword(service: "s", account: "other"), secret: nil)
            let found = try #require(test.keychain.find(.genericPasswords).first)
            let key = try test.keychain.keys.generate(.p256, label: "key", applicationTag: Data(planted.generic.utf8))
            var criteria = Criteria(.genericPassword, item.attributes)
            criteria.subjectContains = planted.comment
            criteria.issuers = [Data(planted.generic.utf8)]
            criteria.accessGroups = [planted.account]
            criteria.hostName = planted.comment
            let values: [Any] = [
                item, found, found.item, found.attributes, found.attributes[.generic] as Any, Array(found.attributes),
                criteria, Query<GenericPassword>(criteria), try #require(found.reference), SecretBytes(planted.secret),
                key, key.item, try test.keychain.keys.tokenKey(for: key), try test.keychain.vaultKeys(), test.keychain,
            ]
            for value in values { #expect(leaks(planted, in: printed(value)) == [], "\(type(of: value))") }
            let errors = errors(test, planted, item)
            #expect(errors.count == 15)
            #expect(errors.contains { ($0 as? KeychainError)?.code == .pinIncorrect })
            for error in errors {
                #expect(leaks(planted, in: printed(error)) == [], "\(printed(error))")
            }
        }
    }
}
