import KeyfobPrimitives

/// Reports each library before it is loaded, and before it is initialised.
package enum LoadObserver {
    private static let observer = Lock<@Sendable (TokenProfile) -> Void>({ _ in })

    /// Sets `body` to be called with what is known of a library by its file's name, on the thread that loads it.
    package static func observe(_ body: @escaping @Sendable (TokenProfile) -> Void) {
        observer.withLock { $0 = body }
    }

    /// Reports the library at a path.
    static func note(_ path: String) {
        let body = observer.withLock { $0 }
        body(TokenProfile(of: TokenProfile.Identity(file: path)))
    }
}
