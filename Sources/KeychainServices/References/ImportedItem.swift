import KeyfobPrimitives
import KeyfobOpenSSL

/// What `SecPKCS12Import` knows of a certificate or key that it has stored and gives out.
///
/// On iOS the import stores nothing, and the caller adds what it was given. On macOS the import stores it, and a caller
/// that wants other attributes removes it and adds it again. Both go on here with what this holds.
final class ImportedItem: Sendable {
    /// The private key of the file, for an addition after the stored one was removed; `nil` for a certificate.
    let key: PrivateKey?
    private let isUnclaimed: Lock<Bool>

    /// - Parameter isNew: Whether the import added the item, rather than found it in the keychain.
    init(key: PrivateKey? = nil, isNew: Bool) {
        self.key = key
        isUnclaimed = Lock(isNew)
    }

    /// Whether this addition is the first one of what the import added; it is then no duplicate.
    func claim() -> Bool {
        isUnclaimed.withLock { isUnclaimed in
            defer { isUnclaimed = false }
            return isUnclaimed
        }
    }
}
