import COpenSSL
import KeyfobPrimitives

/// A pool of cipher contexts with an expanded key, each used by one caller at a time.
///
/// Creating a context and expanding a key costs more than encrypting a short message. The pool grows to the number of
/// concurrent callers and retains at most eight contexts.
final class CipherPool: Sendable {
    private let idle: Lock<[OwnedPointer]>
    private let cipher: OwnedPointer
    private let key: SecretBytes
    private let nonceCount: Int
    private let encrypts: Bool

    /// Creates a pool for the AEAD `cipher` with a `key` of the cipher's key length.
    init(cipher: OwnedPointer, key: SecretBytes, nonceCount: Int, encrypts: Bool) {
        self.idle = Lock([])
        self.cipher = cipher
        self.key = key
        self.nonceCount = nonceCount
        self.encrypts = encrypts
    }

    /// Calls `body` with a keyed context. If `body` throws, the context is freed instead of reused.
    func withCipher<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        let context = try idle.withLock { $0.popLast() } ?? make()
        let result = try unsafe context.withPointer(body)
        idle.withLock { if $0.count < 8 { $0.append(context) } }
        return result
    }

    private func make() throws(OpenSSLError) -> OwnedPointer {
        let pointer = try unsafe check("EVP_CIPHER_CTX_new", EVP_CIPHER_CTX_new())
        let context = unsafe OwnedPointer(adopting: pointer) { unsafe EVP_CIPHER_CTX_free($0) }
        try unsafe cipher.withPointer { (cipher) throws(OpenSSLError) in
            try unsafe key.withUnsafeBytes { (key) throws(OpenSSLError) in
                try check("EVP_CipherInit_ex2", unsafe EVP_CipherInit_ex2(
                    pointer, cipher, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, encrypts ? 1 : 0, nil))
            }
        }
        // GCM defaults to 12 bytes.
        if nonceCount != 12 {
            try check("EVP_CIPHER_CTX_ctrl", unsafe EVP_CIPHER_CTX_ctrl(
                pointer, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonceCount), nil))
        }
        return context
    }
}

/// Fetches a cipher from the default library context; `nil` if it is not available.
func fetchCipher(_ name: String) -> OwnedPointer? {
    guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else { return nil }
    return unsafe OwnedPointer(adopting: cipher) { unsafe EVP_CIPHER_free($0) }
}
