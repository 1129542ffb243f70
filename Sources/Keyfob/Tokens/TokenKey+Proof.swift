public import KeyfobOpenSSL
import PKCS11
import Synchronization

extension TokenKey {
    /// Those of `schemes` that the token has just proved: it signed a random challenge, and the public key verified it.
    ///
    /// A token's list of mechanisms promises what keys, firmware and policies do not keep; a signature does not. Blocks
    /// for one signature for each scheme, two where RSA-PSS is padded here.
    ///
    /// - Returns: In the order of `schemes`; without those that do not fit the key.
    /// - Throws: `KeychainError`; `identityMismatch` where the token signs, but not with this public key's private
    ///   half, `itemNotFound` where the key is gone, `tokenAbsent`, and the errors of `unlock()`. What the token
    ///   refuses to do is left out, not an error.
    @available(*, noasync, message: "use the asynchronous form")
    public func proven(_ schemes: [SignatureScheme]) throws -> [SignatureScheme] {
        let challenge = try RandomBytes.bytes(count: 32)
        var foreign = 0
        let proven = try schemes.filter { scheme in
            do {
                if try isProven(scheme, challenge) { return true }
                // A token may accept PSS and make something of it that is none.
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

    private func isProven(_ scheme: SignatureScheme, _ challenge: [UInt8]) throws -> Bool {
        let signature = try sign(challenge, using: scheme)
        return try publicKey.verify(signature, of: challenge, using: scheme)
    }

}

extension KeychainError {
    /// Whether the token is there and well, and only will not sign in this way.
    var isRefusalOfMechanism: Bool {
        if code == .mechanismUnsupported { return true }
        guard code == .failed, let error = cause as? PKCS11Error else { return false }
        return error.isRefusalOfMechanism
    }
}

extension PKCS11Error {
    /// Whether the token is there and well, and only will not sign in this way.
    ///
    /// Tokens that do not check parameters beforehand fail in the middle, under any of these names.
    var isRefusalOfMechanism: Bool {
        [
            .mechanismInvalid, .mechanismParameterInvalid, .functionNotSupported, .generalError, .functionFailed,
            .argumentsBad, .dataLengthRange, .dataInvalid, .keyTypeInconsistent, .keyFunctionNotPermitted,
        ].contains(returnValue) && [.signInit, .sign].contains(function)
    }
}

extension SignatureScheme {
    /// Whether it is RSA-PSS.
    var isPSS: Bool { digest.map { self == .rsaPSS($0) } ?? false }
}
