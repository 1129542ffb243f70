import Foundation
import Security

// Common designs of keychain libraries: enumerations over constants, values with attributes, their own errors, and a
// stored property.

/// Kinds of items by their text.
private enum ItemClass: RawRepresentable, CaseIterable, CustomStringConvertible {
    case genericPassword, internetPassword

    init?(rawValue: String) {
        switch rawValue {
        case String(kSecClassGenericPassword): self = .genericPassword
        case String(kSecClassInternetPassword): self = .internetPassword
        default: return nil
        }
    }

    var rawValue: String {
        switch self {
        case .genericPassword: return String(kSecClassGenericPassword)
        case .internetPassword: return kSecClassInternetPassword as String
        }
    }

    var description: String { rawValue }
}

private let accountKey = String(kSecAttrAccount)
private let matchLimitKey: String! = kSecMatchLimit as String

/// An error for each code that is distinguished.
private enum KeychainFailure: Error, CustomNSError {
    case duplicate, missing, denied, unhandled(OSStatus)

    init(_ status: OSStatus) {
        switch status {
        case errSecDuplicateItem: self = .duplicate
        case errSecItemNotFound: self = .missing
        case errSecAuthFailed, errSecInteractionNotAllowed, errSecUserCanceled: self = .denied
        default: self = .unhandled(status)
        }
    }

    static var errorDomain: String { kCFErrorDomainOSStatus as String }
    var errorCode: Int { if case .unhandled(let status) = self { return Int(status) } else { return -1 } }
}

private func check(_ status: @autoclosure () -> OSStatus) throws {
    let result = status()
    guard result == errSecSuccess else { throw KeychainFailure(result) }
}

/// The result of a search.
private struct Attributes {
    let attributes: [String: Any]
    var data: Data? { attributes[kSecValueData as String] as? Data }
    var created: Date? { attributes[String(kSecAttrCreationDate)] as? Date }
    var isSynchronizable: Bool? { attributes[kSecAttrSynchronizable as String] as? Bool }
    var accessibility: CFString? { (attributes[kSecAttrAccessible as String] as! CFString?) }
    var accessControl: SecAccessControl? {
        if let control = attributes[kSecAttrAccessControl as String] { return (control as! SecAccessControl) }
        return nil
    }
}

/// A value of the program that is stored in the keychain.
@propertyWrapper
private struct Stored<Value: Codable> {
    let service: String
    var accessibility: CFString = kSecAttrAccessibleAfterFirstUnlock

    private var query: [String: Any] {
        [kSecClass as String: kSecClassGenericPassword, accountKey: "stored", kSecAttrService as String: service]
    }

    var wrappedValue: Value? {
        get {
            var query = query
            query[kSecReturnData as String] = kCFBooleanTrue
            query[matchLimitKey] = kSecMatchLimitOne
            var result: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &result) == noErr, let data = result as? Data else { return nil }
            return try? JSONDecoder().decode(Value.self, from: data)
        }
        nonmutating set {
            SecItemDelete(query as CFDictionary)
            guard let newValue, let data = try? JSONEncoder().encode(newValue) else { return }
            let added = query.merging(
                [kSecValueData as String: data, kSecAttrAccessible as String: accessibility]) { $1 }
            SecItemAdd(added as CFDictionary, nil)
        }
    }
}

/// Wrappers.
func wrapperIdioms() -> [Idiom] {
    [
        Idiom("a stored property of a Codable type") { service in
            struct Session: Codable, Equatable { var token: String, expires: Date }
            let stored = Stored<Session>(service: service)
            let session = Session(token: "t", expires: Date(timeIntervalSince1970: 1))
            guard stored.wrappedValue == nil else { return false }
            stored.wrappedValue = session
            stored.wrappedValue = Session(token: "later", expires: session.expires)
            guard stored.wrappedValue?.token == "later" else { return false }
            stored.wrappedValue = nil
            return stored.wrappedValue == nil && ItemClass(rawValue: "inet") == .internetPassword
                && ItemClass.allCases.map(\.description) == ["genp", "inet"]
        },
        Idiom("an error for each code, as NSError too") { service in
            let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: service]
            do {
                try check(SecItemDelete(query as CFDictionary))
                return false
            } catch KeychainFailure.missing {} catch { return false }
            do {
                try check(SecItemAdd(query as CFDictionary, nil))
                try check(SecItemAdd(query as CFDictionary, nil))
                return false
            } catch KeychainFailure.duplicate {} catch { return false }
            do {
                try check(SecItemAdd([kSecClass: "none"] as CFDictionary, nil))
                return false
            } catch {
                return (error as NSError).code == Int(errSecNoSuchClass) && (error as NSError).domain == NSOSStatusErrorDomain
            }
        },
        Idiom("attributes through the caller's own memory, and one by one") { service in
            add(service)
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecReturnAttributes as String: true, kSecReturnData as String: true,
            ]
            let place = UnsafeMutablePointer<CFTypeRef?>.allocate(capacity: 1)
            place.initialize(to: nil)
            defer {
                place.deinitialize(count: 1)
                place.deallocate()
            }
            guard SecItemCopyMatching(query as CFDictionary, place) == errSecSuccess,
                let found = place.pointee as? [String: Any]
            else { return false }
            let item = Attributes(attributes: found)
            return item.data == Data("s3cret".utf8) && item.created != nil && item.isSynchronizable == false
                && item.accessibility == kSecAttrAccessibleWhenUnlocked && item.accessControl != nil
        },
        Idiom("all classes emptied in a loop, and every class listed") { service in
            // In its own service or under its own tag, because the programs here share a keychain.
            let classes = [
                kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey, kSecClassIdentity,
            ]
            return classes.allSatisfy { itemClass in
                let query: NSDictionary = [
                    kSecClass: itemClass, kSecAttrLabel: service, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
                    kSecReturnRef: true, kSecAttrSynchronizable: kSecAttrSynchronizableAny,
                ]
                var result: CFTypeRef?
                let status = SecItemDelete([kSecClass: itemClass, kSecAttrLabel: service] as CFDictionary)
                return status == errSecItemNotFound && SecItemCopyMatching(query, &result) == errSecItemNotFound && result == nil
            }
        },
        Idiom("a database's key under the class of keys, of no type") { service in
            let tag = service.data(using: .utf8, allowLossyConversion: false)!
            var query: [NSString: AnyObject] = [
                kSecClass: kSecClassKey, kSecAttrApplicationTag: tag as AnyObject, kSecAttrKeySizeInBits: 512 as AnyObject,
                kSecReturnData: true as AnyObject,
            ]
            var item: AnyObject?
            var status = withUnsafeMutablePointer(to: &item) {
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
            }
            guard status == errSecItemNotFound, let key = NSMutableData(length: 64),
                SecRandomCopyBytes(kSecRandomDefault, 64, key.mutableBytes.bindMemory(to: UInt8.self, capacity: 64)) == 0
            else { return false }
            query[kSecReturnData] = nil
            query[kSecValueData] = key
            guard SecItemAdd(query as CFDictionary, nil) == errSecSuccess else { return false }
            query[kSecValueData] = nil
            query[kSecReturnData] = true as AnyObject
            status = SecItemCopyMatching(query as CFDictionary, &item)
            return status == errSecSuccess && (item as! NSData) == key
        },
    ]
}
