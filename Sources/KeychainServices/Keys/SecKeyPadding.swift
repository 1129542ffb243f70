import Foundation
import KeyfobPrimitives

// The functions of SecKey.h from before algorithms had names. Apple has deprecated them, but much code still calls
// them. They write into the caller's memory and block for the token if the key is on one.

/// Signs a digest or a block.
///
/// - Parameters:
///   - key: A private key.
///   - padding: For RSA none, `PKCS1`, or `PKCS1SHA…` for a digest; for elliptic curves `sigRaw` for r and s
///     concatenated, anything else for DER.
///   - dataToSign: The digest or the block.
///   - dataToSignLen: Its length in bytes.
///   - sig: Receives the signature.
///   - sigLen: The capacity of `sig` in bytes; receives the length of the signature.
/// - Returns: `errSecSuccess`; `errSecParam` if the key does not support the padding, the input has the wrong length,
///   or `sig` is too small; or an error of the token.
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>, _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe storing(sig, sigLen) {
        let data = try unsafe bytes(dataToSign, dataToSignLen)
        return Data(try key.sign(data, LegacyAlgorithm.signature(padding, key)))
    }
}

/// Verifies a signature over a digest or a block.
///
/// - Parameters:
///   - key: The public key, or the private key that it belongs to.
///   - padding: The padding that `SecKeyRawSign` was given.
///   - signedData: The digest or the block.
///   - signedDataLen: Its length in bytes.
///   - sig: The signature.
///   - sigLen: Its length in bytes.
/// - Returns: `errSecSuccess`; `errSSLCrypto` if the signature is invalid, `errSecParam` if the key does not support
///   the padding or the digest has the wrong length.
@discardableResult
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>, _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    do {
        return try translatingKeyErrors {
            let (data, signature) = (try unsafe bytes(signedData, signedDataLen), try unsafe bytes(sig, sigLen))
            let isRight = try key.verify(signature, of: data, LegacyAlgorithm.signature(padding, key))
            return isRight ? errSecSuccess : errSSLCrypto
        }
    } catch { return OSStatus(error) }
}

/// Encrypts a block with RSA.
///
/// - Parameters:
///   - key: A public key.
///   - padding: None, `PKCS1`, or `OAEP` with SHA-1.
///   - plainText: The block.
///   - plainTextLen: Its length in bytes.
///   - cipherText: Receives the ciphertext.
///   - cipherTextLen: The capacity of `cipherText` in bytes; receives the length of the ciphertext.
/// - Returns: `errSecSuccess`; `errSecParam` if the key does not support the padding, the block is too long, or
///   `cipherText` is too small.
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>, _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe storing(cipherText, cipherTextLen) {
        Data(try key.encrypt(unsafe bytes(plainText, plainTextLen), LegacyAlgorithm.encryption(padding)))
    }
}

/// Decrypts a block with RSA.
///
/// - Parameters:
///   - key: The private key.
///   - padding: None, `PKCS1`, or `OAEP` with SHA-1.
///   - cipherText: The ciphertext.
///   - cipherTextLen: Its length in bytes.
///   - plainText: Receives the block, which is not wiped.
///   - plainTextLen: The capacity of `plainText` in bytes; receives the length of the block.
/// - Returns: `errSecSuccess`; `errSecParam` if the key does not support the padding, the ciphertext is not for this
///   key, or `plainText` is too small; or an error of the token.
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>, _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe storing(plainText, plainTextLen) {
        try key.decrypt(unsafe bytes(cipherText, cipherTextLen), LegacyAlgorithm.encryption(padding)).copyData()
    }
}

/// Copies the bytes of a caller.
///
/// - Throws: `StatusError` (`errSecParam`) for a negative length.
private func bytes(_ start: UnsafePointer<UInt8>, _ count: Int) throws(StatusError) -> [UInt8] {
    guard count >= 0 else { throw .parameter("a length is negative") }
    return unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
}

/// Runs a call and copies its result into the caller's memory.
private func storing(
    _ target: UnsafeMutablePointer<UInt8>, _ count: UnsafeMutablePointer<Int>, _ call: () throws -> Data
) -> OSStatus {
    do {
        let result = try translatingKeyErrors(call)
        guard unsafe result.count <= count.pointee else { return errSecParam }
        unsafe result.copyBytes(to: target, count: result.count)
        unsafe count.pointee = result.count
        return errSecSuccess
    } catch { return OSStatus(error) }
}

/// The algorithms for the paddings.
private enum LegacyAlgorithm {
    static func signature(_ padding: SecPadding, _ key: SecKey) throws(StatusError) -> SecKeyAlgorithm {
        guard key.isRSA else {
            return padding == .sigRaw ? .ecdsaSignatureDigestRFC4754 : .ecdsaSignatureDigestX962
        }
        switch padding {
        case []: return .rsaSignatureRaw
        case .PKCS1: return .rsaSignatureDigestPKCS1v15Raw
        case .PKCS1SHA1: return .rsaSignatureDigestPKCS1v15SHA1
        case .PKCS1SHA224: return .rsaSignatureDigestPKCS1v15SHA224
        case .PKCS1SHA256: return .rsaSignatureDigestPKCS1v15SHA256
        case .PKCS1SHA384: return .rsaSignatureDigestPKCS1v15SHA384
        case .PKCS1SHA512: return .rsaSignatureDigestPKCS1v15SHA512
        default: throw .parameter("this is not a padding of signatures")
        }
    }

    static func encryption(_ padding: SecPadding) throws(StatusError) -> SecKeyAlgorithm {
        switch padding {
        case []: return .rsaEncryptionRaw
        case .PKCS1: return .rsaEncryptionPKCS1
        case .OAEP: return .rsaEncryptionOAEPSHA1
        default: throw .parameter("this is not a padding of encryption")
        }
    }
}
