/// An issuer that is told when nobody waits for the certificate any more.
struct CancellableIssuer: CertificateIssuer {
    private let issuer: any CertificateIssuer
    private let isStopped: @Sendable () -> Bool

    /// - Parameter isStopped: What orders answer when they are asked that.
    init(_ issuer: any CertificateIssuer, isStopped: @escaping @Sendable () -> Bool) {
        self.issuer = issuer
        self.isStopped = isStopped
    }

    var issuerDescription: IssuerDescription { issuer.issuerDescription }

    func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        // Others may have been waited for until here.
        guard !isStopped() else { throw KeychainError.stopped }
        var order = order
        order.isStopped = isStopped
        return try issuer.issue(order)
    }
}
