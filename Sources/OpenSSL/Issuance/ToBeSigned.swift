import Foundation

/// Something that wants a signature: its bytes are handed out, and whoever has the key signs them, wherever it is.
///
/// A request and a certificate differ in what is signed and in what comes of it, not in how they are signed.
struct ToBeSigned: Hashable, Sendable {
    /// The DER that is signed.
    let bytes: [UInt8]
    /// The key whose signature it takes.
    let signer: PublicKey
    let scheme: SignatureScheme
    private let algorithm: [UInt8]

    /// - Throws: `CryptoError` (`unsupportedKey`) where the scheme is not one for the key.
    init(signer: PublicKey, scheme: SignatureScheme?, _ build: (_ algorithm: [UInt8]) throws -> [UInt8]) throws {
        guard let scheme = scheme ?? .preferred(for: signer.algorithm), scheme.fits(signer.algorithm) else {
            throw CryptoError(.unsupportedKey, "a key of kind \(signer.algorithm) cannot sign this way")
        }
        self.scheme = scheme
        self.signer = signer
        algorithm = try scheme.algorithmIdentifier()
        bytes = try build(algorithm)
    }

    /// The whole in DER, after the check that the signature is the key's: a closure that signed with another key, or
    /// something else, must not give a certificate that nobody can use.
    ///
    /// - Throws: `CryptoError` (`authenticationFailed`) where it is not.
    func completed(_ signature: [UInt8]) throws -> Data {
        guard try signer.verify(signature, of: bytes, using: scheme) else {
            throw CryptoError(.authenticationFailed, "the signature is not the key's")
        }
        return Data(DERWriter.sequence(bytes, algorithm, DERWriter.bitString(signature)))
    }
}
