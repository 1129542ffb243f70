import COpenSSL

/// The hashing, padding and signing of a message.
public struct SignatureScheme: Hashable, Sendable, CustomStringConvertible {
    enum Family: Hashable, Sendable { case rsaRaw, rsaPKCS1, rsaPSS, ecdsa, ed25519 }

    let family: Family
    /// The digest of the message; `nil` for Ed25519, which hashes internally, and for schemes with prepared input.
    public let digest: Digest?

    /// RSASSA-PKCS1-v1_5 (RFC 8017 8.2).
    public static func rsaPKCS1(_ digest: Digest) -> Self { Self(family: .rsaPKCS1, digest: digest) }
    /// RSASSA-PSS with a salt as long as the digest and MGF1 of the same digest (RFC 8017 8.1).
    public static func rsaPSS(_ digest: Digest) -> Self { Self(family: .rsaPSS, digest: digest) }
    /// ECDSA with the signature in DER (RFC 3279 2.2.3); `ECDSASignature` converts.
    public static func ecdsa(_ digest: Digest) -> Self { Self(family: .ecdsa, digest: digest) }
    /// Ed25519 (RFC 8032).
    public static let ed25519 = Self(family: .ed25519, digest: nil)

    /// The RSA primitive (RFC 8017 section 5.2.1) on a number below the modulus.
    ///
    /// > Important: Without padding, signatures can be multiplied to forge others. Only for protocols that pad by
    /// themselves.
    public static let rsaRaw = Self(family: .rsaRaw, digest: nil)
    /// RSASSA-PKCS1-v1_5 on prepared bytes: a DigestInfo, or the input that older TLS uses instead.
    public static let rsaPKCS1Prepared = Self(family: .rsaPKCS1, digest: nil)
    /// ECDSA on a digest of any length; a digest longer than the curve's order is truncated (FIPS 186-4 section 6.4).
    public static let ecdsaPrepared = Self(family: .ecdsa, digest: nil)

    /// Whether the scheme hashes the message internally.
    var hashesInside: Bool { family == .ed25519 }

    /// The family and digest.
    public var description: String { digest.map { "\(family) \($0)" } ?? "\(family)" }

    /// Whether keys of an algorithm support the scheme. RSA keys must be large enough for the digest and its padding.
    public func fits(_ algorithm: KeyAlgorithm) -> Bool {
        switch (family, algorithm) {
        case (.rsaPKCS1, .rsa(let bits)), (.rsaPSS, .rsa(let bits)): hasRoom(inModulusOf: bits)
        case (.rsaRaw, .rsa), (.ecdsa, .ec), (.ed25519, .ed25519): true
        default: false
        }
    }

    /// Whether the block of RFC 8017 section 9 fits into a modulus; always true for prepared input.
    private func hasRoom(inModulusOf bits: Int) -> Bool {
        guard let digest else { return true }
        // The salt, as long as the digest, and two bytes must fit into one bit less than the modulus.
        if family == .rsaPSS { return 2 * digest.count + 2 <= (bits + 6) / 8 }
        let size = (bits + 7) / 8
        // Called for each signature. Keys of 1024 bits or more have room for any DigestInfo, so none is built.
        return size >= 128 || digest.informationPrefix.count + digest.count + 11 <= size
    }

    /// Sets the padding on a context of EVP_DigestSignInit(3) or EVP_DigestVerifyInit(3).
    func configure(_ context: OpaquePointer?) throws(OpenSSLError) {
        switch family {
        case .ecdsa, .ed25519: return
        case .rsaRaw:
            try check("EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING))
        case .rsaPKCS1:
            try check("EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING))
        case .rsaPSS:
            try check(
                "EVP_PKEY_CTX_set_rsa_padding", unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING))
            try check(
                "EVP_PKEY_CTX_set_rsa_pss_saltlen",
                unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST))
        }
    }
}

/// An ECDSA signature in two forms: DER, as in X.509 and TLS, and `r || s`, as in PKCS#11 and JOSE.
public struct ECDSASignature: Hashable, Sendable {
    /// SEQUENCE of two INTEGERs.
    public let der: [UInt8]
    /// r and s, padded to the size of the curve and concatenated.
    public let raw: [UInt8]

    /// Creates a signature from `r || s`.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) for an empty or odd length.
    public init(raw: [UInt8]) throws(CryptoError) {
        guard !raw.isEmpty, raw.count % 2 == 0, raw.count <= 1024 else {
            throw CryptoError(.invalidInput, "r and s have the same length")
        }
        self.raw = raw
        der = Self.encoded(raw)
    }

    /// Encodes the signature into one allocation.
    ///
    /// A server does this for each signature, and `DERWriter` would need eight allocations.
    private static func encoded(_ raw: [UInt8]) -> [UInt8] {
        let half = raw.count / 2
        let numbers = [raw[..<half].drop { $0 == 0 }, raw[half...].drop { $0 == 0 }]
        // The first bit is the sign, and the number zero takes one byte.
        func count(_ number: ArraySlice<UInt8>) -> Int { number.count + (number.first ?? 0x80 >= 0x80 ? 1 : 0) }
        func header(_ tag: UInt8, _ count: Int, to der: inout [UInt8]) {
            der.append(tag)
            if count >= 0x100 {
                der += [0x82, UInt8(truncatingIfNeeded: count >> 8)]
            } else if count >= 0x80 {
                der.append(0x81)
            }
            der.append(UInt8(truncatingIfNeeded: count))
        }
        func headerCount(_ count: Int) -> Int { count >= 0x100 ? 4 : count >= 0x80 ? 3 : 2 }
        let content = numbers.reduce(0) { $0 + headerCount(count($1)) + count($1) }
        var der: [UInt8] = []
        der.reserveCapacity(headerCount(content) + content)
        header(0x30, content, to: &der)
        for number in numbers {
            header(0x02, count(number), to: &der)
            if count(number) > number.count { der.append(0) }
            der += number
        }
        return der
    }

    /// Decodes a signature from DER, for a curve whose order takes `size` bytes.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) if it is not such a signature.
    public init(der: [UInt8], size: Int) throws(CryptoError) {
        do {
            let numbers = try DERReader.single(der[...], tag: DERTag.sequence).children()
            guard numbers.count == 2, size > 0, size <= 512 else { throw DERError() }
            var raw: [UInt8] = []
            for number in numbers {
                let octets = number.content.drop { $0 == 0 }
                guard number.tag == DERTag.integer, octets.count <= size else { throw DERError() }
                raw += [UInt8](repeating: 0, count: size - octets.count) + octets
            }
            self.der = der
            self.raw = raw
        } catch {
            throw CryptoError(.invalidInput, "it is not an ECDSA signature of this size")
        }
    }
}

extension SignatureScheme {
    /// Sets the digest of the input on a context of EVP_PKEY_sign_init(3) or EVP_PKEY_verify_init(3).
    func announceDigest(_ context: OpaquePointer) throws(OpenSSLError) {
        guard let digest else { return }
        try unsafe digest.withAlgorithm { (algorithm) throws(OpenSSLError) in
            try check("EVP_PKEY_CTX_set_signature_md", unsafe EVP_PKEY_CTX_set_signature_md(context, algorithm))
        }
    }
}
