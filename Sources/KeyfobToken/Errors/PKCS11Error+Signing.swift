package import PKCS11

extension PKCS11Error {
    /// Whether the token works, but refuses to sign with this mechanism.
    ///
    /// Tokens that do not check parameters in advance fail in the middle of the operation, with any of these errors.
    package var isRefusalOfMechanism: Bool {
        [
            .mechanismInvalid, .mechanismParameterInvalid, .functionNotSupported, .generalError, .functionFailed,
            .argumentsBad, .dataLengthRange, .dataInvalid, .keyTypeInconsistent, .keyFunctionNotPermitted,
        ].contains(returnValue) && [.signInit, .sign].contains(function)
    }
}
