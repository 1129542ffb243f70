import Security

private let secret = "s3cret".data(using: .utf8)!

/// An enumeration over the constants, which are not literals.
enum ItemKind: RawRepresentable {
    case generic, internet

    init?(rawValue: CFString) {
        switch rawValue {
        case kSecClassGenericPassword: self = .generic
        case kSecClassInternetPassword: self = .internet
        default: return nil
        }
    }

    var rawValue: CFString {
        switch self {
        case .generic: return kSecClassGenericPassword
        case .internet: return kSecClassInternetPassword
        }
    }
}

/// Common ways to take results.
func resultIdioms() -> [Idiom] {
    [
        Idiom("var result: CFTypeRef?") { service in
            var result: CFTypeRef?
            let query = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecReturnData as String: true,
            ] as [String: Any]
            return add(service) && SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess
                && (result as! CFData) as Data == secret
        },
        Idiom("withUnsafeMutablePointer(to:)") { service in
            guard add(service) else { return false }
            var result: AnyObject?
            let query = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecReturnData as String: true,
            ] as [String: Any]
            let status = withUnsafeMutablePointer(to: &result) { pointer in
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer(pointer))
            }
            return status == errSecSuccess && result as? Data == secret
        },
        Idiom("[String: Any]") {
            add($0)
                && (find($0, [kSecReturnAttributes: true, kSecReturnData: true]) as? [String: Any])?[
                    kSecValueData as String] as? Data == secret
        },
        Idiom("[CFString: Any]") {
            add($0) && (find($0, [kSecReturnAttributes: true]) as? [CFString: Any])?[kSecAttrService] as? String == $0
        },
        Idiom("[NSObject: AnyObject]") {
            add($0)
                && (find($0, [kSecReturnAttributes: true]) as? [NSObject: AnyObject])?[kSecAttrAccount] as? String
                    == "account"
        },
        Idiom("NSDictionary") {
            add($0) && (find($0, [kSecReturnAttributes: true]) as? NSDictionary)?[kSecAttrService] as? String == $0
        },
        Idiom("[[String: Any]]") { service in
            let all: [CFString: Any] = [kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true]
            return add(service, "a") && add(service, "b")
                && (find(service, all) as? [[String: Any]])?.compactMap { $0[kSecAttrAccount as String] as? String }
                    .sorted() == ["a", "b"]
        },
        Idiom("[NSDictionary]") { service in
            add(service)
                && (find(service, [kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true])
                    as? [NSDictionary])?.count == 1
        },
        Idiom("[Data]") { service in
            add(service, "a") && add(service, "b")
                && find(service, [kSecMatchLimit: kSecMatchLimitAll, kSecReturnData: true]) as? [Data]
                    == [secret, secret]
        },
        Idiom("Date and Bool") { service in
            guard add(service),
                let found = find(
                    service, [kSecReturnAttributes: true, kSecAttrSynchronizable: kSecAttrSynchronizableAny])
                    as? [String: Any]
            else { return false }
            return found[kSecAttrCreationDate as String] is Date
                && found[kSecAttrSynchronizable as String] as? Bool == false
        },
        Idiom("a persistent reference") { service in
            guard add(service), let reference = find(service, [kSecReturnPersistentRef: true]) as? Data else {
                return false
            }
            var result: AnyObject?
            let query = [kSecValuePersistentRef: reference, kSecReturnData: true] as CFDictionary
            return SecItemCopyMatching(query, &result) == errSecSuccess && result as? Data == secret
                && SecItemDelete([kSecValuePersistentRef: reference] as CFDictionary) == errSecSuccess
                && find(service, [:]) == nil
        },
        Idiom("switch, == and a raw value") { _ in
            guard case .generic? = ItemKind(rawValue: "genp" as CFString) else { return false }
            return ItemKind(rawValue: kSecClassKey) == nil && kSecClass as String == "class"
                && ItemKind.internet.rawValue == kSecClassInternetPassword
        },
        Idiom("constants in a Set, found by String") { _ in
            let keys: Set<CFString> = [kSecAttrAccount, kSecAttrService]
            let texts: Set<AnyHashable> = [kSecAttrAccount]
            return keys.contains(kSecAttrService) && texts.contains("acct")
        },
        Idiom("a result listed by its keys") { service in
            guard add(service), let found = find(service, [kSecReturnAttributes: true]) as? [AnyHashable: Any] else {
                return false
            }
            return Set(found.keys).isSuperset(of: [kSecAttrAccount, kSecAttrService])
        },
        Idiom("a message for a code") { _ in
            let text = SecCopyErrorMessageString(errSecParam, nil) as String?
            return text?.isEmpty == false
        },
        Idiom("an NSError of a code") { _ in
            let status = SecItemCopyMatching([kSecClass: "none"] as CFDictionary, nil)
            let error = NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
            return error.code == Int(errSecNoSuchClass)
        },
        Idiom("everything removed at the first launch") { service in
            let item = [kSecClass: kSecClassGenericPassword, kSecAttrService: service] as CFDictionary
            guard SecItemAdd(item, nil) == errSecSuccess else { return false }
            let classes = [
                kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey,
                kSecClassIdentity,
            ]
            for itemClass in classes { SecItemDelete([kSecClass: itemClass] as CFDictionary) }
            return SecItemCopyMatching(item, nil) == errSecItemNotFound
        },
        Idiom("an ignored result") { service in
            SecItemDelete([kSecClass: kSecClassGenericPassword, kSecAttrService: service] as CFDictionary)
            return true
        },
        Idiom("type identifiers") { service in
            guard add(service), let data = find(service, [kSecReturnData: true]) else { return false }
            return CFGetTypeID(data) == CFDataGetTypeID() && CFGetTypeID(kCFBooleanTrue) == CFBooleanGetTypeID()
        },
    ]
}
