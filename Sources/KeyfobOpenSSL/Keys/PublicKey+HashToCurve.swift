import Foundation
import KeyfobPrimitives

extension PublicKey {
    /// A point with an unknown private key: the first one whose x coordinate is a hash of `message` and a counter.
    ///
    /// The private key of another point on the curve maps it to a secret that only its holder can compute. The search
    /// is not in constant time, so `message` must be public.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - curve: P-256, P-384 or P-521.
    /// - Returns: The point.
    /// - Throws: `CryptoError` with code `unsupportedKey` for another curve; `OpenSSLError` if libcrypto fails.
    package init(hashing message: [UInt8], onto curve: NamedCurve) throws {
        guard let bits = curve.bits, curve != .secp256k1 else {
            throw CryptoError(.unsupportedKey, "messages are not hashed onto \(curve)")
        }
        let count = (bits + 7) / 8
        for counter in UInt8.min...UInt8.max {
            var x = [UInt8](try HKDF.derive(
                key: SecretBytes(message), salt: [], info: [counter], count: count).copyData())
            x[0] &= 0xFF >> UInt8(count * 8 - bits)
            let point = try PublicKey(ecPoint: Data([2] + x), curve: curve)
            // About half of all x coordinates belong to a point.
            if point.isOnCurve { self = point; return }
        }
        throw CryptoError(.unsupportedKey, "no point on \(curve) has an x coordinate of this message")
    }

    private var isOnCurve: Bool {
        do {
            try validate()
            return true
        } catch {
            return false
        }
    }
}
