import Foundation
package import KeyfobOpenSSL
package import KeyfobPrimitives
package import PKCS11

/// `RSA-OAEP` and `RSA-OAEP-256` (RFC 7518 section 4.3): the token decrypts with an RSA key.
///
/// The wrapped form is the ciphertext of RFC 8017 section 7.1. If the token refuses the padding, as SoftHSM does with
/// SHA-256, it does raw RSA, and Keyfob removes the padding in constant time.
package struct RSAOAEPKeyWrap: PublicKeyWrapSuite {
    /// The hash of the padding: SHA-256, or SHA-1, which is safe within OAEP and which every token supports.
    private let hash: Digest

    package init(hash: Digest) { self.hash = hash }

    package var name: String { hash == .sha1 ? "RSA-OAEP" : "RSA-OAEP-256" }

    /// The sizes of new keys in bits, in the order in which they are tried. Many TPMs have no keys above 2048 bits.
    private static let sizes = [3072, 2048]

    /// The size in bits that RFC 7518 section 4.3 requires.
    private static let smallest = 2048

    package var mechanisms: [MechanismType] { [.rsaPKCSKeyPairGeneration, .rsaX509] }

    package func fits(_ key: TokenObject) -> Bool { key.objectClass == .privateKey && key.keyType == .rsa }

    package func generateKey(
        label: String, id: [UInt8], in session: borrowing Session
    ) throws -> (key: ObjectHandle, publicKey: ObjectHandle?) {
        func generate(_ size: Int) throws -> (key: ObjectHandle, publicKey: ObjectHandle?) {
            let pair = try session.generateKeyPair(
                Mechanism(.rsaPKCSKeyPairGeneration),
                publicTemplate: .wrappingKey(
                    .publicKey, label: label, id: id,
                    adding: [.modulusBits(UInt(size)), .publicExponent([1, 0, 1]), .encrypt(true)]),
                privateTemplate: .wrappingKey(.privateKey, label: label, id: id, adding: [.decrypt(true)]))
            return (pair.privateKey, pair.publicKey)
        }
        do { return try generate(Self.sizes[0]) } catch let error as PKCS11Error where error.isRefusalOfSuite {
            return try generate(Self.sizes[1])
        }
    }

    package func wrap(_ key: SecretBytes, for publicKey: PublicKey) throws -> [UInt8] {
        guard case .rsa(let bits) = publicKey.algorithm, bits >= Self.smallest else {
            throw KeychainError(
                .mechanismUnsupported, "the RSA key has fewer than \(Self.smallest) bits",
                details: ["minimum": String(Self.smallest)])
        }
        return try publicKey.encryptOAEP(key, hash: hash)
    }

    package func unwrap(
        _ bytes: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        if let hash = HashAlgorithm(hash) {
            do throws(PKCS11Error) {
                return try session.decryptSecret(bytes, with: wrappingKey.handle, using: .rsaOAEP(hash: hash))
            } catch {
                guard error.function == .decryptInit, error.isRefusalOfSuite else { throw error }
            }
        }
        let block = try session.decryptSecret(bytes, with: wrappingKey.handle, using: Mechanism(.rsaX509))
        do { return try RSAPadding.message(inDecrypted: block, using: .rsaOAEP(hash)) } catch {
            throw KeychainError.damagedItem(cause: error)
        }
    }

    /// The raw RSA operation (RFC 8017 section 5.1.2) on a block that is as random as a hash.
    ///
    /// The block has no form of a signature or of an encrypted message, so no other use of the key computes the number.
    package func privateNumber(
        for message: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        let publicKey = try wrappingKey.known
        guard case .rsa(let bits) = publicKey.algorithm, bits >= Self.smallest else {
            throw KeychainError.damagedItem(cause: nil)
        }
        let block = RSAPadding.hashedBlock(of: message + publicKey.subjectPublicKeyInfo, bits: bits)
        let number = try session.decryptSecret(block, with: wrappingKey.handle, using: Mechanism(.rsaX509))
        guard try publicKey.encrypt(number, using: .rsaRaw) == block else {
            throw KeychainError(
                .vaultDamaged, "the number that the token computed does not belong to the public key in the vault.")
        }
        return number
    }
}
