import PKCS11
import Testing

/// The error with which `body` was refused; `nil`, and a failed test, when it was not.
///
/// Unlike `#expect(throws:)` it can look into code that uses a session, which cannot be copied.
func refusal<Result>(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) throws -> PKCS11Error? {
    do {
        _ = try body()
    } catch let error as PKCS11Error {
        return error
    }
    Issue.record("nothing was refused", sourceLocation: sourceLocation)
    return nil
}
