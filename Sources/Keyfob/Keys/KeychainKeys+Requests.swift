import KeyfobPrimitives
public import KeyfobOpenSSL

extension KeychainKeys {
    /// A certification request (RFC 2986) for a key on the token, which signs it.
    ///
    /// Blocks for one token operation. The caller owns the key from then on: if a renewal left it behind, later
    /// renewals neither use nor destroy it.
    ///
    /// - Parameter scheme: The signature scheme; `nil` for the preferred one of the key type.
    /// - Throws: `KeychainError`; `invalidArgument` for names and extensions that cannot be encoded,
    ///   `mechanismUnsupported` if the key or the token does not support the scheme, `vaultBusy` while a certificate is
    ///   ordered for the key, and the errors of `tokenKey(for:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public func certificationRequest(
        for key: KeyItem, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        try keychain.withDeadline { [self] in
            let request = try trialRequest(for: key, subject: subject, extensions: extensions, scheme: scheme)
            // Release the key before the caller has the request: a certificate issued for it needs the key.
            if let label = key.label { try keychain.identities.release(request.publicKey.identifier, called: label) }
            return request
        }
    }

    /// A certification request that is not handed out, so that the key is not released.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for names and extensions that cannot be encoded,
    ///   `mechanismUnsupported` if the key or the token does not support the scheme, and the errors of
    ///   `tokenKey(for:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func trialRequest(
        for key: KeyItem, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        try certificationRequest(with: tokenKey(for: key), subject, extensions, scheme)
    }

    /// A certification request for the key of an identity.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for names and extensions that cannot be encoded,
    ///   `mechanismUnsupported` if the key or the token does not support the scheme, and the errors of
    ///   `tokenKey(for:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public func certificationRequest(
        for identity: Identity, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) throws -> CertificationRequest {
        try keychain.withDeadline { [self] in
            try certificationRequest(with: tokenKey(for: identity), subject, extensions, scheme)
        }
    }

    /// A certification request for a key on the token.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` for names and extensions that cannot be encoded,
    ///   `mechanismUnsupported` if the key or the token does not support the scheme, `vaultBusy` while a certificate is
    ///   ordered for the key, and the errors of `tokenKey(for:)`.
    public func certificationRequest(
        for key: KeyItem, subject: DistinguishedName, extensions: CertificateExtensions,
        scheme: SignatureScheme? = nil
    ) async throws -> CertificationRequest {
        // Waits for a running order.
        try await keychain.runPatiently { _ in
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
