public import Foundation
public import KeyfobPrimitives
import Logging

/// The passwords of one service, with subscripts like a dictionary.
///
/// ```swift
/// let logins = keychain.passwords(service: "example.org")
/// logins["alice"] = "12345"
/// let password = logins["alice"]
/// logins["alice"] = nil
/// ```
///
/// A subscript cannot throw, so its failures go to `onFailure`; a missing password is not a failure. The methods `set`,
/// `string`, `data` and `remove` throw instead. All calls block.
public struct PasswordScope: Sendable {
    /// The keychain.
    public let keychain: Keychain
    /// The service of all passwords in the scope.
    public let service: String
    private let onFailure: @Sendable (any Error) -> Void

    init(keychain: Keychain, service: String, onFailure: (@Sendable (any Error) -> Void)?) {
        self.keychain = keychain
        self.service = service
        // Log by default: a value that was not stored must not be lost silently.
        self.onFailure = onFailure ?? { error in
            Logger(label: "keyfob").error("a keychain subscript failed", metadata: ["error": "\(error)"])
        }
    }

    /// The password of an account as text; setting `nil` removes it.
    ///
    /// Also `nil` for a password that is not UTF-8; use `data(for:)` for these.
    public subscript(account: String) -> String? {
        get { reporting { try string(for: account) } ?? nil }
        nonmutating set {
            reporting {
                if let newValue { try set(newValue, for: account) } else { try remove(account) }
            }
        }
    }

    /// The password of an account as bytes; setting `nil` removes it.
    public subscript(data account: String) -> Data? {
        get { reporting { try data(for: account) } ?? nil }
        nonmutating set {
            reporting {
                if let newValue { try set(newValue, for: account) } else { try remove(account) }
            }
        }
    }

    /// Stores text, and replaces an older password in place.
    ///
    /// - Throws: `KeychainError`; `dataTooLarge`, `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    public func set(_ value: String, for account: String) throws {
        try set(SecretBytes(utf8: value), for: account)
    }

    /// Stores bytes, and replaces an older password in place.
    ///
    /// - Throws: `KeychainError`; `dataTooLarge`, `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    public func set(_ value: Data, for account: String) throws {
        try set(SecretBytes(value), for: account)
    }

    /// Stores a secret, and replaces an older password in place.
    ///
    /// - Throws: `KeychainError`; `dataTooLarge`, `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    public func set(_ value: SecretBytes, for account: String) throws {
        do {
            _ = try keychain.vaultRows.addRow(GenericPassword(service: service, account: account).item, secret: value)
        } catch let error as KeychainError where error.code == .duplicateItem {
            try keychain.update(criteria(account), [:], secret: value)
        }
    }

    /// The password as text, or `nil` if there is none or it is not UTF-8.
    ///
    /// - Throws: `KeychainError`; `vaultDamaged`, `wrappingKeyMissing`, and the errors of `unlock()`.
    public func string(for account: String) throws -> String? { try secret(for: account)?.copyString() }

    /// The password as bytes, or `nil` if there is none.
    ///
    /// - Throws: `KeychainError`; `vaultDamaged`, `wrappingKeyMissing`, and the errors of `unlock()`.
    public func data(for account: String) throws -> Data? { try secret(for: account)?.copyData() }

    /// The password, or `nil` if there is none.
    ///
    /// - Throws: `KeychainError`; `vaultDamaged`, `wrappingKeyMissing`, and the errors of `unlock()`.
    public func secret(for account: String) throws -> SecretBytes? {
        guard let item = try keychain.findItems(criteria(account)).first else { return nil }
        return try keychain.secret(of: item)
    }

    /// Removes a password.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: `KeychainError`; `vaultBusy`, `vaultUnavailable`, and the errors of `unlock()`.
    @discardableResult
    public func remove(_ account: String) throws -> Bool {
        do { return try keychain.delete(criteria(account)) > 0 } catch let error as KeychainError
            where error.code == .itemNotFound
        { return false }
    }

    /// The accounts that have a password.
    ///
    /// - Throws: `KeychainError`; `vaultDamaged`, and the errors of `unlock()`.
    public func accounts() throws -> [String] {
        try keychain.findItems(Criteria(.genericPassword, [.service: .string(service)])).compactMap {
            $0.attributes[.account]?.text
        }
    }

    private func criteria(_ account: String) -> Criteria {
        Criteria(.genericPassword, [.service: .string(service), .account: .string(account)])
    }

    @discardableResult
    private func reporting<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch {
            onFailure(error)
            return nil
        }
    }
}

extension Keychain {
    /// The passwords of one service, with subscripts like a dictionary.
    ///
    /// - Parameter onFailure: Called with the errors of the subscripts; without it, they are logged.
    public func passwords(service: String, onFailure: (@Sendable (any Error) -> Void)? = nil) -> PasswordScope {
        PasswordScope(keychain: self, service: service, onFailure: onFailure)
    }
}
