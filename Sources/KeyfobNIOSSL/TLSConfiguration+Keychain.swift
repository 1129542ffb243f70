#if NIOSSL
public import Keyfob
public import NIOSSL
import KeyfobOpenSSL

extension TLSConfiguration {
    /// Creates a server's configuration with the chain and private key of the identity that a query finds.
    ///
    /// ```swift
    /// let configuration = try await TLSConfiguration.server(.identities.host("www.example.org"), in: keychain)
    /// ```
    ///
    /// Uses TLS 1.2 and 1.3 with forward secrecy, or only 1.2 if the token cannot sign for 1.3. Does not follow
    /// renewals; ``RotatingTLSIdentity`` does.
    ///
    /// - Parameter clientTrust: The issuers of clients' certificates; if given, clients must present one (mutual TLS).
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous`, `certificateExpired`, `certificateNotYetValid`,
    ///   `certificateUsageMismatch`, `chainIncomplete`, `identityMismatch`, `mechanismUnsupported`, and the errors of
    ///   `unlock()`.
    public static func server(
        _ query: Query<Identity>, in keychain: Keychain, clientTrust: NIOSSLTrustRoots? = nil
    ) async throws -> TLSConfiguration {
        try await TLSIdentity.load(query, in: keychain).serverConfiguration(clientTrust: clientTrust)
    }

    /// Creates a client's configuration from a keychain, for servers that request a certificate.
    ///
    /// - Parameter trustRoots: The issuers of servers' certificates; the system's by default.
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous`, `certificateExpired`, `certificateNotYetValid`,
    ///   `certificateUsageMismatch`, `chainIncomplete`, `identityMismatch`, `mechanismUnsupported`, and the errors of
    ///   `unlock()`.
    public static func client(
        _ query: Query<Identity>, in keychain: Keychain, trustRoots: NIOSSLTrustRoots = .default
    ) async throws -> TLSConfiguration {
        try await TLSIdentity.load(query, in: keychain, requirements: .client)
            .clientConfiguration(trustRoots: trustRoots)
    }

    /// Cipher suites with forward secrecy for TLS 1.2. With those of RSA key transport the token would have to decrypt.
    private static let forwardSecrecy = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// Applies the settings common to servers and clients.
    func serving(_ key: TokenTLSKey) -> TLSConfiguration {
        var configuration = self
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = key.supportsTLS13 ? nil : .tlsv12
        configuration.cipherSuites = Self.forwardSecrecy
        // Accept from peers every algorithm that our own keys may use. The library's default list lacks P-521 and
        // Ed25519, and still contains SHA-1 (RFC 9155).
        configuration.verifySignatureAlgorithms = SignatureAlgorithm.all
        return configuration
    }
}

extension NIOSSLTrustRoots {
    /// The certificates that a keychain trusts for a usage: `.client` for a server that requests certificates,
    /// `.server` for a client.
    ///
    /// Returns the anchors at the time of the call. Runs on Keyfob's threads.
    ///
    /// > Important: swift-nio-ssl only trusts self-signed certificates. If the keychain trusts an intermediate or a
    /// > single certificate without its root, the handshake refuses a peer below it, although
    /// > ``KeychainCertificates/verify(_:intermediates:on:host:usage:trusting:)`` accepts it. Trust the root, or call
    /// > that function in swift-nio-ssl's custom verification callback.
    ///
    /// - Throws: The errors of `KeychainTrust.anchors(for:)`, and those of swift-nio-ssl for an anchor that it cannot
    ///   read.
    public static func trusted(by keychain: Keychain, for usage: CertificateUsage) async throws -> NIOSSLTrustRoots {
        .certificates(
            try await keychain.trust.anchors(for: usage).map {
                try NIOSSLCertificate(bytes: [UInt8]($0.certificate.der), format: .der)
            })
    }
}

extension TLSIdentity {
    /// Creates a server's configuration with this identity.
    ///
    /// - Parameter clientTrust: The issuers of clients' certificates; if given, clients must present one (mutual TLS).
    public func serverConfiguration(clientTrust: NIOSSLTrustRoots? = nil) -> TLSConfiguration {
        guard let clientTrust else {
            return TLSConfiguration.makeServerConfiguration(certificateChain: certificateChain, privateKey: privateKey)
                .serving(key)
        }
        return TLSConfiguration.makeServerConfigurationWithMTLS(
            certificateChain: certificateChain, privateKey: privateKey, trustRoots: clientTrust
        ).serving(key)
    }

    /// Creates a client's configuration with this identity.
    ///
    /// - Parameter trustRoots: The issuers of servers' certificates; the system's by default.
    public func clientConfiguration(trustRoots: NIOSSLTrustRoots = .default) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration().serving(key)
        configuration.trustRoots = trustRoots
        // A server refuses a client's certificate on a curve that the client did not list (RFC 8422 5.1), and
        // swift-nio-ssl's default list lacks P-521.
        configuration.curves = [.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1, .secp521r1]
        configuration.certificateChain = certificateChain
        configuration.privateKey = privateKey
        return configuration
    }
}
#endif
