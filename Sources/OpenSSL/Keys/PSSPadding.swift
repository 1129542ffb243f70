import Foundation

/// The padding of RSA-PSS, for tokens that can do no more than raw RSA.
public enum PSSPadding {
    /// Encodes a digest for an RSA key (EMSA-PSS-ENCODE, RFC 8017 9.1.1): MGF1 over the same hash and a fresh random
    /// salt as long as the digest.
    ///
    /// - Parameters:
    ///   - digest: The digest of the message, made with `hash`.
    ///   - modulusBits: The size of the key's modulus in bits.
    /// - Returns: As many bytes as the modulus has, for the raw private key operation (RSASP1).
    /// - Throws: `CryptoError`: `invalidInput` for a digest of another length, `unsupportedKey` where the modulus is too
    ///   small for the hash; `OpenSSLError` where there are no random bytes.
    public static func encode(digest: [UInt8], hash: Digest, modulusBits: Int) throws -> [UInt8] {
        guard digest.count == hash.count else {
            throw CryptoError(.invalidInput, "the digest has another length than \(hash) gives")
        }
        let encodedBits = modulusBits - 1
        let count = (encodedBits + 7) / 8
        guard modulusBits <= 1 << 16, count >= 2 * hash.count + 2 else {
            throw CryptoError(.unsupportedKey, "RSA of \(modulusBits) bits is too small for PSS with \(hash)")
        }
        let salt = try RandomBytes.bytes(count: hash.count)
        let seal = [UInt8](hash([UInt8](repeating: 0, count: 8) + digest + salt))
        var block = [UInt8](repeating: 0, count: count - 2 * hash.count - 2) + [1] + salt
        for (index, mask) in self.mask(seed: seal, count: block.count, hash: hash).enumerated() { block[index] ^= mask }
        // The number must be smaller than the modulus: its surplus leading bits are zero.
        block[0] &= 0xFF >> UInt8(8 * count - encodedBits)
        let surplus = (modulusBits + 7) / 8 - count
        return [UInt8](repeating: 0, count: surplus) + block + seal + [0xBC]
    }

    /// MGF1 (RFC 8017 B.2.1).
    private static func mask(seed: [UInt8], count: Int, hash: Digest) -> ArraySlice<UInt8> {
        var result: [UInt8] = []
        var counter: UInt32 = 0
        while result.count < count {
            let number = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> UInt32($0)) }
            result += hash(seed + number)
            counter += 1
        }
        return result.prefix(count)
    }
}
