import Foundation
import KeyfobPrimitives

/// Storing any Codable value under a class and a key.
///
/// ```swift
/// try keychain.save(session, for: "session")
/// let session = try keychain.retrieve(Session.self, for: "session")
/// ```
///
/// The value is stored as JSON in the item's secret. The key is the account. The service is `keyfob.codable` unless the
/// attributes name another, so that other tools can find the item.
extension Keychain {
    /// Stores a value under a new key.
    ///
    /// - Parameters:
    ///   - itemClass: Generic or internet password.
    ///   - attributes: Further attributes of the item; those of the primary key are needed to find it again.
    /// - Throws: `KeychainError`; `duplicateItem` if the key exists, `invalidArgument` for another class, and the
    ///   errors of `add`; `EncodingError`.
    @available(*, noasync, message: "use the asynchronous form")
    public func save(
        _ value: some Encodable, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) throws {
        try saveValue(Self.encoded(value), for: key, as: itemClass, attributes)
    }

    /// The value of a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the key does not exist; `DecodingError` if the value has another
    ///   type.
    @available(*, noasync, message: "use the asynchronous form")
    public func retrieve<Value: Decodable>(
        _ type: Value.Type, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) throws -> Value {
        try Self.decoded(type, savedValue(for: key, as: itemClass, attributes))
    }

    /// Replaces the value of a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the key does not exist; `EncodingError`.
    @available(*, noasync, message: "use the asynchronous form")
    public func update(
        _ value: some Encodable, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) throws {
        try replaceValue(Self.encoded(value), for: key, as: itemClass, attributes)
    }

    /// Removes the value of a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the key does not exist.
    @available(*, noasync, message: "use the asynchronous form")
    public func deleteValue(
        for key: String, as itemClass: ItemClass = .genericPassword, attributes: ItemAttributes = [:]
    ) throws {
        do { try delete(Self.criteria(key, itemClass, attributes)) } catch let error as KeychainError
            where error.code == .itemNotFound
        { throw Self.missing(key, name) }
    }

    /// Stores a value under a new key.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if the key exists, `invalidArgument` for another class, and the
    ///   errors of `add`; `EncodingError`.
    public func save(
        _ value: some Encodable, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) async throws {
        // Encoded here, because the value need not be sendable to another thread.
        let secret = try Self.encoded(value)
        try await run { try self.saveValue(secret, for: key, as: itemClass, attributes) }
    }

    /// The value of a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the key does not exist; `DecodingError` if the value has another
    ///   type.
    public func retrieve<Value: Decodable>(
        _ type: Value.Type, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) async throws -> Value {
        let secret = try await run { try self.savedValue(for: key, as: itemClass, attributes) }
        return try Self.decoded(type, secret)
    }

    /// Replaces the value of a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the key does not exist; `EncodingError`.
    public func update(
        _ value: some Encodable, for key: String, as itemClass: ItemClass = .genericPassword,
        attributes: ItemAttributes = [:]
    ) async throws {
        let secret = try Self.encoded(value)
        try await run { try self.replaceValue(secret, for: key, as: itemClass, attributes) }
    }

    /// Removes the value of a key.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if the key does not exist.
    public func deleteValue(
        for key: String, as itemClass: ItemClass = .genericPassword, attributes: ItemAttributes = [:]
    ) async throws {
        try await run { try self.deleteValue(for: key, as: itemClass, attributes: attributes) }
    }

    /// The value as JSON. Copies inside the encoder cannot be wiped.
    private static func encoded(_ value: some Encodable) throws -> SecretBytes {
        var json = try JSONEncoder().encode(value)
        return SecretBytes(wiping: &json)
    }

    private static func decoded<Value: Decodable>(_ type: Value.Type, _ secret: SecretBytes) throws -> Value {
        try secret.withData { try JSONDecoder().decode(type, from: $0) }
    }

    private func saveValue(
        _ secret: SecretBytes, for key: String, as itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws {
        var item = Item(itemClass, try Self.criteria(key, itemClass, attributes).attributes)
        if item.attributes[.label] == nil { item.attributes[.label] = .string(key) }
        _ = try vaultRows.addRow(item, secret: secret)
    }

    private func savedValue(
        for key: String, as itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws -> SecretBytes {
        let found = try findItems(Self.criteria(key, itemClass, attributes)).first
        guard let found, let secret = try secret(of: found) else { throw Self.missing(key, name) }
        return secret
    }

    private func replaceValue(
        _ secret: SecretBytes, for key: String, as itemClass: ItemClass, _ attributes: ItemAttributes
    ) throws {
        let criteria = try Self.criteria(key, itemClass, attributes)
        do { try update(criteria, [:], secret: secret) } catch let error as KeychainError
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
