/// The sole owner of a libcrypto object, which it frees when it is deallocated.
///
/// The pointer is only available within `withPointer`, so that the object outlives every call it is passed to.
@safe final class OwnedPointer: @unchecked Sendable {
    // Unchecked: the pointer never changes. An object is either used by one thread at a time (BIO, contexts), or
    // libcrypto counts references to it and locks it (EVP_PKEY, X509, fetched algorithms).
    private let pointer: OpaquePointer
    private let release: @Sendable (OpaquePointer) -> Void

    /// Takes ownership of `pointer`; `release` frees it.
    @unsafe init(adopting pointer: OpaquePointer, release: @escaping @Sendable (OpaquePointer) -> Void) {
        unsafe self.pointer = pointer
        unsafe self.release = release
    }

    deinit { unsafe release(pointer) }

    /// Calls `body` with the pointer, which is valid for the duration of the call.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }
}
