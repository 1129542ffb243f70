public import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

// Operations with keys; SecKey.h. Any thread may call these functions. They block for the token if a key is on one.

/// Signs a message or a digest.
///
/// - Parameters:
///   - key: A private key.
///   - algorithm: The kind of `dataToSign` and the signature scheme.
///   - dataToSign: A message, or a digest of the length that the algorithm requires.
///   - error: Receives the error, owned by the caller: `errSecParam` for an algorithm that the key does not support, a
///     digest of another length, or data that is too long; or an error of the token.
/// - Returns: The signature; `nil` on error.
@discardableResult
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingKeyErrors(error) { Data(try key.sign([UInt8](dataToSign as Data), algorithm)) as CFData }
}

/// Verifies a signature.
///
/// - Parameters:
///   - key: The public key, or the private key that it belongs to.
///   - algorithm: The kind of `signedData` and the signature scheme.
///   - signedData: The message or digest.
///   - signature: The signature.
///   - error: Receives the error, owned by the caller: `errSecVerifyFailed` if the signature is invalid, `errSecParam`
///     for an algorithm that the key does not support or a digest of another length.
/// - Returns: Whether the signature is valid.
@discardableResult
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    unsafe reportingKeyErrors(error) {
        guard try key.verify([UInt8](signature as Data), of: [UInt8](signedData as Data), algorithm) else {
            throw StatusError(errSecVerifyFailed, "the signature is not this key's")
        }
        return true
    } ?? false
}

/// Encrypts a message for the holder of the private key.
///
/// - Parameters:
///   - key: A public key.
///   - algorithm: The encryption scheme.
///   - plaintext: The message; the algorithm limits its length.
///   - error: Receives the error, owned by the caller: `errSecParam` for an algorithm that the key does not support, or
///     a message that is too long.
/// - Returns: The ciphertext; `nil` on error.
@discardableResult
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingKeyErrors(error) { Data(try key.encrypt([UInt8](plaintext as Data), algorithm)) as CFData }
}

/// Decrypts a message that was encrypted for a key.
///
/// - Parameters:
///   - key: The private key; with `rsaEncryptionRaw` also a public key.
///   - algorithm: The encryption scheme.
///   - ciphertext: The ciphertext.
///   - error: Receives the error, owned by the caller: `errSecParam` for an algorithm that the key does not support, or
///     a ciphertext that is not for this key; or an error of the token.
/// - Returns: The message, in memory that is not wiped; `nil` on error.
@discardableResult
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingKeyErrors(error) {
        try key.decrypt([UInt8](ciphertext as Data), algorithm).copyData() as CFData
    }
}

/// Agrees on a secret with the holder of another key.
///
/// - Parameters:
///   - privateKey: This side's key.
///   - algorithm: The key agreement scheme.
///   - publicKey: The other side's key, on the same curve.
///   - parameters: `SecKeyKeyExchangeParameter.requestedSize`, which the algorithms with a KDF need, and `sharedInfo`.
///   - error: Receives the error, owned by the caller: `errSecParam` for an algorithm that the key does not support, a
///     key on another curve, or a missing size; or an error of the token.
/// - Returns: The x coordinate of the shared point, or the key that the KDF derives from it; `nil` on error.
@discardableResult
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingKeyErrors(error) {
        let size = parameters.object(forKey: SecKeyKeyExchangeParameter.requestedSize.rawValue)
        let info = parameters.object(forKey: SecKeyKeyExchangeParameter.sharedInfo.rawValue)
        guard info == nil || info is Data else { throw StatusError.parameter("the shared information is not data") }
        let count = (size as? NSNumber).flatMap { AttributeCoding.whole($0) }.map { Int($0) }
        return try privateKey.exchange(
            with: publicKey, algorithm, count: count,
            sharedInfo: (info as? Data).map { [UInt8]($0) } ?? []
        ).copyData() as CFData
    }
}

/// Whether a key supports an algorithm for an operation.
///
/// - Parameters:
///   - key: The key.
///   - operation: The operation.
///   - algorithm: The algorithm.
@discardableResult
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    KeyScheme(algorithm)?.isSupported(by: key, for: operation) ?? false
}

/// Runs `body` as `reporting` does. Errors in a key or in the input of an operation become `errSecParam`.
func reportingKeyErrors<Result>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ body: () throws -> Result
) -> Result? {
    unsafe reporting(error) { try translatingKeyErrors(body) }
}

/// Runs `body`. Errors in a key or in the input of an operation become `errSecParam`.
///
/// - Throws: `StatusError`, and the other errors of `body`.
func translatingKeyErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as CryptoError {
        throw StatusError(errSecParam, error.description)
    } catch let error as PKCS12Error {
        throw StatusError(errSecParam, error.description)
    } catch let error as KeyFileError {
        throw StatusError(errSecParam, error.description)
    } catch let error as OpenSSLError {
        throw StatusError(errSecParam, error.description)
    } catch let error as KeychainError where error.code == .mechanismUnsupported {
        throw StatusError(errSecParam, error.message)
    }
}
