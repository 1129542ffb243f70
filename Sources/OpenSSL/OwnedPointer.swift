/// The one owner of one libcrypto object, which it frees when it goes.
///
/// The pointer is borrowed through `withPointer` only, so that the object outlives every call it is passed to.
@safe final class OwnedPointer: @unchecked Sendable {
    // Unchecked: the pointer never changes, and an object is either used by one thread at a time (BIO, contexts)
    // or reference-counted and locked by libcrypto itself (EVP_PKEY, X509, fetched algorithms).
    private let pointer: OpaquePointer
    private let release: @Sendable (OpaquePointer) -> Void

    /// Takes over `pointer`; `release` frees it.
    @unsafe init(adopting pointer: OpaquePointer, release: @escaping @Sendable (OpaquePointer) -> Void) {
        unsafe self.pointer = pointer
        unsafe self.release = release
    }

    deinit { unsafe release(pointer) }

    /// Lends the pointer for the time of the call.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }
}
