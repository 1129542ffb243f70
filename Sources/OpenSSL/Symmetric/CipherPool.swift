import COpenSSL
import KeyfobPrimitives

/// Cipher contexts with a key already in them, handed to one caller at a time.
///
/// Making a context and expanding a key costs more than sealing a short blob. The pool grows to the number of
/// threads that seal at the same moment and keeps at most eight.
final class CipherPool: Sendable {
    private let idle: Lock<[OwnedPointer]>
    private let cipher: OwnedPointer
    private let key: SecretBytes
    private let nonceCount: Int
    private let encrypts: Bool

    /// A pool for `cipher`, an AEAD, under `key`, which has the cipher's key length.
    init(cipher: OwnedPointer, key: SecretBytes, nonceCount: Int, encrypts: Bool) {
        self.idle = Lock([])
        self.cipher = cipher
        self.key = key
        self.nonceCount = nonceCount
        self.encrypts = encrypts
    }

    /// Lends a keyed context. One on which `body` threw is freed, not kept.
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
        // Twelve bytes are what GCM has anyway.
        if nonceCount != 12 {
            try check("EVP_CIPHER_CTX_ctrl", unsafe EVP_CIPHER_CTX_ctrl(
                pointer, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonceCount), nil))
        }
        return context
    }
}

/// The cipher `name` of the default library context, or `nil` where there is none.
func fetchCipher(_ name: String) -> OwnedPointer? {
    guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else { return nil }
    return unsafe OwnedPointer(adopting: cipher) { unsafe EVP_CIPHER_free($0) }
}
