package import KeyfobOpenSSL

/// A signature algorithm of the SSH protocol: RFC 5656 3.1.2, RFC 8332 3, RFC 8709 6.
package struct SSHSignatureFormat: Sendable {
    /// The flags of a request to sign that choose the hash for an RSA key.
    package enum Flag {
        /// SSH_AGENT_RSA_SHA2_256.
        package static let rsaSHA256: UInt32 = 2
        /// SSH_AGENT_RSA_SHA2_512.
        package static let rsaSHA512: UInt32 = 4
    }

    /// The name of the algorithm.
    package let name: String
    /// How the key signs.
    package let scheme: SignatureScheme
    /// The size of r and s in bytes; `nil` unless the algorithm is ECDSA.
    private let size: Int?

    /// The algorithm for a key and the flags of a request; `nil` if there is none.
    ///
    /// Without a flag, RSA would mean SHA-1 (`ssh-rsa`), which is refused. Other keys have one algorithm each.
    package init?(_ algorithm: KeyAlgorithm, flags: UInt32) {
        switch algorithm {
        case .rsa where flags & Flag.rsaSHA256 != 0: self.init("rsa-sha2-256", .rsaPKCS1(.sha256))
        case .rsa where flags & Flag.rsaSHA512 != 0: self.init("rsa-sha2-512", .rsaPKCS1(.sha512))
        case .ec(let curve):
            let digests: [NamedCurve: Digest] = [.p256: .sha256, .p384: .sha384, .p521: .sha512]
            guard let curveName = OpenSSHKey.curveName(curve), let digest = digests[curve], let bits = curve.bits else {
                return nil
            }
            self.init("ecdsa-sha2-" + curveName, .ecdsa(digest), size: (bits + 7) / 8)
        case .ed25519: self.init("ssh-ed25519", .ed25519)
        case .rsa, .other: return nil
        }
    }

    private init(_ name: String, _ scheme: SignatureScheme, size: Int? = nil) {
        self.name = name
        self.scheme = scheme
        self.size = size
    }

    /// Converts a signature from the form that X.509 uses to that of the protocol.
    ///
    /// - Throws: `CryptoError` for an ECDSA signature that is not valid DER.
    package func encoded(_ signature: [UInt8]) throws -> [UInt8] {
        var content = signature
        if let size {
            let raw = try ECDSASignature(der: signature, size: size).raw
            var numbers = SSHWriter()
            numbers.append(positive: raw.prefix(size))
            numbers.append(positive: raw.suffix(size))
            content = numbers.bytes
        }
        var writer = SSHWriter()
        writer.append(string: name.utf8)
        writer.append(string: content)
        return writer.bytes
    }
}
