package import Foundation
package import KeyfobOpenSSL

/// The record of an order, for issuers that can continue an order after a kill or a failure.
extension CertificateOrder {
    /// Records that the issuer will be asked for a certificate. If no certificate arrives, the next attempt uses the
    /// key that was made for this one.
    ///
    /// - Parameter server: The address of the issuer.
    package func record(at server: String) {
        let record = PendingOrder(self, at: server)
        // The key exists already. An existing record for the same key may hold more than this one, such as the order's
        // URL.
        if isKeyNew, records[name]?.key != record.key { records.note(record, for: name) }
    }

    /// Records where the order is, so that the next attempt continues it instead of placing another.
    ///
    /// - Parameters:
    ///   - url: The URL of the order.
    ///   - server: The address of the issuer.
    package func record(url: String, at server: String) {
        var record = PendingOrder(self, at: server)
        record.url = url
        records.note(record, for: name)
    }

    /// The recorded order of an earlier attempt at the same request.
    ///
    /// - Parameter server: The address of the issuer.
    /// - Returns: The URL of the order and when it was recorded; `nil` if there is no such order.
    package func recorded(at server: String) -> (url: String, date: Date)? {
        guard let record = records[name], record.isSame(as: PendingOrder(self, at: server)) else { return nil }
        return record.url.map { ($0, record.date) }
    }

    /// Whether the keychain of the key has a certificate.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    package func isStored(_ certificate: Certificate) throws -> Bool {
        let keychain = key.keychain
        return try keychain.index.objects(keychain.vaultKeys()).contains { $0.certificateDER == certificate.der }
    }

    private var records: PendingOrders { PendingOrders(key.keychain) }
}
