import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// The record of a certificate that is not in the keychain yet. It holds the key that a renewal makes for it, with any
/// issuer, and the order at an ACME server.
///
/// A key without a certificate may belong to an earlier version that was replaced because the key must not be used any
/// more. So a renewal reuses only a recorded key.
///
/// A server that accepted an order issues the certificate and counts it, even if the client never fetches it. Another
/// order would count again, and leave the key of the first behind. The record is not trusted: the server is asked, and
/// a useless order is followed by a new one.
struct PendingOrder: Codable {
    /// SHA-1 of the public key, equal to the `CKA_ID` of keys and certificates; empty if not known yet.
    var key: Data
    /// The label under which a renewal makes the key; `nil` if the key itself is known.
    var label: String?
    /// Whether the key was made for this certificate, and is useless without it.
    var isKeyNew: Bool
    /// Keys made for earlier orders that this one replaced.
    var keysGivenUp: Set<Data> = []
    /// SHA-256 of the request without its signature.
    var request: Data
    /// The address of the issuer; empty if not known yet.
    var server: String
    /// The URL of the order; `nil` if the order has none yet.
    var url: String?
    /// When this was written.
    var date: Date

    /// The record of an order that has just begun.
    init(key: Data, isKeyNew: Bool, request: Data, server: String) {
        self.key = key
        self.isKeyNew = isKeyNew
        self.request = request
        self.server = server
        date = Date()
    }

    /// The record written before the key of a renewal is made, so that the next attempt finds the key if this process
    /// is killed.
    init(keyCalled label: String) {
        key = Data()
        self.label = label
        isKeyNew = false
        request = Data()
        server = ""
        date = Date()
    }

    /// Whether a key was made for this order.
    func isMade(_ key: Data, called label: String) -> Bool {
        isKeyNew && self.key == key || self.label.map { $0.isIdentical(to: label) } ?? false
    }

    /// The keys made for this order and for those that it replaced.
    var newKeys: Set<Data> { isKeyNew ? keysGivenUp.union([key]) : keysGivenUp }

    /// Whether the next renewal uses or destroys a key.
    func concerns(_ key: Data, called label: String) -> Bool {
        isMade(key, called: label) || keysGivenUp.contains(key)
    }

    /// Whether this order is for the certificate that another order asks for.
    func isSame(as other: PendingOrder) -> Bool {
        (key, request, server) == (other.key, other.request, other.server)
    }
}

/// The pending orders of a keychain, by the names of their identities.
///
/// The records are only an optimization. One that cannot be read is ignored. If one cannot be written, the renewal
/// after a failure or a kill uses another key.
struct PendingOrders: Sendable {
    private let files: StateFiles

    /// The orders of a keychain. Nothing is read or created yet.
    init(keychain: UUID, _ directories: Directories) {
        files = StateFiles("orders", keychain: keychain, directories)
    }

    /// The order for an identity.
    subscript(name: String) -> PendingOrder? {
        do {
            return try files.read(name).map { try JSONDecoder().decode(PendingOrder.self, from: $0.copyData()) }
        } catch {
            return nil
        }
    }

    /// Writes an order in place of the previous one. When this returns, the record survives a kill and a power failure.
    func note(_ order: PendingOrder, for name: String) {
        var order = order
        order.keysGivenUp = (self[name]?.newKeys ?? []).subtracting([order.key])
        do { try write(order, for: name) } catch {}
    }

    /// Removes a key from the record: later renewals neither use nor destroy it.
    ///
    /// - Throws: `KeychainError` if the change cannot be written.
    func release(_ key: Data, called label: String, for name: String) throws {
        guard var order = self[name] else { return }
        order.keysGivenUp.remove(key)
        if order.isMade(key, called: label) {
            // The order is for a certificate of that key.
            guard !order.keysGivenUp.isEmpty else { return try files.remove(name) }
            (order.key, order.label, order.isKeyNew, order.url) = (Data(), nil, false, nil)
        }
        try write(order, for: name)
    }

    private func write(_ order: PendingOrder, for name: String) throws {
        try files.write(SecretBytes(JSONEncoder().encode(order)), for: name)
    }

    /// Removes the record of an order.
    func remove(_ name: String) { do { try files.remove(name) } catch {} }

    /// Removes all records and their directory.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    func removeAll() throws(KeychainError) { try files.removeAll() }
}
