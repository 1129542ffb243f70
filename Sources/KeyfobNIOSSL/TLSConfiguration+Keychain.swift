#if NIOSSL
public import Keyfob
public import NIOSSL
import OpenSSL

extension TLSConfiguration {
    /// A server's configuration from a keychain: chain and private key of the identity that a query finds.
    ///
    /// ```swift
    /// let configuration = try await TLSConfiguration.server(.identities.host("www.example.org"), in: keychain)
    /// ```
    ///
    /// TLS 1.2 and 1.3 with forward secrecy; 1.2 alone where the token cannot sign for 1.3. Does not follow renewals:
    /// ``RotatingTLSIdentity`` does.
    ///
    /// - Parameter clientTrust: Who may have issued clients' certificates, which are then required (mutual TLS).
    /// - Throws: As ``TLSIdentity/load(_:in:requirements:onSigningFailure:)``.
    public static func server(
        _ query: Query<Identity>, in keychain: Keychain, clientTrust: NIOSSLTrustRoots? = nil
    ) async throws -> TLSConfiguration {
        try await TLSIdentity.load(query, in: keychain).serverConfiguration(clientTrust: clientTrust)
    }

    /// A client's configuration from a keychain, for servers that ask for a certificate.
    ///
    /// - Parameter trustRoots: Who may have issued the server's certificate; without, the system's.
    /// - Throws: As ``TLSIdentity/load(_:in:requirements:onSigningFailure:)``.
    public static func client(
        _ query: Query<Identity>, in keychain: Keychain, trustRoots: NIOSSLTrustRoots = .default
    ) async throws -> TLSConfiguration {
        try await TLSIdentity.load(query, in: keychain, requirements: .client)
            .clientConfiguration(trustRoots: trustRoots)
    }

    /// Suites with forward secrecy, for TLS 1.2: with those of RSA key transport the token would have to decrypt.
    private static let forwardSecrecy = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// What holds for servers and clients.
    func serving(_ key: TokenTLSKey) -> TLSConfiguration {
        var configuration = self
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = key.supportsTLS13 ? nil : .tlsv12
        configuration.cipherSuites = Self.forwardSecrecy
        // Of the peer, all that a key of ours may have: the library's own list has neither P-521 nor Ed25519, and still
        // SHA-1 (RFC 9155).
        configuration.verifySignatureAlgorithms = SignatureAlgorithm.all
        return configuration
    }
}

extension NIOSSLTrustRoots {
    /// What a keychain trusts for a usage: `.client` for a server that asks for certificates, `.server` for a client.
    ///
    /// The anchors as they are now. Runs on threads of Keyfob's own.
    ///
    /// > Important: swift-nio-ssl trusts no certificate that did not sign itself, whoever says so. A peer below an
    /// > intermediate, or a single certificate, that the keychain trusts without its root is refused by the handshake,
    /// > although ``Keychain/verify(_:intermediates:on:host:usage:trusting:)`` accepts it: trust the root, or verify
    /// > peers by that in swift-nio-ssl's custom verification callback.
    ///
    /// - Throws: `KeychainError`, as `Keychain.trustAnchors(for:)`; what swift-nio-ssl throws for an anchor it cannot
    ///   read.
    public static func trusted(by keychain: Keychain, for usage: CertificateUsage) async throws -> NIOSSLTrustRoots {
        .certificates(
            try await keychain.trustAnchors(for: usage).map {
                try NIOSSLCertificate(bytes: [UInt8]($0.certificate.der), format: .der)
            })
    }
}

extension TLSIdentity {
    /// A server's configuration with this identity.
    ///
    /// - Parameter clientTrust: Who may have issued clients' certificates, which are then required (mutual TLS).
    public func serverConfiguration(clientTrust: NIOSSLTrustRoots? = nil) -> TLSConfiguration {
        guard let clientTrust else {
            return TLSConfiguration.makeServerConfiguration(certificateChain: certificateChain, privateKey: privateKey)
                .serving(key)
        }
        return TLSConfiguration.makeServerConfigurationWithMTLS(
            certificateChain: certificateChain, privateKey: privateKey, trustRoots: clientTrust
        ).serving(key)
    }

    /// A client's configuration with this identity.
    ///
    /// - Parameter trustRoots: Who may have issued the server's certificate; without, the system's.
    public func clientConfiguration(trustRoots: NIOSSLTrustRoots = .default) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration().serving(key)
        configuration.trustRoots = trustRoots
        // A server refuses a client's certificate on a curve that the client did not list (RFC 8422 5.1), and
        // swift-nio-ssl's own list ends before P-521.
        configuration.curves = [.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1, .secp521r1]
        configuration.certificateChain = certificateChain
        configuration.privateKey = privateKey
        return configuration
    }
}
#endif
