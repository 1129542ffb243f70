import COpenSSL
import KeyfobPrimitives

/// A libcrypto object that is decoded once, on first use.
///
/// The decoders of OpenSSL 3.0 take 100 times as long as reading the DER, and most certificates and keys are only
/// listed. A failure is remembered too.
final class LazyPointer: Sendable {
    private enum State {
        case pending
        case made(OwnedPointer)
        case refused(OpenSSLError)
    }

    private let state = Lock(State.pending)
    private let make: @Sendable () throws(OpenSSLError) -> OwnedPointer

    /// Creates a pointer. `make` runs at most once, under a lock, so it must call only libcrypto.
    init(_ make: @escaping @Sendable () throws(OpenSSLError) -> OwnedPointer) { self.make = make }

    /// Returns the object. Blocks while another thread decodes it.
    ///
    /// - Throws: `OpenSSLError` if libcrypto rejects the input; every call throws the same error.
    func owner() throws(OpenSSLError) -> OwnedPointer {
        try state.withLock { (state) throws(OpenSSLError) in
            switch state {
            case .made(let owner): return owner
            case .refused(let error): throw error
            case .pending:
                do throws(OpenSSLError) {
                    let owner = try make()
                    // A decoder that succeeds at its second attempt leaves the first failure on the error stack.
                    ERR_clear_error()
                    state = .made(owner)
                    return owner
                } catch {
                    state = .refused(error)
                    throw error
                }
            }
        }
    }

    /// Calls `body` with the object, which is valid for the duration of the call.
    ///
    /// - Throws: `OpenSSLError` if libcrypto rejects the input; the errors of `body`.
    func withPointer<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try unsafe owner().withPointer(body)
    }
}
