#if X509
public import Keyfob
public import X509

extension CertificateStore {
    /// What a keychain trusts, for swift-certificates' `Verifier`.
    ///
    /// ```swift
    /// var verifier = Verifier(rootCertificates: try await CertificateStore(trustedBy: keychain, for: .server)) {
    ///     RFC5280Policy()
    /// }
    /// ```
    ///
    /// The anchors as they are now: make a new one after a change. Runs on threads of Keyfob's own.
    ///
    /// - Throws: `KeychainError`; `fileDamaged` where swift-certificates cannot read an anchor, and the errors of
    ///   `Keychain.trustAnchors(for:)`.
    public init(trustedBy keychain: Keychain, for usage: CertificateUsage = .any) async throws {
        self.init(try await keychain.trustAnchors(for: usage).map { try X509.Certificate($0.certificate) })
    }
}
#endif
