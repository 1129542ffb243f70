import Foundation
import Keyfob
import Testing

extension EveryToken {
    /// The first way to use a keychain: like a dictionary. The code is that of `CallingStyles` in the documentation.
    @Suite("Like a dictionary")
    struct DictionaryStyleTests {
        let test: TestKeychain
        var keychain: Keychain { test.keychain }

        init() throws { test = try TestKeychain() }

        @Test("A password is stored, read, replaced and removed by subscript")
        func subscripts() throws {
            let logins = keychain.passwords(service: "example.org")
            logins["alice"] = "12345"
            #expect(logins["alice"] == "12345")
            logins["alice"] = "67890"
            #expect(logins["alice"] == "67890")
            logins["alice"] = nil
            #expect(logins["alice"] == nil)
            logins[data: "key"] = Data([0, 255, 1])
            #expect(logins[data: "key"] == Data([0, 255, 1]))
            #expect(try logins.accounts() == ["key"])
        }

        @Test("Replacing keeps the item: its reference and creation date stay")
        func replacing() throws {
            let logins = keychain.passwords(service: "example.org")
            try logins.set("one", for: "bob")
            let before = try keychain.only(.genericPassword(service: "example.org", account: "bob"))
            try logins.set("two", for: "bob")
            let after = try keychain.only(.genericPassword(service: "example.org", account: "bob"))
            #expect(after.reference == before.reference)
            #expect(after.creationDate == before.creationDate)
            #expect(try logins.string(for: "bob") == "two")
        }

        @Test("Scopes of two services do not see each other")
        func scopes() throws {
            keychain.passwords(service: "a")["x"] = "1"
            #expect(keychain.passwords(service: "b")["x"] == nil)
        }

        @Test("The closure gets the errors that a subscript cannot throw")
        func failures() throws {
            let seen = Lock<[KeychainError.Code]>([])
            let logins = keychain.passwords(service: "example.org") { error in
                let code = (error as? KeychainError)?.code ?? .failed
                seen.withLock { $0.append(code) }
            }
            let oversized = String(repeating: "x", count: 33 << 20)
            logins["alice"] = oversized
            #expect(seen.withLock { $0 } == [.dataTooLarge])
            #expect(logins["alice"] == nil)
        }
    }
}
