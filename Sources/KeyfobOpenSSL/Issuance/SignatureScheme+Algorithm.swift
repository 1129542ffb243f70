/// The algorithm identifiers and names of schemes in X.509.
extension SignatureScheme {
    /// Returns the default scheme for a type of key; `nil` for keys that cannot sign here.
    ///
    /// It is PKCS#1 v1.5 with SHA-256 for RSA, which all verifiers support, and for EC a digest as long as the curve.
    public static func preferred(for key: KeyAlgorithm) -> SignatureScheme? {
        switch key {
        case .rsa: .rsaPKCS1(.sha256)
        case .ec(.p384): .ecdsa(.sha384)
        case .ec(.p521): .ecdsa(.sha512)
        case .ec(let curve) where curve.bits != nil: .ecdsa(.sha256)
        case .ed25519: .ed25519
        default: nil
        }
    }

    /// A display name, such as "ECDSA SHA-256".
    public var displayName: String {
        let hash: String = switch digest {
        case .some(.sha1): "SHA-1"
        case .some(.sha224): "SHA-224"
        case .some(.sha256): "SHA-256"
        case .some(.sha384): "SHA-384"
        case .some(.sha512): "SHA-512"
        default: ""
        }
        return switch family {
        case .rsaRaw: "RSA"
        case .rsaPKCS1: "RSA \(hash)"
        case .rsaPSS: "RSA-PSS \(hash)"
        case .ecdsa: "ECDSA \(hash)"
        case .ed25519: "Ed25519"
        }
    }

    /// Returns the AlgorithmIdentifier in DER (RFC 4055, RFC 5758, RFC 8410).
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for SHA-1, which is not used for new signatures.
    func algorithmIdentifier() throws(CryptoError) -> [UInt8] {
        guard family != .ed25519 else { return DERWriter.sequence(KeyAlgorithm.ed25519OID.der ?? []) }
        // The last arcs of the digests in RFC 4055, RFC 5758 and the NIST registry.
        let numbers: (rsa: Int, ecdsa: Int, hash: Int)? = switch digest {
        case .some(.sha224): (14, 1, 4)
        case .some(.sha256): (11, 2, 1)
        case .some(.sha384): (12, 3, 2)
        case .some(.sha512): (13, 4, 3)
        default: nil
        }
        guard let numbers, let digest, family != .rsaRaw else {
            throw CryptoError(.unsupportedKey, "certificates are signed with SHA-2")
        }
        let null: [UInt8] = [DERTag.null, 0]
        func identifier(_ oid: String) -> [UInt8] { OID(rawValue: oid).der ?? [] }
        switch family {
        case .rsaPKCS1: return DERWriter.sequence(identifier("1.2.840.113549.1.1.\(numbers.rsa)"), null)
        case .ecdsa: return DERWriter.sequence(identifier("1.2.840.10045.4.3.\(numbers.ecdsa)"))
        case .ed25519, .rsaRaw, .rsaPSS:
            let hash = DERWriter.sequence(identifier("2.16.840.1.101.3.4.2.\(numbers.hash)"), null)
            let generator = DERWriter.sequence(identifier("1.2.840.113549.1.1.8"), hash)
            let parameters = DERWriter.sequence(
                DERWriter.element(0xA0, hash), DERWriter.element(0xA1, generator),
                DERWriter.element(0xA2, DERWriter.unsignedInteger([UInt8(digest.count)])))
            return DERWriter.sequence(identifier("1.2.840.113549.1.1.10"), parameters)
        }
    }
}
