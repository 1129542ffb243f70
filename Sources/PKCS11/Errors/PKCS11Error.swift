/// A failed call of the C interface: the function and its return value.
///
/// Contains no PIN, no secret and no attribute value.
public struct PKCS11Error: Error, Sendable, CustomStringConvertible {
    /// The function that failed.
    public let function: PKCS11Function

    /// The value that the function returned.
    public let returnValue: ReturnValue

    /// Further information for people; never a secret.
    public let detail: String?

    /// Creates an error.
    ///
    /// - Parameter detail: May contain paths, labels and sizes, but never a PIN or the value of an attribute.
    public init(function: PKCS11Function, returnValue: ReturnValue, detail: String? = nil) {
        self.function = function
        self.returnValue = returnValue
        self.detail = detail
    }

    /// The function, the return value and the detail in one line.
    public var description: String {
        let base = "\(function) returned \(returnValue)"
        return detail.map { "\(base): \($0)" } ?? base
    }

    /// The recovery after which the operation may succeed.
    public var recovery: Recovery { returnValue.recovery }

    /// Whether the token has no room for another session.
    var isSessionLimit: Bool { returnValue == .sessionCount || returnValue == .tokenResourceExceeded }

    /// Whether the module was not called at all, because another call of it did not return in time.
    package var isBusy: Bool { returnValue == .cantLock && detail != nil }

    /// The error of a function that was not called, because another call of the module did not return in time.
    static func busy(_ function: PKCS11Function) -> PKCS11Error {
        PKCS11Error(
            function: function, returnValue: .cantLock, detail: "another call of the module has not returned")
    }

    /// Whether the token refused a PIN that was sent to it.
    var isRefusalOfPIN: Bool { isWrongPIN || function == .login && [.pinExpired, .pinLocked].contains(returnValue) }

    /// Whether the token refused a PIN as wrong or as none that it could have.
    ///
    /// Yubico's library answers `CKR_ARGUMENTS_BAD` for a PIN that is too long for the card.
    package var isWrongPIN: Bool {
        function == .login && [.pinIncorrect, .pinInvalid, .pinLengthRange, .argumentsBad].contains(returnValue)
    }
}

extension PKCS11Error {
    /// The error for a module that could not be loaded from a path: missing, or not a Cryptoki module.
    public static func moduleNotLoaded(_ path: String, _ reason: String) -> PKCS11Error {
        PKCS11Error(function: .moduleLoad, returnValue: .generalError, detail: "\(path): \(reason)")
    }

    /// Throws unless the C function returned `CKR_OK`.
    @inline(__always)
    static func check(_ function: PKCS11Function, _ returnValue: UInt) throws(PKCS11Error) {
        CallTrace.note(function, returnValue)
        if returnValue != 0 { throw PKCS11Error(function: function, returnValue: ReturnValue(rawValue: returnValue)) }
    }
}
