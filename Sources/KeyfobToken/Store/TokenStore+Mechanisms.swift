import KeyfobPrimitives
package import PKCS11

/// The mechanisms that the token has refused with a key.
extension TokenStore {
    /// Whether the token has refused a mechanism with this key before.
    package func refuses(_ mechanism: Mechanism, with key: TokenObject) -> Bool {
        // Usually there are no refusals of the mechanism, and then the key is not hashed.
        state.withLock { $0.refusing[mechanism]?.contains(HandleKey(key)) ?? false }
    }

    /// Whether an error means that the token refuses the mechanism with this key. If so, that is remembered.
    package func learns(from error: PKCS11Error, using mechanism: Mechanism, with key: TokenObject) -> Bool {
        let refusals: Set<ReturnValue> = [
            .mechanismInvalid, .mechanismParameterInvalid, .argumentsBad, .functionNotSupported,
        ]
        guard [.signInit, .decryptInit].contains(error.function), refusals.contains(error.returnValue) else {
            return false
        }
        state.withLock { _ = $0.refusing[mechanism, default: []].insert(HandleKey(key)) }
        return true
    }
}
