import Foundation
import Keyfob
import Testing

extension EveryToken {
    /// The second way: four verbs that throw, with a code for each failure.
    @Suite("Four verbs")
    struct FourVerbsTests {
        let test: TestKeychain
        var keychain: Keychain { test.keychain }

        init() throws { test = try TestKeychain() }

        @Test("Add, find, update and delete")
        func verbs() throws {
            let token = SecretBytes(utf8: "first")
            let newToken = SecretBytes(utf8: "second")

            try keychain.add(GenericPassword(service: "api", account: "bot"), secret: token)
            let item = try keychain.only(.genericPassword(service: "api", account: "bot"))
            #expect(try keychain.secret(of: item) == token)
            try keychain.update(.genericPassword(service: "api", account: "bot"), secret: newToken)
            #expect(try keychain.secret(of: item) == newToken)
            try keychain.delete(.genericPassword(service: "api", account: "bot"))
            #expect(try keychain.find(.genericPassword(service: "api")).isEmpty)
        }

        @Test("The same verbs in asynchronous code")
        func asynchronous() async throws {
            let keychain = keychain
            try await keychain.add(GenericPassword(service: "api", account: "bot"), secret: SecretBytes(utf8: "x"))
            let item = try await keychain.only(.genericPassword(service: "api"))
            #expect(try await keychain.secret(of: item) == SecretBytes(utf8: "x"))
            try await keychain.update(.genericPassword(service: "api"), [.comment: "changed"])
            #expect(try await keychain.find(.genericPassword(service: "api")).first?.comment == "changed")
            try await keychain.delete(.genericPassword(service: "api"))
            await #expect(throws: KeychainError.self) { try await keychain.only(.genericPassword(service: "api")) }
        }

        @Test("Every failure has its own code")
        func codes() throws {
            let item = GenericPassword(service: "api", account: "bot")
            let secret = SecretBytes(utf8: "x")
            try keychain.add(item, secret: secret)
            try keychain.add(GenericPassword(service: "api", account: "other"), secret: secret)
            #expect(code { try keychain.add(item, secret: secret) } == .duplicateItem)
            #expect(code { _ = try keychain.only(.genericPassword(service: "api")) } == .ambiguous)
            #expect(code { _ = try keychain.only(.genericPassword(service: "none")) } == .itemNotFound)
            #expect(code { try keychain.update(.genericPassword(service: "none"), secret: secret) } == .itemNotFound)
            #expect(code { try keychain.delete(.genericPassword(service: "none")) } == .itemNotFound)
            #expect(code { _ = try keychain.find(.genericPasswords.having(.server, "x")) } == .noSuchAttribute)
            #expect(
                code {
                    try keychain.update(.genericPassword(account: "other"), [.account: "bot"])
                } == .duplicateItem)
            #expect(try keychain.find(.genericPassword(service: "api")).count == 2)
        }
    }
}
