import KeyfobOpenSSL

/// An issuer that stops when its caller is cancelled.
struct CancellableIssuer: CertificateIssuer {
    private let issuer: any CertificateIssuer
    private let isStopped: @Sendable () -> Bool

    /// - Parameter isStopped: The answer of `isStopped` of each order.
    init(_ issuer: any CertificateIssuer, isStopped: @escaping @Sendable () -> Bool) {
        self.issuer = issuer
        self.isStopped = isStopped
    }

    var issuerDescription: IssuerDescription { issuer.issuerDescription }

    func requestedSubject(
        _ wanted: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
    ) throws -> DistinguishedName {
        try issuer.requestedSubject(wanted, for: names, isAskedFor: isAskedFor)
    }

    func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        // The caller may have been cancelled while it waited for other processes.
        guard !isStopped() else { throw KeychainError.stopped }
        var order = order
        order.isStopped = isStopped
        return try issuer.issue(order)
    }
}
