import Foundation
import Keyfob
import Testing

extension EveryToken {
    /// The fourth way: any Codable value under a class and a key.
    @Suite("As Codable values")
    struct CodableStyleTests {
        struct Session: Codable, Equatable {
            var user: String
            var expires: Date
            var scopes: [String]
        }

        let test: TestKeychain
        var keychain: Keychain { test.keychain }

        init() throws { test = try TestKeychain() }

        @Test("Save, retrieve, update and delete", arguments: [ItemClass.genericPassword, .internetPassword])
        func values(itemClass: ItemClass) throws {
            var session = Session(user: "alice", expires: Date(timeIntervalSince1970: 1_800_000_000), scopes: ["read"])
            try keychain.save(session, for: "session", as: itemClass)
            #expect(try keychain.retrieve(Session.self, for: "session", as: itemClass) == session)
            session.scopes.append("write")
            try keychain.update(session, for: "session", as: itemClass)
            #expect(try keychain.retrieve(Session.self, for: "session", as: itemClass).scopes == ["read", "write"])
            try keychain.deleteValue(for: "session", as: itemClass)
            #expect(throws: KeychainError.self) { try keychain.retrieve(Session.self, for: "session", as: itemClass) }
        }

        @Test("A taken key, a free key and a class without values have different errors")
        func failures() throws {
            try keychain.save(1, for: "number")
            #expect(code { try keychain.save(2, for: "number") } == .duplicateItem)
            #expect(try keychain.retrieve(Int.self, for: "number") == 1)
            #expect(code { try keychain.update(2, for: "other") } == .itemNotFound)
            #expect(code { try keychain.deleteValue(for: "other") } == .itemNotFound)
            #expect(code { try keychain.save(1, for: "number", as: .certificate) } == .invalidArgument)
            #expect(throws: DecodingError.self) { try keychain.retrieve(String.self, for: "number") }
        }

        @Test("Values of two services are two values")
        func services() throws {
            try keychain.save("a", for: "key", attributes: [.service: "one"])
            try keychain.save("b", for: "key", attributes: [.service: "two"])
            #expect(try keychain.retrieve(String.self, for: "key", attributes: [.service: "one"]) == "a")
            #expect(try keychain.retrieve(String.self, for: "key", attributes: [.service: "two"]) == "b")
        }
    }
}
