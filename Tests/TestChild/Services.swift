import Foundation
import KeychainServices
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

extension TestChild {
    /// Adds the identities of a directory with Apple's functions and removes them again, without end.
    static func services(_ keychain: Keychain, _ path: String, _ count: Int) throws {
        SecKeychainUse(keychain)
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        let identities = try (0..<count).map { index in
            let der = try Data(contentsOf: folder.appendingPathComponent("\(index).der"))
            let key = try PrivateKey.load(Data(contentsOf: folder.appendingPathComponent("\(index).pem")))
            return try identity(der, key)
        }
        for index in 0... {
            let index = index % count
            let identity = [kSecValueRef: identities[index]] as CFDictionary
            if SecItemCopyMatching(identity, nil) == errSecItemNotFound {
                say(">+\(index)")
                guard SecItemAdd(identity, nil) == errSecSuccess else { exit(73) }
                say("<+\(index)")
            } else {
                say(">-\(index)")
                guard SecItemDelete(identity) == errSecSuccess else { exit(74) }
                say("<-\(index)")
            }
        }
    }

    /// Sets the bytes of all private keys to one file of a directory after the other, without end.
    static func replacements(_ keychain: Keychain, _ path: String, _ count: Int) throws {
        SecKeychainUse(keychain)
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        // The group is named, because the items are not this program's own.
        let all =
            [kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecAttrAccessGroup: ""]
            as CFDictionary
        for round in 1... {
            let index = round % count
            let data = try Data(contentsOf: folder.appendingPathComponent("\(index).key"))
            say(">=\(index)")
            guard SecItemUpdate(all, [kSecValueData: data] as CFDictionary) == errSecSuccess else { exit(75) }
            say("<=\(index)")
        }
    }

    /// Makes a certificate an item of a group of the keychain that the environment names.
    static func share(_ path: String, group: String, label: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        guard let certificate = SecCertificateCreateWithData(nil, data as CFData) else {
            throw KeychainError(.failed, "the file holds no certificate.")
        }
        SecAccessGroupsUse([group])
        let status = SecItemAdd([kSecValueRef: certificate, kSecAttrLabel: label] as CFDictionary, nil)
        guard status == errSecSuccess else { throw KeychainError(.failed, "SecItemAdd: \(status).") }
        say("shared")
    }

    /// Gives all versions of an identity, in the keychain that the environment names, to an access group, under other
    /// names.
    static func give(_ name: String, to group: String, as other: String) throws {
        let keychain = try Keychain.open()
        for version in try keychain.identities.versions(of: name) {
            let label = version.label ?? ""
            let named = Criteria(.certificate, [.label: .string(label)])
            let new = other + label.dropFirst(name.count)
            try keychain.update(named, [.label: .string(new), .accessGroup: .string(group)])
        }
        say("given")
    }

    /// Gives an identity, in the keychain that the environment names, an issuer of a module that the command lacks.
    static func setForeignIssuer(of name: String) throws {
        let issuer = ExternalIssuer(kind: "est", name: "ca.example", settings: Data())
        let policy = try JSONEncoder().encode(RenewalPolicy(issuer: .external(issuer)))
        try Keychain.open().update(Criteria(.certificate, [.label: .string(name)]), [.renewalPolicy: .data(policy)])
        say("set")
    }

    /// Acts as a separate program on the keychain that the environment names: `store NAME DER KEY`, `reset HOW`, or
    /// `count CLASS NAME`.
    static func program(_ words: [String]) throws {
        switch words[0] {
        case "store":
            let der = try Data(contentsOf: URL(fileURLWithPath: words[2]))
            let key = try PrivateKey.load(Data(contentsOf: URL(fileURLWithPath: words[3])))
            let all: [[CFString: Any]] = [
                [kSecClass: kSecClassGenericPassword, kSecAttrService: words[1], kSecAttrAccount: "a"],
                [kSecClass: kSecClassInternetPassword, kSecAttrServer: words[1], kSecAttrAccount: "a"],
                [kSecValueRef: try identity(der, key), kSecAttrLabel: words[1]],
            ]
            for item in all {
                let status = SecItemAdd(item as CFDictionary, nil)
                guard status == errSecSuccess else { throw KeychainError(.failed, "SecItemAdd: \(status).") }
            }
        case "reset":
            let classes = [
                kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey,
                kSecClassIdentity,
            ]
            for itemClass in words[1] == "identity" ? [kSecClassIdentity] : classes {
                var query: [CFString: Any] = [kSecClass: itemClass]
                if words[1] == "all" { query[kSecMatchLimit] = kSecMatchLimitAll }
                let status = SecItemDelete(query as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else {
                    throw KeychainError(.failed, "SecItemDelete: \(status).")
                }
            }
        default:
            var found: CFTypeRef?
            let query: [CFString: Any] = [
                kSecClass: words[1], kSecAttrLabel: words[2], kSecMatchLimit: kSecMatchLimitAll,
                kSecReturnAttributes: true,
            ]
            _ = unsafe SecItemCopyMatching(query as CFDictionary, &found)
            say("\((found as? [Any])?.count ?? 0)")
        }
    }

    private static func identity(_ der: Data, _ key: PrivateKey) throws -> SecIdentity {
        let bytes = try key.rawRepresentation().copyData()
        let attributes = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPrivate] as CFDictionary
        guard let certificate = SecCertificateCreateWithData(nil, der as CFData),
            let secKey = SecKeyCreateWithData(bytes as CFData, attributes, nil),
            let identity = SecIdentityCreate(nil, certificate, secKey)
        else { throw KeychainError(.failed, "the files hold no identity.") }
        return identity
    }
}
