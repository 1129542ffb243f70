import Foundation
import KeychainServices
import Testing

/// An item as an object: found with wildcards, changed, and written back through its persistent reference.
private final class PasswordItem {
    var service: String
    var account: String
    var label: String?
    /// New bytes to write; `nil` leaves the stored ones.
    var password: Data?
    private(set) var reference: Data?

    init(service: String, account: String, password: Data) {
        (self.service, self.account, self.password) = (service, account, password)
    }

    private init?(_ members: [String: Any]) {
        guard let service = members[kSecAttrService as String] as? String,
            let account = members[kSecAttrAccount as String] as? String,
            let reference = members[kSecValuePersistentRef as String] as? Data
        else { return nil }
        (self.service, self.account, self.reference) = (service, account, reference)
        label = members[kSecAttrLabel as String] as? String
    }

    private var attributes: [CFString: Any] {
        var attributes: [CFString: Any] = [kSecAttrService: service, kSecAttrAccount: account]
        attributes[kSecAttrLabel] = label
        attributes[kSecValueData] = password
        return attributes
    }

    /// Returns the items of a service, an account, both or neither.
    static func find(service: String? = nil, account: String? = nil) throws -> [PasswordItem] {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            kSecReturnPersistentRef: true,
        ]
        query[kSecAttrService] = service
        query[kSecAttrAccount] = account
        var result: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return [] }
        try check(status)
        return (result as? [[String: Any]] ?? []).compactMap(PasswordItem.init)
    }

    /// Adds the item, or overwrites the stored one.
    func write() throws {
        if let reference {
            let query: [CFString: Any] = [kSecValuePersistentRef: reference]
            try Self.check(SecItemUpdate(query as CFDictionary, attributes as CFDictionary))
        } else {
            var item = attributes
            item[kSecClass] = kSecClassGenericPassword
            item[kSecReturnPersistentRef] = true
            var result: CFTypeRef?
            try Self.check(unsafe SecItemAdd(item as CFDictionary, &result))
            reference = result as? Data
        }
        password = nil
    }

    /// Returns the stored bytes, read on demand.
    func secret() throws -> Data? {
        let query: [CFString: Any] = [kSecValuePersistentRef: reference as Any, kSecReturnData: true]
        var result: CFTypeRef?
        try Self.check(unsafe SecItemCopyMatching(query as CFDictionary, &result))
        return result as? Data
    }

    func remove() throws {
        try Self.check(SecItemDelete([kSecValuePersistentRef: reference as Any] as CFDictionary))
    }

    private static func check(_ status: OSStatus) throws {
        guard status != errSecSuccess else { return }
        throw NSError(
            domain: NSOSStatusErrorDomain, code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: SecCopyErrorMessageString(status, nil) as Any])
    }
}

/// The fourth calling style: item objects, persistent references, wildcard queries.
@Suite struct ItemObjectStyleTests {
    private func code(_ body: () throws -> Void) -> Int {
        do { try body() } catch { return (error as NSError).code }
        return 0
    }

    @Test func `A query with wildcards finds the items of a service, of an account, or all`() throws {
        try TestKeychain.use {
            #expect(try PasswordItem.find().isEmpty)
            for (service, account) in [("foo", "a"), ("foo", "b"), ("bar", "a")] {
                try PasswordItem(service: service, account: account, password: Data(account.utf8)).write()
            }
            #expect(try PasswordItem.find(service: "foo").map(\.account).sorted() == ["a", "b"])
            #expect(try PasswordItem.find(account: "a").map(\.service).sorted() == ["bar", "foo"])
            #expect(try PasswordItem.find().count == 3)
            #expect(try PasswordItem.find(service: "none").isEmpty)
        }
    }

    @Test func `A changed item is written back through its reference, even if its primary key changes`() throws {
        try TestKeychain.use {
            try PasswordItem(service: "foo", account: "a", password: Data("old".utf8)).write()
            let item = try #require(try PasswordItem.find(service: "foo").first)
            let reference = item.reference
            item.account = "c"
            item.service = "moved"
            item.label = "Moved"
            try item.write()
            #expect(try item.secret() == Data("old".utf8))
            item.password = Data("different".utf8)
            try item.write()

            #expect(try PasswordItem.find(service: "foo").isEmpty)
            let again = try #require(try PasswordItem.find(service: "moved", account: "c").first)
            #expect(again.reference == reference)
            #expect(again.label == "Moved")
            #expect(try again.secret() == Data("different".utf8))
        }
    }

    @Test func `A change to another item's key is refused and changes nothing`() throws {
        try TestKeychain.use {
            try PasswordItem(service: "foo", account: "a", password: Data("1".utf8)).write()
            try PasswordItem(service: "foo", account: "b", password: Data("2".utf8)).write()
            let item = try #require(try PasswordItem.find(account: "b").first)
            item.account = "a"
            item.password = Data("3".utf8)
            #expect(code { try item.write() } == Int(errSecDuplicateItem))
            #expect(try item.secret() == Data("2".utf8))
            #expect(try PasswordItem.find(service: "foo").map(\.account).sorted() == ["a", "b"])
        }
    }

    @Test func `The reference of a removed item finds nothing, also after an equal item was added`() throws {
        try TestKeychain.use {
            let item = PasswordItem(service: "foo", account: "a", password: Data("1".utf8))
            try item.write()
            try item.remove()
            #expect(code { _ = try item.secret() } == Int(errSecItemNotFound))
            let other = PasswordItem(service: "foo", account: "a", password: Data("2".utf8))
            try other.write()
            #expect(other.reference != item.reference)
            #expect(code { try item.remove() } == Int(errSecItemNotFound))
            #expect(try other.secret() == Data("2".utf8))
        }
    }
}
