import CLibSSL
import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

extension ACMEListener {
    /// Answers a TLS-ALPN-01 challenge (RFC 8737) until `withdraw()`.
    ///
    /// - Throws: `KeychainError`; the errors of `init(at:_:)`, `failed` if libssl does not work.
    convenience init(tls challenge: ACMEChallenge, at text: String) throws {
        let server = try ACMETLSServer(challenge)
        try self.init(at: text) { try ACMETLSConversation(server) }
    }
}

extension ACMEChallenge {
    /// The extension in which a certificate shows the key authorization (RFC 8737 3).
    static let certificateExtension = OID(rawValue: "1.3.6.1.5.5.7.1.31")

    /// A certificate, signed by its own key, that answers a TLS-ALPN-01 challenge (RFC 8737 3).
    ///
    /// - Throws: `KeychainError` with code `issuerFailed` for a name that no certificate can have; `CryptoError`.
    func certificate(for key: PrivateKey) throws -> Certificate {
        guard let name = GeneralName(host: name) else {
            throw KeychainError(.issuerFailed, "the authority asks for a proof of \"\(name)\", which is not a name.")
        }
        let digest = Digest.sha256(Data(keyAuthorization.utf8))
        var extensions = CertificateExtensions()
        extensions.subjectAlternativeNames = [name]
        // The value is an OCTET STRING of 32 bytes.
        extensions.others = [
            .init(type: Self.certificateExtension, isCritical: true, value: Data([0x04, 0x20]) + digest)
        ]
        let now = Date()
        return try UnsignedCertificate(
            subject: DistinguishedName(commonName: "challenge"), publicKey: key.publicKey, extensions: extensions,
            issuer: nil, notBefore: now - 86_400, notAfter: now + 86_400
        ).signed { [UInt8](try key.sign($0, using: $1)) }
    }
}

/// The parts that all connections of a TLS-ALPN-01 challenge use: the certificate and its key, in memory only.
@safe final class ACMETLSServer: @unchecked Sendable {
    // Unchecked: the pointers never change, and libssl counts references to a context and locks it.
    fileprivate let context: OpaquePointer
    private let `protocol`: UnsafeMutablePointer<UInt8>

    /// The only application protocol that is accepted (RFC 8737 4).
    private static let name = "acme-tls/1"

    /// - Throws: `KeychainError`; `failed` if libssl does not work, and the errors of `certificate(for:)`.
    init(_ challenge: ACMEChallenge) throws {
        let key = try PrivateKey.generate(.ec(.p256))
        let certificate = try challenge.certificate(for: key)
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { throw Self.failure }
        unsafe self.context = context
        let bytes = [UInt8(Self.name.utf8.count)] + Array(Self.name.utf8)
        unsafe `protocol` = .allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { unsafe `protocol`[index] = byte }
        unsafe keyfob_tls_require(context, `protocol`)
        unsafe SSL_CTX_set_num_tickets(context, 0)
        let der = [UInt8](certificate.der)
        let isUsed = unsafe SSL_CTX_use_certificate_ASN1(context, Int32(der.count), der) == 1
        let hasKey = unsafe try key.traditionalDER().withUnsafeBytes { bytes in
            unsafe SSL_CTX_use_PrivateKey_ASN1(
                EVP_PKEY_EC, context, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count) == 1
        }
        ERR_clear_error()
        guard isUsed, hasKey else { throw Self.failure }
    }

    deinit {
        unsafe SSL_CTX_free(context)
        unsafe `protocol`.deallocate()
    }

    static var failure: KeychainError {
        ERR_clear_error()
        return KeychainError(.failed, "libssl cannot answer a challenge.")
    }
}

/// The server's side of a TLS handshake. The connection ends with it, because nothing else is served.
@safe final class ACMETLSConversation: ListenerConversation {
    private let server: ACMETLSServer
    private let connection: OpaquePointer
    // The connection owns both.
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// - Throws: `KeychainError` with code `failed`.
    init(_ server: ACMETLSServer) throws {
        self.server = server
        // Memory buffers instead of the socket, because libssl's writes to a closed connection raise SIGPIPE.
        guard let connection = unsafe SSL_new(server.context) else { throw ACMETLSServer.failure }
        guard let input = unsafe BIO_new(BIO_s_mem()) else {
            unsafe SSL_free(connection)
            throw ACMETLSServer.failure
        }
        guard let output = unsafe BIO_new(BIO_s_mem()) else {
            unsafe BIO_free(input)
            unsafe SSL_free(connection)
            throw ACMETLSServer.failure
        }
        unsafe SSL_set_bio(connection, input, output)
        unsafe (self.connection, self.input, self.output) = (connection, input, output)
    }

    deinit { unsafe SSL_free(connection) }

    func take(_ bytes: [UInt8]) -> (answer: [UInt8], isOver: Bool) {
        guard unsafe BIO_write(input, bytes, Int32(bytes.count)) == Int32(bytes.count) else { return ([], true) }
        let result = unsafe SSL_accept(connection)
        let isWaiting = unsafe result <= 0 && SSL_get_error(connection, result) == SSL_ERROR_WANT_READ
        ERR_clear_error()
        // After a failure the answer is an alert.
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe BIO_read(output, &buffer, Int32(buffer.count))
            guard count > 0 else { break }
            answer += buffer.prefix(Int(count))
        }
        return (answer, !isWaiting)
    }
}
