import class Security.SecKey
import enum Security.SecKeyOperationType
import func Security.SecKeyIsAlgorithmSupported
import let Security.errSecSuccess
import struct Security.SecKeyAlgorithm
import typealias Security.OSStatus

// A file that imports only the names that it uses, each with its module.

/// The operations of a key.
func isSigning(_ key: SecKey, by algorithm: SecKeyAlgorithm) -> Bool {
    let success: OSStatus = Security.errSecSuccess
    return success == 0 && Security.SecKeyIsAlgorithmSupported(key, .sign, algorithm)
}
