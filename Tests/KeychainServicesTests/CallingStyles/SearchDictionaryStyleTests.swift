import Foundation
import KeychainServices
import Testing

/// The third calling style: one mutable search dictionary for a site's password, and a result code for every step.
@Suite struct SearchDictionaryStyleTests {
    private func search(_ user: String) -> NSMutableDictionary {
        let item = NSMutableDictionary()
        item[kSecClass] = kSecClassInternetPassword
        item[kSecAttrAccessible] = kSecAttrAccessibleWhenUnlocked
        item[kSecAttrServer] = "http://www.example.com"
        item[kSecAttrAccount] = user
        return item
    }

    @Test func `A password is saved once, updated, fetched and deleted, with a code at every step`() throws {
        try TestKeychain.use {
            #expect(SecItemCopyMatching(search("tim"), nil) == errSecItemNotFound)
            let item = search("tim")
            item[kSecValueData] = Data("secret".utf8)
            #expect(SecItemAdd(item, nil) == noErr)
            #expect(SecItemCopyMatching(search("tim"), nil) == noErr)
            #expect(SecItemAdd(item, nil) == errSecDuplicateItem)

            let changes = NSMutableDictionary()
            changes.setValue(Data("changed".utf8), forKey: kSecValueData as String)
            #expect(SecItemUpdate(search("tim"), changes) == noErr)

            let query = search("tim")
            query[kSecReturnData] = kCFBooleanTrue
            query[kSecReturnAttributes] = kCFBooleanTrue
            var result: CFTypeRef?
            #expect(unsafe SecItemCopyMatching(query, &result) == noErr)
            let found = try #require(result as? NSDictionary)
            #expect(found[kSecValueData] as? Data == Data("changed".utf8))
            #expect(found[kSecAttrAccount] as? String == "tim")
            #expect(found[kSecAttrServer] as? String == "http://www.example.com")
            #expect(found[kSecAttrAccessible] as? String == kSecAttrAccessibleWhenUnlocked as String)

            #expect(SecItemDelete(search("tim")) == noErr)
            #expect(SecItemDelete(search("tim")) == errSecItemNotFound)
        }
    }

    @Test func `Data alone is returned as data, and with attributes as a dictionary`() throws {
        try TestKeychain.use {
            let item = search("tim")
            item[kSecValueData] = Data("secret".utf8)
            #expect(SecItemAdd(item, nil) == noErr)
            let query = search("tim")
            query[kSecReturnData] = true
            var result: CFTypeRef?
            #expect(unsafe SecItemCopyMatching(query, &result) == noErr)
            #expect(CFGetTypeID(result) == CFDataGetTypeID())
            query[kSecReturnAttributes] = true
            #expect(unsafe SecItemCopyMatching(query, &result) == noErr)
            #expect(CFGetTypeID(result) == CFDictionaryGetTypeID())
            let attributes = try #require(result as? [CFString: Any])
            #expect(attributes[kSecAttrCreationDate] is Date)
        }
    }

    /// A dictionary with one invalid change.
    struct Spoiled: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: OSStatus
        let spoil: @Sendable (NSMutableDictionary) -> Void

        init(_ name: String, _ status: OSStatus, _ spoil: @escaping @Sendable (NSMutableDictionary) -> Void) {
            (testDescription, self.status, self.spoil) = (name, status, spoil)
        }
    }

    @Test(arguments: [
        Spoiled("the password as text", errSecParam) { $0[kSecValueData] = "secret" },
        Spoiled("a null password", errSecParam) { $0[kSecValueData] = NSNull() },
        Spoiled("no class", errSecParam) { $0.removeObject(forKey: kSecClass) },
        Spoiled("an unknown class", errSecNoSuchClass) { $0[kSecClass] = "what" },
        Spoiled("an attribute of another class", errSecNoSuchAttr) { $0[kSecAttrService] = "s" },
        Spoiled("an unknown accessibility", errSecParam) { $0[kSecAttrAccessible] = "sometimes" },
        Spoiled("an unknown key", errSecParam) { $0["what is this"] = 1 },
        Spoiled("a return key that is not a boolean", errSecParam) { $0[kSecReturnData] = 1 },
        Spoiled("a group that the process does not have", errSecMissingEntitlement) { $0[kSecAttrAccessGroup] = "other" },
    ])
    func `An invalid dictionary gets its code and a description of it`(row: Spoiled) throws {
        try TestKeychain.use {
            let item = search("tim")
            item[kSecValueData] = Data("secret".utf8)
            row.spoil(item)
            #expect(SecItemAdd(item, nil) == row.status)
            #expect((SecCopyErrorMessageString(row.status, nil) as String?)?.isEmpty == false)
            #expect(SecItemCopyMatching(search("tim"), nil) == errSecItemNotFound)
        }
    }
}
