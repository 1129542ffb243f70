public import Foundation
public import KeyfobPrimitives
import Logging

/// The passwords of one service, to be used like a dictionary.
///
/// ```swift
/// let logins = keychain.passwords(service: "example.org")
/// logins["alice"] = "12345"
/// let password = logins["alice"]
/// logins["alice"] = nil
/// ```
///
/// A subscript cannot throw. A failure, other than that there is no such password, goes to `onFailure`; the
/// methods `set`, `string`, `data` and `remove` do the same and throw. Blocking.
public struct PasswordScope: Sendable {
    /// The keychain.
    public let keychain: Keychain
    /// The service of all passwords in the scope.
    public let service: String
    private let onFailure: @Sendable (any Error) -> Void

    init(keychain: Keychain, service: String, onFailure: (@Sendable (any Error) -> Void)?) {
        self.keychain = keychain
        self.service = service
        // Not silent: a value that was not stored must leave a trace even where nobody thought of failures.
        self.onFailure = onFailure ?? { error in
            Logger(label: "keyfob").error("a keychain subscript failed", metadata: ["error": "\(error)"])
        }
    }

    /// The password of an account as text; setting `nil` removes it.
    ///
    /// `nil` also for a password that is not UTF-8; use `data(for:)` there.
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

    /// Stores text. - Throws: As `Keychain.add`; never `duplicateItem`: an older password is replaced in place.
    public func set(_ value: String, for account: String) throws {
        try set(SecretBytes(utf8: value), for: account)
    }

    /// Stores bytes. - Throws: As for text.
    public func set(_ value: Data, for account: String) throws {
        try set(SecretBytes(value), for: account)
    }

    /// Stores a secret. - Throws: As for text.
    public func set(_ value: SecretBytes, for account: String) throws {
        do {
            _ = try keychain.addRow(GenericPassword(service: service, account: account).item, secret: value)
        } catch let error as KeychainError where error.code == .duplicateItem {
            try keychain.update(criteria(account), [:], secret: value)
        }
    }

    /// The password as text, or `nil` where there is none or it is not UTF-8. - Throws: As `Keychain.secret(of:)`.
    public func string(for account: String) throws -> String? { try secret(for: account)?.copyString() }

    /// The password as bytes, or `nil` where there is none. - Throws: As `Keychain.secret(of:)`.
    public func data(for account: String) throws -> Data? { try secret(for: account)?.copyData() }

    /// The password, or `nil` where there is none. - Throws: As `Keychain.secret(of:)`.
    public func secret(for account: String) throws -> SecretBytes? {
        guard let item = try keychain.findItems(criteria(account)).first else { return nil }
        return try keychain.secret(of: item)
    }

    /// Removes a password; true if there was one. - Throws: As `Keychain.delete`, but not `itemNotFound`.
    @discardableResult
    public func remove(_ account: String) throws -> Bool {
        do { return try keychain.delete(criteria(account)) > 0 } catch let error as KeychainError
            where error.code == .itemNotFound
        { return false }
    }

    /// The accounts that have a password. - Throws: As `Keychain.find`.
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
    /// The passwords of one service, to be used like a dictionary.
    ///
    /// - Parameter onFailure: Is told what a subscript cannot throw; without it, the failure is logged.
    public func passwords(service: String, onFailure: (@Sendable (any Error) -> Void)? = nil) -> PasswordScope {
        PasswordScope(keychain: self, service: service, onFailure: onFailure)
    }
}
