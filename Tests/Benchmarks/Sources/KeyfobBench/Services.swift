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
            try SecKeychainUse(keychain) {
                var cases = ServicesCases(keychain: keychain)
                try cases.run(samples: samples)
            }
        }
    }

    /// Both sides of each call do the same: the same attributes are stored, looked up and given back, and what is asked
    /// for is made before the clock runs.
    private struct ServicesCases {
        let keychain: Keychain
        private let secret = Data("secret".utf8)
        private let changed = Data("changed".utf8)
        private var times: [String: [Double]] = [:]

        init(keychain: Keychain) { self.keychain = keychain }

        mutating func run(samples: Int) throws {
            // The first calls of a process load code and fill caches.
            for sample in 0..<20 { try measure("warm-\(sample)", isReversed: false) }
            times = [:]
            for sample in 0..<samples { try measure("sample-\(sample)", isReversed: sample % 2 == 1) }
            for name in times.keys.sorted() { KeyfobBench.print(name, KeyfobBench.median(times[name] ?? []), "ms") }
        }

        /// One life of a password on both sides; which of them goes first changes, for the second finds caches warm.
        private mutating func measure(_ account: String, isReversed: Bool) throws {
            let services = [
                "add": add(account), "copy-data": copyData(account), "copy-attributes": copyAttributes(account),
                "update": update(account), "delete": delete(account),
            ]
            let keyfob = ownCalls(account)
            for name in ["add", "copy-data", "copy-attributes", "update", "delete"] {
                let sides = [("secitem-\(name)", services[name]), ("keyfob-\(name)", keyfob[name])]
                // What changes nothing can be measured often.
                for _ in 0..<(name.hasPrefix("copy") ? 10 : 1) {
                    for (side, call) in isReversed ? sides.reversed() : sides {
                        guard let call else { continue }
                        times[side, default: []].append(try KeyfobBench.milliseconds(call))
                    }
                }
            }
        }

        // MARK: Keychain Services

        private func query(_ account: String, _ more: [CFString: Any] = [:]) -> CFDictionary {
            let item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "services", kSecAttrAccount: account,
            ]
            return item.merging(more) { $1 } as CFDictionary
        }

        private func add(_ account: String) -> () throws -> Void {
            let item = query(account, [kSecValueData: secret])
            return { try Self.check(SecItemAdd(item, nil)) }
        }

        private func copyData(_ account: String) -> () throws -> Void {
            let query = query(account, [kSecReturnData: true])
            let secret = secret
            return {
                var result: CFTypeRef?
                try Self.check(SecItemCopyMatching(query, &result))
                guard result as? Data == secret else { throw KeychainError(.failed, "the benchmark read another secret.") }
            }
        }

        private func copyAttributes(_ account: String) -> () throws -> Void {
            let query = query(account, [kSecReturnAttributes: true])
            return {
                var result: CFTypeRef?
                try Self.check(SecItemCopyMatching(query, &result))
                guard let result = result as? NSDictionary, result.count > 3 else {
                    throw KeychainError(.failed, "the benchmark got no attributes.")
                }
            }
        }

        private func update(_ account: String) -> () throws -> Void {
            let query = query(account)
            let changes = [kSecValueData: changed] as CFDictionary
            return { try Self.check(SecItemUpdate(query, changes)) }
        }

        private func delete(_ account: String) -> () throws -> Void {
            let query = query(account)
            return { try Self.check(SecItemDelete(query)) }
        }

        private static func check(_ status: OSStatus) throws {
            guard status == errSecSuccess else { throw KeychainError(.failed, "a call of the benchmark gave \(status).") }
        }

        // MARK: Keyfob

        private func ownCalls(_ account: String) -> [String: () throws -> Void] {
            let (keychain, secret, changed) = (keychain, secret, changed)
            var item = GenericPassword(service: "keyfob", account: account)
            // The value that SecItemAdd gives an item without access attributes.
            item.attributes[.accessGroup] = ""
            item.attributes[.accessible] = "ak"
            let password = item
            let query = Query.genericPassword(service: "keyfob", account: account)
            return [
                "add": { try keychain.add(password, secret: SecretBytes(secret)) },
                "copy-data": {
                    let found = try keychain.find(query.limit(1))
                    guard try found.first.flatMap({ try keychain.secret(of: $0)?.copyData() }) == secret else {
                        throw KeychainError(.failed, "the benchmark read another secret.")
                    }
                },
                "copy-attributes": {
                    // Every attribute's value by its name, as a caller of SecItemCopyMatching gets them.
                    let found = try keychain.find(query.limit(1)).first.map { item in
                        Dictionary(item.attributes.map { ($0.name, $0.value) }) { first, _ in first }
                    }
                    guard let found, found.count > 3 else {
                        throw KeychainError(.failed, "the benchmark got no attributes.")
                    }
                },
                "update": { try keychain.update(query, secret: SecretBytes(changed)) },
                "delete": { try keychain.delete(query) },
            ]
        }
    }
}
