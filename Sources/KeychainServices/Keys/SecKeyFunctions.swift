public import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

// What is done with keys; SecKey.h. Calls with a key on a token block for the token, and any thread may make them.

/// Makes a signature.
///
/// - Parameters:
///   - key: A private key.
///   - algorithm: What `dataToSign` is, and how it is signed.
///   - dataToSign: A message, or a digest of the length that the algorithm has.
///   - error: Takes `errSecParam` for an algorithm that the key does not support, a digest of another length, or data
///     that is too long; else what the token refuses. The caller owns it.
/// - Returns: The signature; `nil` where there is an error.
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
///   - algorithm: What `signedData` is, and how it was signed.
///   - signedData: The message or digest.
///   - signature: The signature.
///   - error: Takes `errSecVerifyFailed` where the signature is not the key's, and as `SecKeyCreateSignature`.
/// - Returns: Whether the signature is the key's.
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

/// Encrypts for the holder of the private key.
///
/// - Parameters:
///   - key: A public key.
///   - algorithm: How to encrypt.
///   - plaintext: The message; how long it may be depends on the algorithm.
///   - error: As `SecKeyCreateSignature`.
/// - Returns: The ciphertext; `nil` where there is an error.
@discardableResult
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingKeyErrors(error) { Data(try key.encrypt([UInt8](plaintext as Data), algorithm)) as CFData }
}

/// Decrypts what was encrypted for a key.
///
/// - Parameters:
///   - key: The private key; with `rsaEncryptionRaw` also a public key.
///   - algorithm: How it was encrypted.
///   - ciphertext: The ciphertext.
///   - error: As `SecKeyCreateSignature`; `errSecParam` also for a ciphertext that is not for this key.
/// - Returns: The message, which nobody wipes; `nil` where there is an error.
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
///   - algorithm: How to agree.
///   - publicKey: The other side's key, on the same curve.
///   - parameters: `SecKeyKeyExchangeParameter.requestedSize`, which the algorithms with a KDF need, and `sharedInfo`.
///   - error: As `SecKeyCreateSignature`.
/// - Returns: The x coordinate of the shared point, or what the KDF makes of it; `nil` where there is an error.
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

/// Whether a key can do something with an algorithm.
///
/// - Parameters:
///   - key: The key.
///   - operation: What is to be done.
///   - algorithm: How.
@discardableResult
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    KeyScheme(algorithm)?.isSupported(by: key, for: operation) ?? false
}

/// Runs `body` as `reporting` does; what is wrong with a key or with the input of an operation is a bad argument.
func reportingKeyErrors<Result>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ body: () throws -> Result
) -> Result? {
    unsafe reporting(error) { try translatingKeyErrors(body) }
}

/// Runs `body`; what is wrong with a key or with the input of an operation is a bad argument. - Throws: `StatusError`
/// and what else `body` throws.
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
