import Foundation
import KeyfobPrimitives

/// Any Codable value under a class and a key.
///
/// ```swift
/// try keychain.save(session, for: "session")
/// let session = try keychain.retrieve(Session.self, for: "session")
/// ```
///
/// The value is JSON in the item's secret. The key is the account, of the service `keyfob.codable` unless
/// attributes say otherwise, so that other tools can name the item.
extension Keychain {
    /// Stores a value under a key that is free.
    ///
    /// - Parameters:
    ///   - itemClass: Generic or internet password.
    ///   - attributes: Further attributes of the item; they are part of finding it again where they are part of
    ///     the primary key.
    /// - Throws: `KeychainError`; `duplicateItem` where the key is taken, `invalidArgument` for another class;
    ///   `EncodingError`; and as `add`.
    @available(*, noasync, message: "use the asynchronous form")
    public func save(
        _ value: some Encodable, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) throws {
        var item = Item(itemClass, try Self.criteria(key, itemClass, attributes).attributes)
        if item.attributes[.label] == nil { item.attributes[.label] = .string(key) }
        _ = try addRow(item, secret: SecretBytes(JSONEncoder().encode(value)))
    }

    /// The value under a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` where the key is free; `DecodingError` where another type is stored.
    @available(*, noasync, message: "use the asynchronous form")
    public func retrieve<Value: Decodable>(
        _ type: Value.Type, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) throws -> Value {
        let found = try findItems(Self.criteria(key, itemClass, attributes)).first
        guard let found, let secret = try secret(of: found) else { throw Self.missing(key, name) }
        return try JSONDecoder().decode(type, from: secret.copyData())
    }

    /// Replaces the value under a key. - Throws: `KeychainError`; `itemNotFound` where the key is free.
    @available(*, noasync, message: "use the asynchronous form")
    public func update(
        _ value: some Encodable, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) throws {
        let secret = SecretBytes(try JSONEncoder().encode(value))
        let criteria = try Self.criteria(key, itemClass, attributes)
        do { try update(criteria, [:], secret: secret) } catch let error as KeychainError
            where error.code == .itemNotFound
        { throw Self.missing(key, name) }
    }

    /// Removes the value under a key. - Throws: `KeychainError`; `itemNotFound` where the key is free.
    @available(*, noasync, message: "use the asynchronous form")
    public func deleteValue(
        for key: String, as itemClass: ItemClass = .genericPassword, attributes: ItemAttributes = [:]
    ) throws {
        do { try delete(Self.criteria(key, itemClass, attributes)) } catch let error as KeychainError
            where error.code == .itemNotFound
        { throw Self.missing(key, name) }
    }

    private static func criteria(
        _ key: String, _ itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws -> Criteria {
        var criteria = Criteria(itemClass, attributes)
        criteria.attributes[.account] = .string(key)
        switch itemClass {
        case .genericPassword where criteria.attributes[.service] == nil:
            criteria.attributes[.service] = "keyfob.codable"
        case .internetPassword where criteria.attributes[.server] == nil:
            criteria.attributes[.server] = "keyfob.codable"
        case .genericPassword, .internetPassword: break
        default:
            throw KeychainError(.invalidArgument, "values are stored as generic or internet passwords.")
        }
        return criteria
    }

    private static func missing(_ key: String, _ keychain: String) -> KeychainError {
        KeychainError(.itemNotFound, "there is no value \"\(key)\" in keychain \"\(keychain)\".")
    }
}
