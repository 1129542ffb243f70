import Foundation

/// A failure by its result code: what the functions of this module throw among themselves.
struct StatusError: Error, Hashable {
    /// The code that the caller sees.
    let status: OSStatus
    /// What was wrong, for developers; no value of an attribute.
    let reason: String?

    init(_ status: OSStatus, _ reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    /// A bad argument. - Parameter reason: What was wrong; no value of an attribute.
    static func parameter(_ reason: String) -> StatusError { StatusError(errSecParam, reason) }
}

extension NSError {
    /// A failure as a CFError: domain `NSOSStatusErrorDomain`, the code that `OSStatus(_:)` gives, and what is known.
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

/// Runs `body`; where it throws, stores the error as Apple's functions do and gives `nil`.
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
