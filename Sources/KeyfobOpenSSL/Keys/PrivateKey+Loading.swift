import COpenSSL
public import Foundation
public import KeyfobPrimitives

extension PrivateKey {
    /// The size limit for a key file, in bytes.
    public static let maximumFileSize = 1 << 20

    /// Reads a key from PEM or DER: PKCS#8 plain or encrypted, PKCS#1, SEC 1, and traditionally encrypted PEM (RFC
    /// 1421).
    ///
    /// `passphrase` is called at most once, and only for an encrypted key. The call blocks while a key is derived from
    /// the passphrase and while the numbers of the key are checked. For RSA the check takes 0.03 s at 2048 bits, 0.2 s
    /// at 4096, 10 s at 8192, and a minute at ``maximumRSASize``.
    ///
    /// - Throws: `KeyFileError`; the errors of `passphrase`.
    public static func load(_ data: Data, passphrase: (() throws -> SecretBytes?)? = nil) throws -> PrivateKey {
        guard data.count <= maximumFileSize else { throw KeyFileError(.tooLarge, "a key file is below 1 MiB") }
        guard !data.isEmpty else { throw KeyFileError(.notFound, "the file is empty") }
        let blocks = PEM.blocks(in: data)
        guard !blocks.isEmpty else {
            let der = unsafe data.withUnsafeBytes { unsafe SecretBytes($0) }
            let first = unsafe der.withUnsafeBytes { unsafe $0.first }
            guard first == DERTag.sequence || first == nil else { throw KeyFileError.foreign }
            return try load(der: der, passphrase: passphrase)
        }
        guard let block = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
            let request = KeyFileError.explanation(ofRequestAmong: blocks.map(\.label))
            throw KeyFileError(.notFound, request ?? "the file has no private key")
        }
        if block.label.hasPrefix("OPENSSH") {
            // ssh-keygen overwrites the file, and keeps an Ed25519 key in its own format.
            throw KeyFileError(
                .unsupported,
                "it is an OpenSSH key; if RSA or ECDSA, convert a copy of it: ssh-keygen -p -m PKCS8 -f COPY")
        }
        guard let content = block.content else { throw KeyFileError(.damaged, "the PEM block is broken or not closed") }
        if block.headers.contains(where: { $0.hasPrefix("DEK-Info") || $0.hasSuffix("ENCRYPTED") }) {
            return try load(decryptTraditional(content, headers: block.headers, passphrase: try ask(passphrase)), true)
        }
        return try load(der: content, passphrase: passphrase)
    }

    /// Reads a key from DER, which stays in memory that is wiped.
    ///
    /// - Throws: `KeyFileError`; the errors of `passphrase`.
    package static func load(
        der: SecretBytes, passphrase: (() throws -> SecretBytes?)? = nil
    ) throws -> PrivateKey {
        let start = unsafe der.withUnsafeBytes { unsafe Array($0.prefix(16)) }
        try KeyFileError.checkLength(of: start, count: der.count)
        guard let header = DERHeader(start), header.tag == DERTag.sequence, header.count < start.count else {
            throw KeyFileError(.damaged, "it is not a key")
        }
        // An encrypted PKCS#8 starts with its algorithm, all other forms with a version number.
        guard start[header.count] == DERTag.sequence else { return try load(der, false) }
        return try load(decryptPKCS8(der) { try ask(passphrase) }, true)
    }

    private static func ask(_ passphrase: (() throws -> SecretBytes?)?) throws -> SecretBytes {
        guard let passphrase, let answer = try passphrase() else {
            throw KeyFileError(.passphraseRequired, "the key is encrypted")
        }
        // HMAC pads keys with zeros, so trailing NULs would not matter; the traditional encryption cannot have such a
        // passphrase.
        guard unsafe !answer.withUnsafeBytes({ unsafe $0.contains(0) }) else {
            throw KeyFileError(.wrongPassphrase, "the passphrase holds a NUL")
        }
        return answer
    }

    private static func load(_ der: SecretBytes, _ wasEncrypted: Bool) throws -> PrivateKey {
        let der = firstVersion(of: der) ?? der
        let handle = unsafe der.withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe EVP_PKEY_free($0) }) { unsafe d2i_AutoPrivateKey(nil, $0, $1) }
        }
        guard let handle else {
            let cause = OpenSSLError(draining: "d2i_AutoPrivateKey")
            if hasExplicitCurve(der) { throw KeyFileError.explicitCurve }
            if isSoundPKCS8(der) {
                throw KeyFileError(.unsupported, "a kind of key that OpenSSL cannot read", cause: cause)
            }
            guard wasEncrypted else { throw KeyFileError(.damaged, "it is not a key", cause: cause) }
            throw KeyFileError(.wrongPassphrase, "the decrypted bytes are not a key", cause: cause)
        }
        ERR_clear_error()
        let key = try PrivateKey(handle: handle)
        try key.checkNumbers()
        return key
    }

    /// Converts PKCS#8 of version 2 (RFC 5958) to version 1, without attributes and the appended public key.
    ///
    /// OpenSSL 3.0 reads only version 1. Returns `nil` for other input.
    static func firstVersion(of der: SecretBytes) -> SecretBytes? {
        unsafe der.withUnsafeBytes { bytes -> SecretBytes? in
            func header(at offset: Int) -> DERHeader? {
                guard offset < bytes.count, let header = unsafe DERHeader(bytes[offset...].prefix(8)),
                    header.total <= bytes.count - offset
                else { return nil }
                return header
            }
            guard let whole = header(at: 0), whole.tag == DERTag.sequence, whole.total == bytes.count,
                unsafe bytes[whole.count...].starts(with: [DERTag.integer, 1, 1])
            else { return nil }
            let start = whole.count + 3
            var end = start
            for tag in [DERTag.sequence, DERTag.octetString] {
                guard let header = header(at: end), header.tag == tag else { return nil }
                end += header.total
            }
            let version: [UInt8] = [DERTag.integer, 1, 0]
            let head = DERWriter.header(DERTag.sequence, count: version.count + end - start) + version
            return SecretBytes(joining: [SecretBytes(head), der[start..<end]])
        }
    }

    /// Checks the numbers of the key: one wrong byte in a modulus or a prime gives a key that loads and makes invalid
    /// signatures.
    func checkNumbers() throws {
        switch publicKey.algorithm {
        case .rsa, .ec: break
        default: return
        }
        let context = try unsafe handle.withPointer { key in
            try unsafe check("EVP_PKEY_CTX_new_from_pkey", EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_check(context) == 1 else {
            let cause = OpenSSLError(draining: "EVP_PKEY_check")
            throw KeyFileError(.damaged, "the numbers of the key do not belong together", cause: cause)
        }
    }

    /// Whether a key has the parameters of its curve: they begin with the identifier of the field, which is one below
    /// 1.2.840.10045.1 and stands nowhere else.
    static func hasExplicitCurve(_ der: SecretBytes) -> Bool {
        let field: [UInt8] = [DERTag.objectIdentifier, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01]
        return unsafe der.withUnsafeBytes { bytes in
            bytes.indices.contains { unsafe bytes[$0...].starts(with: field) }
        }
    }

    private static func isSoundPKCS8(_ der: SecretBytes) -> Bool {
        let information = unsafe der.withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe PKCS8_PRIV_KEY_INFO_free($0) }) {
                unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
            }
        }
        ERR_clear_error()
        guard let information else { return false }
        return unsafe information.withPointer { information in
            var algorithm: OpaquePointer?
            guard unsafe PKCS8_pkey_get0(&algorithm, nil, nil, nil, information) == 1 else { return false }
            return unsafe ![NID_rsaEncryption, NID_X9_62_id_ecPublicKey, NID_ED25519].contains(OBJ_obj2nid(algorithm))
        }
    }

    private static func decryptPKCS8(
        _ der: SecretBytes, passphrase ask: () throws -> SecretBytes
    ) throws -> SecretBytes {
        let sealed = unsafe der.withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe X509_SIG_free($0) }) { unsafe d2i_X509_SIG(nil, $0, $1) }
        }
        guard let sealed else {
            throw KeyFileError(.damaged, "it is not an encrypted key", cause: OpenSSLError(draining: "d2i_X509_SIG"))
        }
        return try unsafe sealed.withPointer { sealed in
            var algorithm: UnsafePointer<X509_ALGOR>?
            unsafe X509_SIG_get0(sealed, &algorithm, nil)
            guard let encryption = unsafe PasswordEncryption(algorithm) else {
                throw KeyFileError(.damaged, "its encryption is not described")
            }
            guard encryption.iterations <= PasswordEncryption.maximumIterations else {
                throw KeyFileError(.unsupported, "it asks for \(encryption.iterations) iterations")
            }
            // Asked only after the structure was checked.
            let opened = try unsafe ask().withUnsafeBytes { secret in
                unsafe ReadingLibrary.with { library in
                    unsafe decrypt(
                        sealed, secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(secret.count), library)
                }
            }
            guard let opened else {
                let cause = OpenSSLError(draining: "PKCS12_pbe_crypt_ex")
                throw KeyFileError(
                    cause.isUnknownAlgorithm ? .unsupported : .wrongPassphrase, "encrypted with \(encryption.name)",
                    cause: cause)
            }
            return opened
        }
    }

    /// Decrypts an encrypted PKCS#8; `nil`, with errors to drain, if the passphrase is wrong.
    ///
    /// PKCS8_decrypt(3) also decodes the content and does not support version 2.
    static func decrypt(
        _ sealed: OpaquePointer?, _ secret: UnsafePointer<CChar>?, _ secretCount: Int32, _ library: OpaquePointer?
    ) -> SecretBytes? {
        var algorithm: UnsafePointer<X509_ALGOR>?
        var content: UnsafePointer<ASN1_OCTET_STRING>?
        unsafe X509_SIG_get0(sealed, &algorithm, &content)
        var bytes: UnsafeMutablePointer<UInt8>?
        var count: Int32 = 0
        guard
            unsafe PKCS12_pbe_crypt_ex(
                algorithm, secret, secretCount, ASN1_STRING_get0_data(content), ASN1_STRING_length(content), &bytes,
                &count, 0, library, nil) != nil, let bytes = unsafe bytes
        else { return nil }
        defer { unsafe CRYPTO_clear_free(bytes, Int(count), nil, 0) }
        let opened = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
        // Like PKCS8_decrypt(3), this ignores bytes after the key.
        let whole = unsafe DERHeader(opened.prefix(8)).map { min($0.total, opened.count) } ?? opened.count
        return unsafe SecretBytes(opened[..<whole])
    }

    private static func decryptTraditional(
        _ content: SecretBytes, headers: [String], passphrase: SecretBytes
    ) throws -> SecretBytes {
        var cipher = unsafe EVP_CIPHER_INFO()
        // libcrypto takes these two headers alone, in this order; a mail program may have added others.
        let lines = ["Proc-Type: 4,ENCRYPTED"] + headers.filter { $0.hasPrefix("DEK-Info") }
        var text = [CChar]((lines.joined(separator: "\n") + "\n").utf8CString)
        guard unsafe PEM_get_EVP_CIPHER_INFO(&text, &cipher) == 1 else {
            throw KeyFileError(
                .unsupported, "its DEK-Info header is missing, or names no known cipher",
                cause: OpenSSLError(draining: "PEM_get_EVP_CIPHER_INFO"))
        }
        // Only the reading context offers DES and other old ciphers.
        let name = unsafe EVP_CIPHER_get0_name(cipher.cipher)
        let fetched = unsafe ReadingLibrary.with { library in unsafe EVP_CIPHER_fetch(library, name, nil) }
        guard let fetched = unsafe fetched else {
            throw KeyFileError(
                .unsupported, "the cipher of the old PEM encryption", cause: OpenSSLError(draining: "EVP_CIPHER_fetch"))
        }
        defer { unsafe EVP_CIPHER_free(fetched) }
        unsafe cipher.cipher = fetched
        // The size limit of key files keeps the count within `long`. Decryption works in place.
        var count = content.count
        let opened = try unsafe passphrase.withCString { secret in
            try unsafe SecretBytes(count: content.count) { output in
                unsafe content.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(output).copyMemory(from: $0) }
                // Without a callback the last argument is the passphrase itself (PEM_do_header(3)).
                let result = unsafe PEM_do_header(
                    &cipher, output.baseAddress, &count, nil, UnsafeMutableRawPointer(mutating: secret))
                guard result == 1 else {
                    let cause = OpenSSLError(draining: "PEM_do_header")
                    throw KeyFileError(
                        cause.isUnknownAlgorithm ? .unsupported : .wrongPassphrase, "the old PEM encryption",
                        cause: cause)
                }
            }
        }
        return opened.prefix(count)
    }
}

extension OpenSSLError {
    /// Whether the stack reports an unavailable algorithm rather than a wrong key.
    var isUnknownAlgorithm: Bool {
        stack.contains { entry in
            switch (entry.libraryNumber, entry.reasonNumber) {
            case (ERR_LIB_EVP, EVP_R_UNKNOWN_PBE_ALGORITHM), (ERR_LIB_EVP, EVP_R_UNSUPPORTED_ALGORITHM),
                (ERR_LIB_EVP, EVP_R_UNSUPPORTED_CIPHER), (ERR_LIB_EVP, EVP_R_UNKNOWN_CIPHER),
                (ERR_LIB_EVP, EVP_R_UNKNOWN_DIGEST), (ERR_LIB_EVP, EVP_R_UNSUPPORTED_PRF),
                (ERR_LIB_EVP, EVP_R_UNSUPPORTED_KEY_DERIVATION_FUNCTION),
                (ERR_LIB_PKCS12, PKCS12_R_UNKNOWN_DIGEST_ALGORITHM):
                true
            default: false
            }
        }
    }
}
