import KeyfobPrimitives
public import OpenSSL

extension Keychain {
    /// A certification request (RFC 2986) for a key on the token, which signs it.
    ///
    /// Blocks for one token operation. The key is the caller's from then on: where it was left behind by a renewal, the
    /// next one neither goes on with it nor destroys it.
    ///
    /// - Parameter scheme: How it is signed; without one, what is preferred for the kind of key.
    /// - Throws: `KeychainError`; `invalidArgument` for names and extensions that cannot be written,
    ///   `mechanismUnsupported` where key or token cannot sign so, `vaultBusy` while a certificate is ordered for the
    ///   key, and as `tokenKey(for:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public func certificationRequest(
        for key: KeyItem, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        let request = try trialRequest(for: key, subject: subject, extensions: extensions, scheme: scheme)
        // Before anybody has the request: what is issued for it must find the key.
        if let label = key.label { try release(request.publicKey.identifier, called: label) }
        return request
    }

    /// The same for a request that nobody is given. - Throws: As the other, without `vaultBusy`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func trialRequest(
        for key: KeyItem, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        try certificationRequest(with: tokenKey(for: key), subject, extensions, scheme)
    }

    /// A certification request for the key of an identity. - Throws: As for keys.
    @available(*, noasync, message: "use the asynchronous form")
    public func certificationRequest(
        for identity: Identity, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        try certificationRequest(with: tokenKey(for: identity), subject, extensions, scheme)
    }

    /// A certification request for a key on the token. - Throws: As the blocking form.
    public func certificationRequest(
        for key: KeyItem, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) async throws -> CertificationRequest {
        // An order that is under way is waited for.
        try await runPatiently { _ in
            try self.certificationRequest(for: key, subject: subject, extensions: extensions, scheme: scheme)
        }
    }

    func certificationRequest(
        with key: TokenKey, _ subject: DistinguishedName, _ extensions: CertificateExtensions,
        _ scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        let unsigned = try KeychainError.describingRequests {
            try UnsignedRequest(
                subject: subject, publicKey: key.publicKey, extensions: extensions, scheme: scheme)
        }
        return try key.checkingSignature { try unsigned.signed { try key.sign($0, using: $1) } }
    }
}
