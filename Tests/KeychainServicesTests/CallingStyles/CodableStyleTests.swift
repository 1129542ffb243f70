import Foundation
import KeychainServices
import Testing

/// The classes of stored values. The raw values are computed, because the constants are not literals.
private enum ValueClass: RawRepresentable, CaseIterable {
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
        case .generic: kSecClassGenericPassword
        case .internet: kSecClassInternetPassword
        }
    }
}

/// Codable values stored under a class and a key.
private struct Values {
    typealias Attributes = [CFString: Any]

    enum Failure: Error, Equatable {
        case invalidItem
        case absent
        case taken
        case unexpected(OSStatus)

        init(_ status: OSStatus) {
            switch status {
            case errSecParam, errSecNoSuchAttr: self = .invalidItem
            case errSecItemNotFound: self = .absent
            case errSecDuplicateItem: self = .taken
            default: self = .unexpected(status)
            }
        }
    }

    private func query(_ itemClass: ValueClass, _ key: String, _ attributes: Attributes?) -> [String: AnyObject] {
        var query: [String: AnyObject] = [
            kSecClass as String: itemClass.rawValue, kSecAttrAccount as String: key as AnyObject,
        ]
        for (name, value) in attributes ?? [:] { query[name as String] = value as AnyObject }
        return query
    }

    private func check(_ status: OSStatus) throws {
        if status != errSecSuccess { throw Failure(status) }
    }

    func save<Value: Encodable>(
        _ value: Value, in itemClass: ValueClass, key: String, attributes: Attributes? = nil
    ) throws {
        var query = query(itemClass, key, attributes)
        query[kSecValueData as String] = try JSONEncoder().encode(value) as AnyObject
        try check(SecItemAdd(query as CFDictionary, nil))
    }

    func retrieve<Value: Decodable>(
        _ type: Value.Type = Value.self, in itemClass: ValueClass, key: String, attributes: Attributes? = nil
    ) throws -> Value {
        var query = query(itemClass, key, attributes)
        query[kSecReturnAttributes as String] = kCFBooleanTrue
        query[kSecReturnData as String] = kCFBooleanTrue
        var item: CFTypeRef?
        try check(unsafe SecItemCopyMatching(query as CFDictionary, &item))
        guard let members = item as? [String: AnyObject], let data = members[kSecValueData as String] as? Data else {
            throw Failure.invalidItem
        }
        return try JSONDecoder().decode(type, from: data)
    }

    func update<Value: Encodable>(
        _ value: Value, in itemClass: ValueClass, key: String, attributes: Attributes? = nil
    ) throws {
        let changes = [kSecValueData: try JSONEncoder().encode(value)]
        try check(SecItemUpdate(query(itemClass, key, attributes) as CFDictionary, changes as CFDictionary))
    }

    func delete(_ itemClass: ValueClass, key: String, attributes: Attributes? = nil) throws {
        try check(SecItemDelete(query(itemClass, key, attributes) as CFDictionary))
    }
}

/// The fifth calling style: a manager for Codable values in several item classes.
@Suite struct CodableStyleTests {
    private struct Tokens: Codable, Equatable {
        var access: String
        var refresh: String?
        var expires: Date
    }

    @Test(arguments: [kSecClassGenericPassword as String, kSecClassInternetPassword as String])
    func `A value is saved, retrieved, updated and deleted under a class and a key`(name: String) throws {
        let itemClass = try #require(ValueClass(rawValue: name as CFString))
        try TestKeychain.use {
            let values = Values()
            var tokens = Tokens(access: "a", refresh: nil, expires: Date(timeIntervalSince1970: 1_000_000))
            try values.save(tokens, in: itemClass, key: "api")
            #expect(try values.retrieve(in: itemClass, key: "api") == tokens)
            tokens.refresh = "r"
            try values.update(tokens, in: itemClass, key: "api")
            #expect(try values.retrieve(in: itemClass, key: "api") == tokens)
            try values.delete(itemClass, key: "api")
            #expect(throws: Values.Failure.absent) { try values.retrieve(Tokens.self, in: itemClass, key: "api") }
        }
    }

    @Test func `The same key in two classes is two values`() throws {
        try TestKeychain.use {
            let values = Values()
            try values.save(["one"], in: .generic, key: "k")
            try values.save([2], in: .internet, key: "k")
            #expect(try values.retrieve([String].self, in: .generic, key: "k") == ["one"])
            #expect(try values.retrieve([Int].self, in: .internet, key: "k") == [2])
        }
    }

    @Test func `Attributes narrow, and each way to fail has its own error`() throws {
        try TestKeychain.use {
            let values = Values()
            let server: Values.Attributes = [kSecAttrServer: "example.com", kSecAttrPort: 443]
            try values.save("x", in: .internet, key: "k", attributes: server)
            #expect(throws: Values.Failure.taken) {
                try values.save("y", in: .internet, key: "k", attributes: server)
            }
            try values.save("z", in: .internet, key: "k", attributes: [kSecAttrServer: "example.org"])
            #expect(try values.retrieve(String.self, in: .internet, key: "k", attributes: server) == "x")
            #expect(throws: Values.Failure.absent) {
                try values.update("y", in: .internet, key: "k", attributes: [kSecAttrPort: 80])
            }
            #expect(throws: Values.Failure.invalidItem) {
                try values.save("x", in: .generic, key: "k", attributes: [kSecAttrServer: "example.com"])
            }
            #expect(throws: DecodingError.self) {
                try values.retrieve(Int.self, in: .internet, key: "k", attributes: server)
            }
        }
    }
}
