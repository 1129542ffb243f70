import Foundation
import KeychainServices
import Keyfob
import KeyfobPrimitives

extension KeyfobBench {
    /// One generic password through Apple's four functions and through Keyfob, by turns, with `count` items there.
    static func services(samples: Int, count: Int) throws {
        try withDirectories { directories in
            let keychain = try Keychains(directories).create("bench", on: .new(.file)).keychain
            try fill(keychain, from: 0, to: count)
            try SecKeychainUse(keychain) { try measureServices(keychain, samples: samples) }
        }
    }

    private static func measureServices(_ keychain: Keychain, samples: Int) throws {
        var times: [String: [Double]] = [:]
        func measure(_ name: String, _ body: () throws -> Void) throws {
            times[name, default: []].append(try milliseconds(body))
        }
        func check(_ status: OSStatus) throws {
            guard status == errSecSuccess else { throw KeychainError(.failed, "a call of the benchmark gave \(status).") }
        }
        for sample in 0..<samples {
            let account = "sample-\(sample)"
            let item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "services", kSecAttrAccount: account,
            ]
            let query = Query.genericPassword(service: "keyfob", account: account)
            var result: CFTypeRef?
            try measure("secitem-add") {
                try check(SecItemAdd(item.merging([kSecValueData: Data("secret".utf8)]) { $1 } as CFDictionary, nil))
            }
            try measure("keyfob-add") {
                try keychain.add(GenericPassword(service: "keyfob", account: account), secret: SecretBytes(utf8: "secret"))
            }
            try measure("secitem-copy-data") {
                try check(SecItemCopyMatching(item.merging([kSecReturnData: true]) { $1 } as CFDictionary, &result))
            }
            try measure("keyfob-copy-data") {
                let found = try keychain.find(query.limit(1))
                _ = try found.first.map { try keychain.secret(of: $0)?.copyData() }
            }
            try measure("secitem-copy-attributes") {
                try check(SecItemCopyMatching(item.merging([kSecReturnAttributes: true]) { $1 } as CFDictionary, &result))
            }
            try measure("keyfob-copy-attributes") { _ = try keychain.find(query.limit(1)).first?.attributes.count }
            try measure("secitem-update") {
                try check(SecItemUpdate(item as CFDictionary, [kSecValueData: Data("changed".utf8)] as CFDictionary))
            }
            try measure("keyfob-update") { try keychain.update(query, secret: SecretBytes(utf8: "changed")) }
            try measure("secitem-delete") { try check(SecItemDelete(item as CFDictionary)) }
            try measure("keyfob-delete") { try keychain.delete(query) }
        }
        for name in times.keys.sorted() { print(name, median(times[name] ?? []), "ms") }
    }
}
