import COpenSSL
import KeyfobPrimitives

/// A libcrypto object that is decoded when it is first needed, once, by whichever thread comes first.
///
/// The decoders of OpenSSL 3.0 take 100 times as long as reading the DER, and most certificates and keys are only
/// listed. A refusal is remembered as well.
final class LazyPointer: Sendable {
    private enum State {
        case pending
        case made(OwnedPointer)
        case refused(OpenSSLError)
    }

    private let state = Lock(State.pending)
    private let make: @Sendable () throws(OpenSSLError) -> OwnedPointer

    /// `make` is called at most once, under a lock: it calls nothing but libcrypto.
    init(_ make: @escaping @Sendable () throws(OpenSSLError) -> OwnedPointer) { self.make = make }

    /// The object.
    ///
    /// Blocks while another thread decodes it. - Throws: `OpenSSLError` when libcrypto refuses it, the same each time.
    func owner() throws(OpenSSLError) -> OwnedPointer {
        try state.withLock { (state) throws(OpenSSLError) in
            switch state {
            case .made(let owner): return owner
            case .refused(let error): throw error
            case .pending:
                do throws(OpenSSLError) {
                    let owner = try make()
                    // A decoder that succeeds at its second attempt leaves the first failure on the stack.
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

    /// Lends the object for the time of the call.
    ///
    /// - Throws: `OpenSSLError` when libcrypto refuses it; what `body` throws.
    func withPointer<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try unsafe owner().withPointer(body)
    }
}
