import Foundation
package import KeyfobOpenSSL
package import KeyfobPrimitives
package import PKCS11

/// `ECDH-ES+A256KW` (RFC 7518 section 4.6): the token agrees on a secret with an ephemeral key, which wraps the key.
///
/// The wrapped form is the uncompressed point of the ephemeral key and 40 bytes of AES key wrap (RFC 3394). New keys
/// are on P-256; a given key may also be on P-384 or P-521.
package struct ECDHKeyWrap: PublicKeyWrapSuite {
    package var name: String { "ECDH-ES+A256KW" }

    /// The length of a wrapped 32-byte key (RFC 3394).
    private static let wrappedCount = 40

    /// The first byte of an uncompressed point (SEC 1 section 2.3.3).
    private static let uncompressed: UInt8 = 4

    package var mechanisms: [MechanismType] { [.ecKeyPairGeneration, .ecdh1Derive] }

    package func fits(_ key: TokenObject) -> Bool { key.objectClass == .privateKey && key.keyType == .ec }

    package func generateKey(
        label: String, id: [UInt8], in session: borrowing Session
    ) throws -> (key: ObjectHandle, publicKey: ObjectHandle?) {
        let pair = try session.generateKeyPair(
            Mechanism(.ecKeyPairGeneration),
            publicTemplate: .wrappingKey(
                .publicKey, label: label, id: id, adding: [.ecParameters(EllipticCurve.p256.parametersDER)]),
            privateTemplate: .wrappingKey(.privateKey, label: label, id: id, adding: [.derive(true)]))
        return (pair.privateKey, pair.publicKey)
    }

    package func wrap(_ key: SecretBytes, for publicKey: PublicKey) throws -> [UInt8] {
        try publicKey.validate()
        let ephemeral = try PrivateKey.generate(publicKey.algorithm)
        let secret = try ephemeral.sharedSecret(with: publicKey)
        return [UInt8](ephemeral.publicKey.bits) + (try AESKeyWrap.wrap(key, key: wrappingKey(from: secret)))
    }

    package func unwrap(
        _ bytes: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        let count = bytes.count - Self.wrappedCount
        guard case .ec(let curve) = try wrappingKey.known.algorithm, EllipticCurve(curve) != nil,
            Self.curve(ofPoint: count) != nil, bytes[0] == Self.uncompressed
        else {
            throw KeychainError.damagedItem(cause: nil)
        }
        do {
            let other = try PublicKey(ecPoint: Data(bytes[..<count]), curve: curve)
            let secret = try KeyAgreement.secret(of: wrappingKey.handle, with: other, in: session)
            return try AESKeyWrap.unwrap(Array(bytes[count...]), key: self.wrappingKey(from: secret))
        } catch let error where error.isAboutContent {
            throw KeychainError.damagedItem(cause: error)
        }
    }

    /// The x coordinate of the product of the private key and a point that the message determines. The private key of
    /// that point is unknown.
    package func privateNumber(
        for message: [UInt8], with wrappingKey: WrappingKey, in session: borrowing Session
    ) throws -> SecretBytes {
        guard case .ec(let curve) = try wrappingKey.known.algorithm else { throw KeychainError.damagedItem(cause: nil) }
        let point = try PublicKey(hashing: message, onto: curve)
        return try KeyAgreement.secret(of: wrappingKey.handle, with: point, in: session)
    }

    /// Derives the key of the AES key wrap from the shared secret (RFC 7518 section 4.6.2).
    ///
    /// The other information is the algorithm, two empty party names, and the length of the key in bits.
    private func wrappingKey(from secret: SecretBytes) throws -> SecretBytes {
        let algorithm = Array(name.utf8)
        let otherInfo = UInt32(algorithm.count).bigEndianBytes + algorithm + UInt32(0).bigEndianBytes
            + UInt32(0).bigEndianBytes + UInt32(256).bigEndianBytes
        return try ConcatKDF.derive(secret: secret, otherInfo: otherInfo, count: 32)
    }

    package func members(
        of bytes: [UInt8]
    ) -> (header: [(name: String, value: JOSEHeaderValue)], encryptedKey: [UInt8]) {
        let count = bytes.count - Self.wrappedCount
        guard count > 2, let curve = Self.curve(ofPoint: count) else { return ([], bytes) }
        let half = (count - 1) / 2
        return (
            [
                (
                    "epk",
                    .object([
                        .init("kty", "EC"), .init("crv", curve), .init("x", Base64URL.encode(bytes[1...half])),
                        .init("y", Base64URL.encode(bytes[(half + 1)..<count])),
                    ])
                )
            ], Array(bytes[count...])
        )
    }

    /// The JOSE name of the curve whose uncompressed points have a length.
    private static func curve(ofPoint count: Int) -> String? {
        [65: "P-256", 97: "P-384", 133: "P-521"][count]
    }
}
