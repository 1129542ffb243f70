import Foundation

/// The part of a request or certificate to be signed by a key that may be outside this process.
///
/// Requests and certificates differ in what is signed and in the result, not in how they are signed.
struct ToBeSigned: Hashable, Sendable {
    /// The DER to be signed.
    let bytes: [UInt8]
    /// The key that must sign.
    let signer: PublicKey
    let scheme: SignatureScheme
    private let algorithm: [UInt8]

    /// - Throws: `CryptoError` (`unsupportedKey`) if the scheme does not fit the key; the errors of `build`.
    init(signer: PublicKey, scheme: SignatureScheme?, _ build: (_ algorithm: [UInt8]) throws -> [UInt8]) throws {
        guard let scheme = scheme ?? .preferred(for: signer.algorithm), scheme.fits(signer.algorithm) else {
            throw CryptoError(.unsupportedKey, "a key of kind \(signer.algorithm) cannot sign this way")
        }
        self.scheme = scheme
        self.signer = signer
        algorithm = try scheme.algorithmIdentifier()
        bytes = try build(algorithm)
    }

    /// Returns the signed structure in DER, after verifying the signature.
    ///
    /// The check catches a closure that signed other bytes or with another key.
    ///
    /// - Throws: `CryptoError` (`authenticationFailed`) if the signature is not valid for the key.
    func completed(_ signature: [UInt8]) throws -> Data {
        guard try signer.verify(signature, of: bytes, using: scheme) else {
            throw CryptoError(.authenticationFailed, "the signature is not the key's")
        }
        return Data(DERWriter.sequence(bytes, algorithm, DERWriter.bitString(signature)))
    }
}
