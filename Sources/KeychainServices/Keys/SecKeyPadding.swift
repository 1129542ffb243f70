import Foundation
import KeyfobPrimitives

// The functions that were there before algorithms had names; SecKey.h. Apple has deprecated them; much code calls them
// still. They write into memory of the caller's and block as the newer ones do.

/// Signs a digest or a block.
///
/// - Parameters:
///   - key: A private key.
///   - padding: For RSA none, `PKCS1`, or `PKCS1SHA…` for a digest; for elliptic curves `sigRaw` for r and s side by
///     side, anything else for DER.
///   - dataToSign: The digest or the block.
///   - dataToSignLen: How many bytes it has.
///   - sig: Takes the signature.
///   - sigLen: How many bytes there is room for; takes how many the signature has.
/// - Returns: As `SecKeyCreateSignature`; `errSecParam` where there is not room enough.
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
///   - padding: As for `SecKeyRawSign`.
///   - signedData: The digest or the block.
///   - signedDataLen: How many bytes it has.
///   - sig: The signature.
///   - sigLen: How many bytes it has.
/// - Returns: `errSecSuccess`; `errSSLCrypto` where the signature is not the key's, else as `SecKeyVerifySignature`.
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
///   - plainTextLen: How many bytes it has.
///   - cipherText: Takes the ciphertext.
///   - cipherTextLen: How many bytes there is room for; takes how many the ciphertext has.
/// - Returns: As `SecKeyCreateEncryptedData`; `errSecParam` where there is not room enough.
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>, _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe storing(cipherText, cipherTextLen) {
        Data(try key.encrypt(unsafe bytes(plainText, plainTextLen), LegacyAlgorithm.encryption(padding)))
    }
}

/// Decrypts a block of RSA.
///
/// - Parameters:
///   - key: The private key.
///   - padding: As for `SecKeyEncrypt`.
///   - cipherText: The ciphertext.
///   - cipherTextLen: How many bytes it has.
///   - plainText: Takes the block, which nobody wipes.
///   - plainTextLen: How many bytes there is room for; takes how many the block has.
/// - Returns: As `SecKeyCreateDecryptedData`; `errSecParam` where there is not room enough.
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>, _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe storing(plainText, plainTextLen) {
        try key.decrypt(unsafe bytes(cipherText, cipherTextLen), LegacyAlgorithm.encryption(padding)).copyData()
    }
}

/// The bytes of a caller. - Throws: `StatusError` (`errSecParam`) for a negative length.
private func bytes(_ start: UnsafePointer<UInt8>, _ count: Int) throws(StatusError) -> [UInt8] {
    guard count >= 0 else { throw .parameter("a length is negative") }
    return unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
}

/// Runs a call and copies what it gives into memory of the caller's.
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

/// The algorithms that paddings stand for.
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
        default: throw .parameter("this is no padding of signatures")
        }
    }

    static func encryption(_ padding: SecPadding) throws(StatusError) -> SecKeyAlgorithm {
        switch padding {
        case []: return .rsaEncryptionRaw
        case .PKCS1: return .rsaEncryptionPKCS1
        case .OAEP: return .rsaEncryptionOAEPSHA1
        default: throw .parameter("this is no padding of encryption")
        }
    }
}
