import Foundation
import KeyfobPrimitives
import OpenSSL

/// What is on record of a certificate that is not in the keychain yet: the key that a renewal makes for it, whoever
/// issues, and the order of an ACME server.
///
/// A key without a certificate may be that of an earlier version, which somebody replaced because it is not to be used
/// any more. So a renewal goes on with one that is on record, and with no other.
///
/// A server that has taken up an order issues its certificate whether or not anybody comes back for it, and counts it:
/// another order would be one more, and the key that was made for the first would stay behind. Nothing in here is
/// believed: the server is asked, and an order that is worth nothing is followed by a new one.
struct PendingOrder: Codable {
    /// SHA-1 of the public key, as it is the `CKA_ID` of keys and certificates; empty where it is not known yet.
    var key: Data
    /// The label under which the key is made for a renewal; `nil` where the key itself is known.
    var label: String?
    /// Whether the key was made for this certificate, and is of no use without it.
    var isKeyNew: Bool
    /// Keys that were made for orders before it, which were given up for this one.
    var keysGivenUp: Set<Data> = []
    /// What was asked for: SHA-256 of the request without its signature.
    var request: Data
    /// The directory of the server.
    var directory: String
    /// Where the order is; `nil` where it had not come so far.
    var url: String?
    /// When this was written.
    var date: Date

    /// For how long a server is waited for that says that it is about to issue the certificate, in seconds.
    static let patience: TimeInterval = 3600

    /// What is on record of an order that has just begun.
    init(_ order: CertificateOrder, at directory: String) {
        key = order.request.publicKey.identifier
        isKeyNew = order.isKeyNew
        request = Digest.sha256(order.request.toBeSigned)
        self.directory = directory
        date = Date()
    }

    /// What is on record before the key of a renewal is made: whoever is killed after that is followed by somebody who
    /// knows it.
    init(keyCalled label: String) {
        key = Data()
        self.label = label
        isKeyNew = false
        request = Data()
        directory = ""
        date = Date()
    }

    /// Whether a key is the one that was made for it.
    func isMade(_ key: Data, called label: String) -> Bool {
        isKeyNew && self.key == key || self.label.map { $0.isIdentical(to: label) } ?? false
    }

    /// The keys that were made for it and for those before it.
    var newKeys: Set<Data> { isKeyNew ? keysGivenUp.union([key]) : keysGivenUp }

    /// Whether a key is used or destroyed by whoever follows.
    func concerns(_ key: Data, called label: String) -> Bool {
        isMade(key, called: label) || keysGivenUp.contains(key)
    }

    /// Whether it brings the certificate that another order asks for.
    func isSame(as other: PendingOrder) -> Bool {
        (key, request, directory) == (other.key, other.request, other.directory)
    }
}

/// The pending orders of a keychain, by the names of the identities that they are for.
///
/// They are a help and no more: one that cannot be read is none, and where one cannot be written, a renewal that fails
/// or is killed is followed by one with another key.
struct PendingOrders: Sendable {
    private let files: FilesByName

    /// Those of a keychain. Nothing is read or made yet.
    init(_ keychain: Keychain) { self.init(keychain: keychain.configuration.uuid, keychain.directories) }

    init(keychain: UUID, _ directories: Directories) {
        files = FilesByName("orders", keychain: keychain, directories)
    }

    /// The order for an identity.
    subscript(name: String) -> PendingOrder? {
        do {
            return try files.read(name).map { try JSONDecoder().decode(PendingOrder.self, from: $0.copyData()) }
        } catch {
            return nil
        }
    }

    /// Writes an order down, in the place of the one before, so that it survives a kill and a power cut from here on.
    func note(_ order: PendingOrder, for name: String) {
        var order = order
        order.keysGivenUp = (self[name]?.newKeys ?? []).subtracting([order.key])
        do { try write(order, for: name) } catch {}
    }

    /// Takes a key off the record: from here on nobody goes on with it, and nobody destroys it.
    ///
    /// - Throws: `KeychainError` where that cannot be written down.
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

    /// Forgets an order.
    func remove(_ name: String) { do { try files.remove(name) } catch {} }

    /// Forgets all, with the directory. - Throws: `fileUnavailable`.
    func removeAll() throws(KeychainError) { try files.removeAll() }
}
