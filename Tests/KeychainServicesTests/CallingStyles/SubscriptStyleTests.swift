import Foundation
import KeychainServices
import Testing

/// The passwords of a service as a dictionary: search first, then add or update; `nil` removes.
private struct Passwords {
    let service: String

    private func query(_ account: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: account,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock,
            kSecAttrSynchronizable as String: kCFBooleanTrue!,
        ]
    }

    subscript(account: String) -> String? {
        get {
            var query = query(account)
            query[kSecReturnData as String] = kCFBooleanTrue
            query[kSecReturnAttributes as String] = kCFBooleanTrue
            var result: CFTypeRef?
            guard unsafe SecItemCopyMatching(query as CFDictionary, &result) == noErr,
                let members = result as? [String: Any], let data = members[kSecValueData as String] as? Data
            else { return nil }
            return String(data: data, encoding: .utf8)
        }
        nonmutating set {
            var query = query(account)
            guard let newValue else {
                SecItemDelete(query as CFDictionary)
                return
            }
            let data = Data(newValue.utf8)
            if SecItemCopyMatching(query as CFDictionary, nil) == noErr {
                SecItemUpdate(query as CFDictionary, NSDictionary(dictionary: [kSecValueData: data]))
            } else {
                query[kSecValueData as String] = data
                SecItemAdd(query as CFDictionary, nil)
            }
        }
    }
}

/// The first calling style: a wrapper with a subscript, over synchronizable items.
@Suite struct SubscriptStyleTests {
    @Test func `A password is set, read, replaced and removed by subscript`() throws {
        try TestKeychain.use {
            let passwords = Passwords(service: "shop")
            #expect(passwords["anna"] == nil)
            passwords["anna"] = "12345"
            #expect(passwords["anna"] == "12345")
            passwords["anna"] = "größer 🔐"
            #expect(passwords["anna"] == "größer 🔐")
            passwords["anna"] = nil
            #expect(passwords["anna"] == nil)
        }
    }

    @Test func `Services and accounts are separate, and another wrapper sees the same passwords`() throws {
        try TestKeychain.use {
            Passwords(service: "shop")["anna"] = "1"
            Passwords(service: "shop")["bert"] = "2"
            Passwords(service: "bank")["anna"] = "3"
            #expect(Passwords(service: "shop")["anna"] == "1")
            #expect(Passwords(service: "shop")["bert"] == "2")
            #expect(Passwords(service: "bank")["anna"] == "3")
            Passwords(service: "shop")["anna"] = nil
            #expect(Passwords(service: "bank")["anna"] == "3")
        }
    }

    @Test func `Removing a missing password and storing an empty one succeed`() throws {
        try TestKeychain.use {
            let passwords = Passwords(service: "shop")
            passwords["missing"] = nil
            #expect(passwords["missing"] == nil)
            passwords["anna"] = ""
            #expect(passwords["anna"] == "")
        }
    }

    @Test func `Items of the wrapper are synchronizable, and a query for other items misses them`() throws {
        try TestKeychain.use {
            Passwords(service: "shop")["anna"] = "1"
            let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "anna"]
            #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecItemNotFound)
            let any = query.merging([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) { $1 }
            #expect(SecItemCopyMatching(any as CFDictionary, nil) == errSecSuccess)
        }
    }
}
