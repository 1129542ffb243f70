/// A call of the C interface that failed: which one, and with what.
///
/// Holds no PIN, no secret and no attribute value.
public struct PKCS11Error: Error, Sendable, CustomStringConvertible {
    /// The function that failed.
    public let function: PKCS11Function

    /// What it returned.
    public let returnValue: ReturnValue

    /// What else is known, for a person to read; never a secret.
    public let detail: String?

    /// Makes an error.
    ///
    /// - Parameter detail: May hold paths, labels and sizes, never a PIN or an attribute's value.
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

    /// What may make the operation succeed.
    public var recovery: Recovery { returnValue.recovery }

    /// Whether the token has no room for another session.
    var isWantOfSessions: Bool { returnValue == .sessionCount || returnValue == .tokenResourceExceeded }

    /// Whether the module was not called at all, since another call of it did not return in time: no token's answer.
    package var isWantOfTurn: Bool { returnValue == .cantLock && detail != nil }

    /// That another call of the module did not return in time, and the function was not called.
    static func wantOfTurn(_ function: PKCS11Function) -> PKCS11Error {
        PKCS11Error(
            function: function, returnValue: .cantLock, detail: "another call of the module has not returned")
    }

    /// Whether the token refused a PIN that it was sent.
    var isRefusalOfPIN: Bool { function == .login && Self.refusalsOfPIN.contains(returnValue) }

    private static let refusalsOfPIN: Set<ReturnValue> = [
        .pinIncorrect, .pinInvalid, .pinLengthRange, .pinExpired, .pinLocked,
    ]
}

extension PKCS11Error {
    /// A module that could not be loaded from a path: missing, or not a Cryptoki module.
    public static func moduleNotLoaded(_ path: String, _ reason: String) -> PKCS11Error {
        PKCS11Error(function: .moduleLoad, returnValue: .generalError, detail: "\(path): \(reason)")
    }

    /// Throws unless the C function answered `CKR_OK`.
    @inline(__always)
    static func check(_ function: PKCS11Function, _ returnValue: UInt) throws(PKCS11Error) {
        CallTrace.note(function, returnValue)
        if returnValue != 0 { throw PKCS11Error(function: function, returnValue: ReturnValue(rawValue: returnValue)) }
    }
}
