import KeyfobPrimitives
public import OpenSSL

extension Keychain {
    /// A certification request (RFC 2986) for a key on the token, which signs it.
    ///
    /// Blocks for one token operation.
    ///
    /// - Parameter scheme: How it is signed; without one, what is preferred for the kind of key.
    /// - Throws: `KeychainError`; `invalidArgument` for names and extensions that cannot be written,
    ///   `mechanismUnsupported` where key or token cannot sign so, and as `tokenKey(for:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public func certificationRequest(
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
        try await run {
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
