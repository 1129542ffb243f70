import Foundation
import KeyfobOpenSSL
import PKCS11

/// The keys made for certificates, from the order to the installation.
extension KeychainIdentities {
    /// Whether `renewIdentity` with these arguments uses another key than the current one.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    @available(*, noasync, message: "call it from a thread of your own")
    package func renewsKey(of identity: Identity, _ key: RenewalKey?) throws -> Bool {
        if let key { return key != .same }
        if identity.renewalPolicy?.renewsKey == true { return true }
        return try identity.label.map { try orderedKey(for: $0) != nil } ?? false
    }

    /// The key that was made for an ACME order of a name, and has no certificate yet.
    func orderedKey(for name: String) throws -> KeyItem? {
        guard let order = PendingOrders(keychain)[name], order.isKeyNew else { return nil }
        return try uncertifiedKey(order.key)
    }

    private func uncertifiedKey(_ identifier: Data) throws -> KeyItem? {
        let isCertified = try keychain.index.objects(keychain.vaultKeys()).contains {
            $0.objectClass == .certificate && $0.publicKeyHash == identifier
        }
        guard !isCertified else { return nil }
        let own = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue), .applicationLabel: .data(identifier)])
        return try keychain.tokenItems.findOnToken(own).first.map { KeyItem(item: $0) }
    }

    private func uncertifiedKey(called label: String) throws -> KeyItem? {
        let own = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue), .label: .string(label)])
        return try keychain.tokenItems.findOnToken(own).first?.object.flatMap { try uncertifiedKey($0.keyIdentifier) }
    }

    /// Whether the recorded order of a name made this key.
    func isOrdered(_ key: TokenKey, for name: String) -> Bool {
        PendingOrders(keychain)[name].map { $0.isKeyNew && $0.key == key.publicKey.identifier } ?? false
    }

    /// Runs `body` while no other process orders a certificate for the name.
    ///
    /// - Parameter old: The certificate being renewed, in DER; `nil` if the name must be free, which `body` checks.
    /// - Throws: `KeychainError` with code `vaultBusy` if another process still orders one when the timeout of the
    ///   options expires, or if the name no longer belongs to `old`; the errors of `body`.
    func ordering<Result>(
        _ name: String, replacing old: Data? = nil, _ body: () throws -> Result
    ) throws -> Result {
        try OrderLocks(keychain: keychain.configuration.uuid, keychain.directories).ordering(
            name, until: keychain.deadline
        ) {
            // The caller may have looked up the certificate and key long ago. Continuing with them would bring back a
            // key that was replaced since.
            if let old {
                var own = Criteria(.identity, [.label: .string(name)])
                own.includesSynchronizable = true
                guard try keychain.tokenItems.findOnToken(own).contains(where: { $0.certificateDER == old }) else {
                    throw Self.changed(name, "nothing was done.")
                }
            }
            return try body()
        }
    }

    /// The error for an identity whose name no longer belongs to the certificate being renewed.
    ///
    /// - Parameter outcome: The outcome of the renewal.
    static func changed(_ name: String, _ outcome: String) -> KeychainError {
        KeychainError(
            .vaultBusy, "identity \"\(name)\" was changed by another process meanwhile; \(outcome)",
            remedies: [Remedy("See what it has now", .showIdentity(name))], details: ["name": name])
    }

    /// Whether any process is ordering a certificate for the name now.
    package func isOrdering(_ name: String) -> Bool {
        OrderLocks(keychain: keychain.configuration.uuid, keychain.directories).isHeld(name)
    }

    /// Releases a key to its owner, who gets a certificate for it elsewhere. Renewals will neither use nor destroy it.
    ///
    /// - Parameters:
    ///   - label: The label of the key.
    ///   - isWaiting: Whether to wait for a running renewal; if false, the record is left to that renewal.
    /// - Throws: `KeychainError`; `vaultBusy` while a certificate is ordered for the key's identity, and an error if
    ///   the record cannot be changed.
    func release(_ key: Data, called label: String, isWaiting: Bool = true) throws {
        let orders = PendingOrders(keychain)
        for name in [label, IdentityVersion.name(ofVersion: label)].compactMap(\.self) {
            guard orders[name]?.concerns(key, called: label) ?? false, isWaiting || !isOrdering(name) else { continue }
            try ordering(name) { try orders.release(key, called: label, for: name) }
        }
    }

    /// Removes the order record of a name that now has a certificate, and destroys the keys of abandoned orders.
    ///
    /// Call it only within `ordering`, because the key of a running order must not be destroyed.
    ///
    /// - Parameter report: Called with each key that is destroyed.
    func forgetOrder(for name: String, _ report: (String) -> Void) {
        let orders = PendingOrders(keychain)
        guard let order = orders[name] else { return orders.remove(name) }
        // The certificate is installed even if this fails. A key that cannot be destroyed now is destroyed after the
        // next renewal.
        do {
            if let label = order.label, let key = try uncertifiedKey(called: label) {
                report(
                    "key \"\(key.label ?? label)\" of a failed renewal is still on the token; "
                        + "remove it if it is not used")
            }
            for identifier in order.newKeys {
                guard let key = try uncertifiedKey(identifier) else { continue }
                try keychain.delete(key)
                report("key \"\(key.label ?? "")\" of an order that was given up destroyed")
            }
            orders.remove(name)
        } catch {}
    }
}
