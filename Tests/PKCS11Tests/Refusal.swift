import PKCS11
import Testing

/// Returns the `PKCS11Error` that `body` throws; `nil`, with a failed test, if it throws none.
///
/// Unlike `#expect(throws:)` it accepts code that uses a session, which cannot be copied.
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
