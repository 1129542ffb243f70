import COpenSSL
import Foundation
public import KeyfobPrimitives

/// The paddings of RFC 8017, for tokens that only offer the RSA primitive or lack the digest.
///
/// This code adds the padding before signing and removes it after decryption. The token performs the RSA primitive.
public enum RSAPadding {
    /// Returns the block to sign for a digest, for every RSA scheme. A PSS salt is random and as long as the digest.
    ///
    /// - Throws: `CryptoError`: `invalidInput` if the digest does not fit into a key of `bits`, `unsupportedKey` for a
    ///   scheme of another type; `OpenSSLError` if there is no randomness.
    public static func block(toSign digest: [UInt8], using scheme: SignatureScheme, bits: Int) throws -> [UInt8] {
        let size = (bits + 7) / 8
        let content: [UInt8]
        switch scheme.family {
        case .rsaRaw: content = digest
        case .rsaPKCS1:
            let information = scheme.digest.map { $0.informationPrefix + digest } ?? digest
            guard information.count <= size - 11 else { throw tooLong }
            content = [1] + [UInt8](repeating: 0xFF, count: size - information.count - 3) + [0] + information
        case .rsaPSS:
            guard let hash = scheme.digest, digest.count == hash.count else { throw tooLong }
            content = try pss(digest, hash, bits: bits - 1)
        case .ecdsa, .ed25519: throw CryptoError(.unsupportedKey, "\(scheme) is not a scheme of RSA")
        }
        guard content.count <= size else { throw tooLong }
        return [UInt8](repeating: 0, count: size - content.count) + content
    }

    /// Returns the message in a decrypted block, which has the size of the key.
    ///
    /// - Throws: `CryptoError` (`authenticationFailed`) if the block does not have the form of the scheme.
    public static func message(inDecrypted block: SecretBytes, using scheme: EncryptionScheme) throws -> SecretBytes {
        if scheme.family == .rsaRaw { return block }
        var length: Int32 = -1
        let whole = unsafe SecretBytes(count: block.count) { output in
            unsafe block.withUnsafeBytes { source in
                let bytes = unsafe source.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let count = Int32(source.count)
                // Both functions run in constant time.
                if let digest = scheme.digest {
                    unsafe digest.withAlgorithm { algorithm in
                        length = unsafe keyfob_rsa_open_oaep(output.baseAddress, count, bytes, count, algorithm)
                    }
                } else {
                    length = unsafe keyfob_rsa_open_pkcs1(output.baseAddress, count, bytes, count)
                }
            }
        }
        ERR_clear_error()
        guard length >= 0, Int(length) <= whole.count else {
            throw CryptoError(.authenticationFailed, "the ciphertext does not belong to this key")
        }
        return whole.prefix(Int(length))
    }

    /// Returns the input for EVP_PKEY_sign(3) and EVP_PKEY_verify(3): without padding, a whole block. `nil` if it is
    /// too long.
    static func padded(_ digest: [UInt8], _ scheme: SignatureScheme, _ algorithm: KeyAlgorithm) -> [UInt8]? {
        guard scheme.family == .rsaRaw, case .rsa(let bits) = algorithm else { return digest }
        let size = (bits + 7) / 8
        guard digest.count <= size else { return nil }
        return [UInt8](repeating: 0, count: size - digest.count) + digest
    }

    /// Returns a block for the RSA primitive that a message determines: a zero byte, and MGF1 with SHA-256 of it.
    ///
    /// It has none of the forms of RFC 8017.
    package static func hashedBlock(of message: [UInt8], bits: Int) -> [UInt8] {
        [0] + mask(message, count: (bits + 7) / 8 - 1, .sha256)
    }

    private static var tooLong: CryptoError { CryptoError(.invalidInput, "it does not fit into a key of this size") }

    /// EMSA-PSS (RFC 8017 9.1.1).
    private static func pss(_ digest: [UInt8], _ hash: Digest, bits: Int) throws -> [UInt8] {
        let size = (bits + 7) / 8
        guard size >= 2 * hash.count + 2 else { throw tooLong }
        let salt = try RandomBytes.bytes(count: hash.count)
        let summary = [UInt8](hash([UInt8](repeating: 0, count: 8) + digest + salt))
        var block = [UInt8](repeating: 0, count: size - 2 * hash.count - 2) + [1] + salt
        for (index, byte) in mask(summary, count: block.count, hash).enumerated() { block[index] ^= byte }
        block[0] &= 0xFF >> UInt8(8 * size - bits)
        return block + summary + [0xBC]
    }

    /// MGF1 (RFC 8017 B.2.1).
    private static func mask(_ seed: [UInt8], count: Int, _ hash: Digest) -> [UInt8] {
        var mask: [UInt8] = []
        var counter: UInt32 = 0
        while mask.count < count {
            mask += hash(seed + (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * $0)) })
            counter += 1
        }
        return Array(mask.prefix(count))
    }
}

extension Digest {
    /// The DigestInfo of RFC 8017 section 9.2 without the digest itself.
    public var informationPrefix: [UInt8] {
        let oid: [UInt8] = switch self {
        case .sha1: [0x2B, 0x0E, 0x03, 0x02, 0x1A]
        case .sha224: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04]
        case .sha256: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        case .sha384: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]
        default: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]
        }
        let algorithm = DERWriter.sequence(DERWriter.element(DERTag.objectIdentifier, oid), [DERTag.null, 0])
        // The lengths of the sequence and of the OCTET STRING include the digest, which follows.
        return [DERTag.sequence, UInt8(algorithm.count + 2 + count)] + algorithm + [DERTag.octetString, UInt8(count)]
    }
}
