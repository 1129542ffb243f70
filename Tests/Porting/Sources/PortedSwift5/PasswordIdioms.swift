import Security

// Common ways to write keychain calls, each in a function that returns whether it worked. The file knows only Security,
// as on a Mac.

/// One way to write it, under a name, with items of a service of that name.
struct Idiom {
    let name: String
    let works: (_ service: String) -> Bool

    init(_ name: String, _ works: @escaping (String) -> Bool) {
        self.name = name
        self.works = works
    }
}

private let secret = "s3cret".data(using: .utf8)!

/// Adds an item in the simplest way, for idioms about something else.
@discardableResult
func add(_ service: String, _ account: String = "account") -> Bool {
    let query = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account, kSecValueData: secret,
    ] as [CFString: Any]
    return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
}

/// Searches with more keys than class and service.
func find(_ service: String, _ more: [CFString: Any]) -> AnyObject? {
    var query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
    query.merge(more) { $1 }
    var result: AnyObject?
    guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return nil }
    return result
}

/// Queries of every type that a dictionary can have.
func dictionaryIdioms() -> [Idiom] {
    [
        Idiom("a literal with keys as String, coerced in place") { service in
            SecItemAdd(
                [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                    kSecValueData as String: secret,
                ] as CFDictionary, nil) == errSecSuccess
        },
        Idiom("a literal with keys as CFString, coerced in place") { service in
            SecItemAdd(
                [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecValueData: secret] as CFDictionary,
                nil) == noErr
        },
        Idiom("[String: Any]") { service in
            var query: [String: Any] = [
                String(kSecClass): kSecClassGenericPassword, "\(kSecAttrService)": service,
            ]
            query[kSecValueData as String] = secret
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("[CFString: Any]") { service in
            var query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
            query[kSecValueData] = secret
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("[String: AnyObject]") { service in
            let query: [String: AnyObject] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service as AnyObject,
                kSecValueData as String: secret as AnyObject,
            ]
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("[String: AnyHashable]") { service in
            let query: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecValueData as String: secret,
            ]
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("[AnyHashable: Any]") { service in
            let query: [AnyHashable: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecValueData: secret,
            ]
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("[CFString: CFTypeRef]") { service in
            let query: [CFString: CFTypeRef] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service as CFString,
                kSecValueData: secret as CFData,
            ]
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("NSDictionary") { service in
            let query: NSDictionary = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecValueData: secret,
            ]
            return SecItemAdd(query, nil) == errSecSuccess
        },
        Idiom("NSMutableDictionary by subscript") { service in
            let query = NSMutableDictionary()
            query[kSecClass] = kSecClassGenericPassword
            query[kSecAttrService as String] = service
            query[kSecValueData] = secret
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
        Idiom("NSMutableDictionary by setValue and setObject") { service in
            let query = NSMutableDictionary()
            query.setValue(kSecClassGenericPassword, forKey: kSecClass as String)
            query.setObject(service, forKey: kSecAttrService)
            query.setValue(secret, forKey: kSecValueData as String)
            return SecItemAdd(query, nil) == errSecSuccess
        },
        Idiom("NSDictionary(dictionary:) as it stands in the call") { service in
            add(service)
                && SecItemUpdate(
                    [kSecClass: kSecClassGenericPassword, kSecAttrService: service] as CFDictionary,
                    NSDictionary(dictionary: [kSecValueData: Data([1])])) == errSecSuccess
                && find(service, [kSecReturnData: true]) as? Data == Data([1])
        },
        Idiom("NSString(format:) as a key") { service in
            let query = NSMutableDictionary(
                objects: [NSString(format: kSecClassGenericPassword), service as NSString, secret as NSData],
                forKeys: [
                    NSString(format: kSecClass), NSString(format: kSecAttrService), NSString(format: kSecValueData),
                ])
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
        },
    ]
}

/// Booleans and other values in the forms that programs pass.
func valueIdioms() -> [Idiom] {
    [
        Idiom("kCFBooleanTrue") { add($0) && find($0, [kSecReturnData: kCFBooleanTrue as Any]) as? Data == secret },
        Idiom("kCFBooleanTrue!") { add($0) && find($0, [kSecReturnData: kCFBooleanTrue!]) as? Data == secret },
        Idiom("kCFBooleanTrue ?? true") {
            add($0) && find($0, [kSecReturnData: kCFBooleanTrue ?? true]) as? Data == secret
        },
        Idiom("true and false") {
            add($0) && find($0, [kSecReturnData: true, kSecReturnAttributes: false]) as? Data == secret
        },
        Idiom("true as CFBoolean") { add($0) && find($0, [kSecReturnData: true as CFBoolean]) as? Data == secret },
        Idiom("a choice between kCFBooleanTrue and kCFBooleanFalse") { service in
            let wanted = service.isEmpty == false
            var query = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service] as [String: Any]
            query[kSecReturnData as String] = wanted ? kCFBooleanTrue : kCFBooleanFalse
            var result: CFTypeRef?
            return add(service) && SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess
                && result as? Data == secret
        },
        Idiom("an Optional as CFString?") { service in
            let name: String? = service
            let text = name as CFString?
            return add(service) && find(text! as String, [:]) == nil
                && SecItemCopyMatching(
                    [kSecClass: kSecClassGenericPassword, kSecAttrService: text as Any] as CFDictionary, nil)
                    == errSecSuccess
        },
        Idiom("data as CFData and as account") { service in
            let account = Data([0, 0xFF, 7])
            return SecItemAdd(
                [
                    kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account as CFData,
                    kSecValueData: secret as CFData,
                ] as CFDictionary, nil) == errSecSuccess
                && (find(service, [kSecReturnAttributes: true]) as? [String: Any])?[kSecAttrAccount as String] as? Data
                    == account
        },
        Idiom("a null object is a bad parameter") { service in
            let nothing: String? = nil
            return SecItemAdd(
                [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: nothing as Any]
                    as CFDictionary, nil) == errSecParam
        },
        Idiom("numbers of any type") { service in
            let port: UInt16 = 8443
            let query: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: service,
                kSecAttrPort as String: port, kSecAttrProtocol as String: kSecAttrProtocolHTTPS,
            ]
            var result: CFTypeRef?
            return SecItemAdd(query as CFDictionary, nil) == errSecSuccess
                && SecItemCopyMatching(
                    query.merging([kSecReturnAttributes as String: true]) { $1 } as CFDictionary, &result)
                    == errSecSuccess
                && (result as? [String: Any])?[kSecAttrPort as String] as? Int == 8443
                && (result as? [String: Any])?[kSecAttrProtocol as String] as? String
                    == kSecAttrProtocolHTTPS as String
        },
    ]
}
