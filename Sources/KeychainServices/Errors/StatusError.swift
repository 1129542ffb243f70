import Foundation

/// An error with a result code, used inside this module.
struct StatusError: Error, Hashable {
    /// The code that the caller sees.
    let status: OSStatus
    /// The cause, for developers; it contains no attribute values.
    let reason: String?

    init(_ status: OSStatus, _ reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    /// Returns the error for a bad argument.
    ///
    /// - Parameter reason: The cause; it contains no attribute values.
    static func parameter(_ reason: String) -> StatusError { StatusError(errSecParam, reason) }
}

extension NSError {
    /// A CFError with the domain `NSOSStatusErrorDomain`, the code of `OSStatus(_:)`, the message and the cause.
    convenience init(status error: any Error) {
        let status = OSStatus(error)
        let reason =
            switch error {
            case let error as StatusError: error.reason
            default: String(describing: error)
            }
        let message = StatusDescription.sentence(status)
        var members: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let reason { members["NSDescription"] = reason }
        self.init(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: members)
    }
}

/// Runs `body`. If it throws, stores the error as Apple's functions do and returns `nil`.
///
/// The caller owns the error: `takeRetainedValue()`.
func reporting<Result>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ body: () throws -> Result
) -> Result? {
    do {
        return try body()
    } catch let failure {
        unsafe error?.pointee = Unmanaged.passRetained(NSError(status: failure))
        return nil
    }
}
