import KeyfobOpenSSL

extension PendingOrder {
    /// The record of an order that has just begun.
    ///
    /// - Parameter server: The address of the issuer.
    init(_ order: CertificateOrder, at server: String) {
        self.init(
            key: order.request.publicKey.identifier, isKeyNew: order.isKeyNew,
            request: Digest.sha256(order.request.toBeSigned), server: server)
    }
}

extension PendingOrders {
    /// The orders of a keychain. Nothing is read or created yet.
    init(_ keychain: Keychain) { self.init(keychain: keychain.configuration.uuid, keychain.directories) }
}

extension PendingHooks {
    /// The pending hooks of a keychain. Nothing is read or created yet.
    package init(_ keychain: Keychain) { self.init(keychain: keychain.configuration.uuid, keychain.directories) }
}
