import Foundation
import OpenSSL
import PKCS11

/// The keys that were made for certificates, from the order to the installation.
extension Keychain {
    /// Whether `renewIdentity` with these arguments is for another key than before.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and where the token cannot be read.
    @available(*, noasync, message: "call it from a thread of your own")
    package func renewsKey(of identity: Identity, _ key: RenewalKey?) throws -> Bool {
        if let key { return key != .same }
        if identity.renewalPolicy?.renewsKey == true { return true }
        return try identity.label.map { try orderedKey(for: $0) != nil } ?? false
    }

    /// The key that was made for the order of a name at an ACME server, and has no certificate yet.
    func orderedKey(for name: String) throws -> KeyItem? {
        guard let order = PendingOrders(self)[name], order.isKeyNew else { return nil }
        return try uncertifiedKey(order.key)
    }

    private func uncertifiedKey(_ identifier: Data) throws -> KeyItem? {
        let isCertified = try index.objects(keys()).contains {
            $0.objectClass == .certificate && $0.publicKeyHash == identifier
        }
        guard !isCertified else { return nil }
        let own = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue), .applicationLabel: .data(identifier)])
        return try findOnToken(own).first.map { KeyItem(item: $0) }
    }

    private func uncertifiedKey(called label: String) throws -> KeyItem? {
        let own = Criteria(.key, [.keyClass: .number(KeyClass.private.rawValue), .label: .string(label)])
        return try findOnToken(own).first?.object.flatMap { try uncertifiedKey($0.keyIdentifier) }
    }

    /// Whether a key was made for the order of a name that is on record.
    func isOrdered(_ key: TokenKey, for name: String) -> Bool {
        PendingOrders(self)[name].map { $0.isKeyNew && $0.key == key.publicKey.identifier } ?? false
    }

    /// Runs `body` while no other process orders a certificate for the name.
    ///
    /// - Parameter old: The certificate that is renewed, in DER; `nil` where the name is to be free, which `body` sees
    ///   for itself.
    /// - Throws: `KeychainError` with code `vaultBusy` where another is at it until the time of the options is over, or
    ///   `old` does not bear the name any more; what `body` throws.
    func ordering<Result>(
        _ name: String, replacing old: Data? = nil, _ body: () throws -> Result
    ) throws -> Result {
        try OrderLocks(keychain: configuration.uuid, directories).ordering(name, until: deadline) {
            // A renewal goes by the certificate and the key that the caller has seen, however long ago. To go on with
            // them would bring back a key that was replaced since.
            if let old {
                var own = Criteria(.identity, [.label: .string(name)])
                own.includesSynchronizable = true
                guard try findOnToken(own).contains(where: { $0.certificateDER == old }) else {
                    throw Self.changed(name, "nothing was done.")
                }
            }
            return try body()
        }
    }

    /// The error for an identity whose name is not that of the certificate any more that is to be renewed.
    ///
    /// - Parameter outcome: What became of the renewal.
    static func changed(_ name: String, _ outcome: String) -> KeychainError {
        KeychainError(
            .vaultBusy, "identity \"\(name)\" was changed by another process meanwhile; \(outcome)",
            hint: "See what it has now: keyfob identity show \(ShellWord.operand(name))", details: ["name": name])
    }

    /// Whether somebody orders a certificate for the name at this moment.
    package func isOrdering(_ name: String) -> Bool {
        OrderLocks(keychain: configuration.uuid, directories).isHeld(name)
    }

    /// Leaves a key to its owner, who has it certified himself: no renewal goes on with it, and none destroys it.
    ///
    /// - Parameters:
    ///   - label: What the key is called.
    ///   - isWaiting: Whether a renewal that is under way is waited for; else the record is left to that.
    /// - Throws: `KeychainError`; `vaultBusy` while a certificate is ordered for the identity that it was made for, and
    ///   where the record of it cannot be changed.
    func release(_ key: Data, called label: String, isWaiting: Bool = true) throws {
        let orders = PendingOrders(self)
        for name in [label, IdentityVersion.name(ofVersion: label)].compactMap(\.self) {
            guard orders[name]?.concerns(key, called: label) ?? false, isWaiting || !isOrdering(name) else { continue }
            try ordering(name) { try orders.release(key, called: label, for: name) }
        }
    }

    /// Forgets the order of a name once the name has a certificate, and destroys the keys of orders that were given up.
    ///
    /// Within `ordering` only: the key of an order that is under way is no left-over.
    ///
    /// - Parameter report: Told of each key that is destroyed.
    func forgetOrder(for name: String, _ report: (String) -> Void) {
        let orders = PendingOrders(self)
        guard let order = orders[name] else { return orders.remove(name) }
        // The certificate is installed, whatever becomes of this. A key that cannot be destroyed now is destroyed after
        // the next renewal.
        do {
            if let label = order.label, let key = try uncertifiedKey(called: label) {
                report(
                    "key \"\(label)\" of a renewal that failed left: keyfob key rm "
                        + ShellWord.operand(key.label ?? label))
            }
            for identifier in order.newKeys {
                guard let key = try uncertifiedKey(identifier) else { continue }
                try delete(key)
                report("key \"\(key.label ?? "")\" of an order that was given up destroyed")
            }
            orders.remove(name)
        } catch {}
    }
}
