import Foundation
public import KeyfobPrimitives
import KeyfobOpenSSL
public import PKCS11

/// The asynchronous forms. Each runs its blocking form on a thread of Keyfob.
///
/// A call that has started runs to its end even if the task is cancelled, so that a token is not left in the middle of
/// a change. Only issuers and servers of certificates are not contacted again after a cancellation.
///
/// Each form throws the errors of its blocking form. Both throw `KeychainError` with code `timedOut` if a single
/// call of the token's module takes longer than ``Keychain/Options/timeout``. That limit is at least two seconds, and
/// at least ten minutes for generating a key.
extension Keychain {
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await ModuleWatch.run(limit: moduleLimit, body)
    }

    /// Runs a call that waits for other processes or servers, on a thread that no other call waits for.
    ///
    /// - Parameter body: Gets a function that tells whether the task was cancelled, to check while it waits.
    /// - Throws: `KeychainError` with code `cancelled` if the task was cancelled before `body` started; the errors of
    ///   `body`.
    func runPatiently<Result: Sendable>(
        _ body: @escaping @Sendable (_ isStopped: @escaping @Sendable () -> Bool) throws -> Result
    ) async throws -> Result {
        let isCancelled = Lock(false)
        let isStopped: @Sendable () -> Bool = { isCancelled.withLock { $0 } }
        return try await withTaskCancellationHandler {
            try await ModuleWatch.run(on: .patient, limit: moduleLimit) {
                guard !isStopped() else { throw KeychainError.stopped }
                return try body(isStopped)
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }

    /// Unlocks the keychain.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func unlock() async throws { try await run { try self.unlock() } }

    /// Unlocks the keychain with a passphrase or PIN that the caller has.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func unlock(with secret: SecretBytes, isRecoveryCode: Bool = false) async throws {
        try await run { try self.unlock(with: secret, isRecoveryCode: isRecoveryCode) }
    }

    /// Unlocks the keychain and stores the unlocked state for other processes.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func unlockForSession(
        timeout: Int? = nil, with secret: SecretBytes? = nil, isRecoveryCode: Bool = false
    ) async throws -> UnlockedState.Location {
        try await run { try self.unlockForSession(timeout: timeout, with: secret, isRecoveryCode: isRecoveryCode) }
    }

    /// Locks the keychain.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func lock() async throws { try await run { try self.lock() } }

    /// Adds a password.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func add<Password: PasswordItem>(_ item: Password, secret: SecretBytes?) async throws -> Password {
        try await run { try self.add(item, secret: secret) }
    }

    /// Adds a certificate.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func add(_ item: CertificateItem) async throws -> CertificateItem {
        try await run { try self.add(item) }
    }

    /// Adds many passwords, all or none.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func add<Password: PasswordItem>(_ items: [(Password, SecretBytes?)]) async throws -> [Password] {
        try await run { try self.add(items) }
    }

    /// Adds an item of any class but identity.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func add(_ item: Item, secret: SecretBytes?) async throws -> Item {
        try await run { try self.add(item, secret: secret) }
    }

    /// Calls `body` on a thread of Keyfob for every matching password, until it returns `false`.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form, and those of `body`.
    public func forEach<Result: KeychainItem>(
        _ query: Query<Result>, damaged: (@Sendable (any Error) -> Void)? = nil,
        _ body: @escaping @Sendable (Result) throws -> Bool
    ) async throws {
        try await run { try self.forEach(query, damaged: damaged, body) }
    }

    /// The matching items.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func find<Result: KeychainItem>(_ query: Query<Result>) async throws -> [Result] {
        try await run { try self.find(query) }
    }

    /// The matching items; the untyped form.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func findItems(_ criteria: Criteria) async throws -> [Item] {
        try await run { try self.findItems(criteria) }
    }

    /// The only matching item.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func only<Result: KeychainItem>(_ query: Query<Result>) async throws -> Result {
        try await run { try self.only(query) }
    }

    /// The secret of an item.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func secret(of item: some KeychainItem) async throws -> SecretBytes? {
        try await run { try self.secret(of: item) }
    }

    /// Changes every matching item.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func update<Result: KeychainItem>(
        _ query: Query<Result>, _ changes: ItemAttributes = [:], secret: SecretBytes? = nil
    ) async throws -> Int {
        try await run { try self.update(query, changes, secret: secret) }
    }

    /// Changes every matching item; the untyped form.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func update(
        _ criteria: Criteria, _ changes: ItemAttributes, removing: [AttributeName] = [], secret: SecretBytes? = nil
    ) async throws -> Int {
        try await run { try self.update(criteria, changes, removing: removing, secret: secret) }
    }

    /// Writes an item back through its reference.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func write<Result: KeychainItem>(_ item: Result, secret: SecretBytes? = nil) async throws -> Result {
        try await run { try self.write(item, secret: secret) }
    }

    /// Removes every matching item.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func delete<Result: KeychainItem>(_ query: Query<Result>) async throws -> Int {
        try await run { try self.delete(query) }
    }

    /// Removes every matching item; the untyped form.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    @discardableResult
    public func delete(_ criteria: Criteria) async throws -> Int {
        try await run { try self.delete(criteria) }
    }

    /// Removes one item.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func delete(_ item: some KeychainItem) async throws {
        try await run { try self.delete(item) }
    }

    /// The item of a reference, of any class.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func item(_ reference: PersistentReference) async throws -> Item {
        try await run { try self.item(reference) }
    }

    /// The secret of an item as it is stored.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func jwe(of item: some KeychainItem) async throws -> String { try await run { try self.jwe(of: item) } }

    /// Checks that the token is present and opens the vault.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func checkOpening() async throws -> Bool { try await run { try self.checkOpening() } }

    /// The number of passwords in the vault.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func passwordCount() async throws -> Int { try await run { try self.passwordCount() } }

    /// The information that the keychain's token reports about itself.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form.
    public func tokenInfo() async throws -> TokenInfo { try await run { try self.tokenInfo() } }
}
