import Foundation
import KeychainServices
import Testing

/// Four throwing functions with an error for each failure.
private enum Vault {
    enum Failure: Error, Equatable {
        case absent
        case taken
        case notData
        case other(OSStatus)

        static func check(_ status: OSStatus) throws {
            switch status {
            case errSecSuccess: return
            case errSecItemNotFound: throw Failure.absent
            case errSecDuplicateItem: throw Failure.taken
            default: throw Failure.other(status)
            }
        }
    }

    private static func query(_ service: String, _ account: String) -> [String: AnyObject] {
        [
            kSecAttrService as String: service as AnyObject, kSecAttrAccount as String: account as AnyObject,
            kSecClass as String: kSecClassGenericPassword,
        ]
    }

    static func save(_ password: Data, service: String, account: String) throws {
        var query = query(service, account)
        query[kSecValueData as String] = password as AnyObject
        try Failure.check(SecItemAdd(query as CFDictionary, nil))
    }

    static func update(_ password: Data, service: String, account: String) throws {
        let changes: [String: AnyObject] = [kSecValueData as String: password as AnyObject]
        try Failure.check(SecItemUpdate(query(service, account) as CFDictionary, changes as CFDictionary))
    }

    static func read(service: String, account: String) throws -> Data {
        var query = query(service, account)
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        query[kSecReturnData as String] = kCFBooleanTrue
        var copy: AnyObject?
        try Failure.check(unsafe SecItemCopyMatching(query as CFDictionary, &copy))
        guard let password = copy as? Data else { throw Failure.notData }
        return password
    }

    static func delete(service: String, account: String) throws {
        try Failure.check(SecItemDelete(query(service, account) as CFDictionary))
    }
}

/// The second calling style: save, update, read and delete, each with distinct errors.
@Suite struct ThrowingStyleTests {
    @Test func `The four verbs work one after the other`() throws {
        try TestKeychain.use {
            let (first, second) = (Data("first".utf8), Data([0, 1, 0xFF]))
            try Vault.save(first, service: "com.example", account: "a@example.com")
            #expect(try Vault.read(service: "com.example", account: "a@example.com") == first)
            try Vault.update(second, service: "com.example", account: "a@example.com")
            #expect(try Vault.read(service: "com.example", account: "a@example.com") == second)
            try Vault.delete(service: "com.example", account: "a@example.com")
            #expect(throws: Vault.Failure.absent) {
                try Vault.read(service: "com.example", account: "a@example.com")
            }
        }
    }

    @Test func `Each kind of failure has its own error`() throws {
        try TestKeychain.use {
            try Vault.save(Data("x".utf8), service: "s", account: "a")
            #expect(throws: Vault.Failure.taken) { try Vault.save(Data("y".utf8), service: "s", account: "a") }
            #expect(throws: Vault.Failure.absent) { try Vault.update(Data("y".utf8), service: "s", account: "b") }
            #expect(throws: Vault.Failure.absent) { try Vault.read(service: "t", account: "a") }
            #expect(throws: Vault.Failure.absent) { try Vault.delete(service: "s", account: "b") }
            // The failed save changed nothing.
            #expect(try Vault.read(service: "s", account: "a") == Data("x".utf8))
        }
    }

    @Test func `Deleting and updating need no search before`() throws {
        try TestKeychain.use {
            try Vault.save(Data("x".utf8), service: "s", account: "a")
            try Vault.delete(service: "s", account: "a")
            #expect(throws: Vault.Failure.absent) { try Vault.delete(service: "s", account: "a") }
            try Vault.save(Data("y".utf8), service: "s", account: "a")
        }
    }
}
