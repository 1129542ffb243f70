public import KeyfobOpenSSL
import PKCS11
import Synchronization

extension TokenKey {
    /// The schemes of `schemes` that the key demonstrably supports: it signed a random challenge, and the public key
    /// verified it.
    ///
    /// A token's list of mechanisms does not reflect restrictions by keys, firmware and policies; a signature does.
    /// Blocks for one signature for each scheme, or two if Keyfob has to apply the padding of RSA-PSS.
    ///
    /// - Parameter schemes: The schemes to test.
    /// - Returns: The supported schemes, in the order of `schemes`. Schemes that do not fit the key, or that the token
    ///   refuses, are left out.
    /// - Throws: `KeychainError`; `identityMismatch` if the token signs, but with another private key than this public
    ///   key's, `itemNotFound` if the key is gone, `tokenAbsent`, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func proven(_ schemes: [SignatureScheme]) throws -> [SignatureScheme] {
        try keychain.withDeadline { [self] in
            let challenge = try RandomBytes.bytes(count: 32)
            var foreign = 0
            let proven = try schemes.filter { scheme in
                do {
                    if try isProven(scheme, challenge) { return true }
                    // Some tokens accept PSS and return something that is not a PSS signature.
                    guard scheme.isPSS, !padsHere.isSet else {
                        foreign += 1
                        return false
                    }
                    padsHere.set(true)
                    let isProvenHere = try isProven(scheme, challenge)
                    if !isProvenHere { padsHere.set(false) }
                    return isProvenHere
                } catch let error as KeychainError where error.isRefusalOfMechanism {
                    return false
                } catch let error as KeychainError where error.code == .tokenContractViolation {
                    foreign += 1
                    return false
                }
            }
            guard !proven.isEmpty || foreign == 0 else {
                throw KeychainError(
                    .identityMismatch,
                    "the certificate was not issued for the key that token \"\(keychain.token.label)\" has for it: a "
                        + "signature of the key does not verify with the certificate.",
                    remedies: [Remedy("Find the key", .listKeys())])
            }
            return proven
        }
    }

    private func isProven(_ scheme: SignatureScheme, _ challenge: [UInt8]) throws -> Bool {
        let signature = try sign(challenge, using: scheme)
        return try publicKey.verify(signature, of: challenge, using: scheme)
    }

}

extension KeychainError {
    /// Whether the token works, but refuses to sign with this mechanism.
    var isRefusalOfMechanism: Bool {
        if code == .mechanismUnsupported { return true }
        guard code == .failed, let error = cause as? PKCS11Error else { return false }
        return error.isRefusalOfMechanism
    }
}

extension SignatureScheme {
    /// Whether the scheme is RSA-PSS.
    var isPSS: Bool { digest.map { self == .rsaPSS($0) } ?? false }
}
