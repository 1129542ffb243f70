#if X509
public import Keyfob
public import X509

extension CertificateStore {
    /// Creates a store of the certificates that a keychain trusts, for swift-certificates' `Verifier`.
    ///
    /// ```swift
    /// var verifier = Verifier(rootCertificates: try await CertificateStore(trustedBy: keychain, for: .server)) {
    ///     RFC5280Policy()
    /// }
    /// ```
    ///
    /// The store contains the anchors at the time of the call; create a new one after a change. Runs on Keyfob's
    /// threads.
    ///
    /// - Throws: `KeychainError`; `fileDamaged` if swift-certificates cannot read an anchor, and the errors of
    ///   `KeychainTrust.anchors(for:)`.
    public init(trustedBy keychain: Keychain, for usage: CertificateUsage = .any) async throws {
        self.init(try await keychain.trust.anchors(for: usage).map { try X509.Certificate($0.certificate) })
    }
}
#endif
