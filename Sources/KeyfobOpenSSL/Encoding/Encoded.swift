import COpenSSL
import Foundation
import KeyfobPrimitives

/// Moves the output of an `i2d` function into memory that is wiped.
func encodedSecret(
    _ function: StaticString, _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
) throws(OpenSSLError) -> SecretBytes {
    var output: UnsafeMutablePointer<UInt8>?
    let count = unsafe encode(&output)
    guard count > 0, let output = unsafe output else { throw OpenSSLError(draining: function) }
    defer { unsafe CRYPTO_clear_free(output, Int(count), nil, 0) }
    return unsafe SecretBytes(count: Int(count)) { target in
        _ = unsafe target.update(fromContentsOf: UnsafeBufferPointer(start: output, count: Int(count)))
    }
}

/// Returns the output of an `i2d` function whose content is public.
func encoded(
    _ function: StaticString, _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
) throws(OpenSSLError) -> Data {
    try unsafe encodedSecret(function, encode).copyData()
}

/// Decodes exactly these bytes with a `d2i` function; `nil` if it rejects them or leaves some over.
@unsafe func decoded(
    _ bytes: UnsafeRawBufferPointer, release: @escaping @Sendable (OpaquePointer) -> Void,
    _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
) -> OwnedPointer? {
    let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var position = unsafe start
    guard let result = unsafe decode(&position, bytes.count) else { return nil }
    let owner = unsafe OwnedPointer(adopting: result, release: release)
    guard let start = unsafe start, let position = unsafe position, unsafe position - start == bytes.count else {
        return nil
    }
    return owner
}

extension SecretBytes {
    /// Calls `body` with the bytes and a terminating NUL.
    ///
    /// - Throws: `CryptoError` (`invalidInput`) if the bytes contain a NUL, which C would take for the end.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) throws -> Result {
        guard unsafe !withUnsafeBytes({ unsafe $0.contains(0) }) else {
            throw CryptoError(.invalidInput, "a passphrase here cannot hold a NUL byte")
        }
        let terminated = SecretBytes(joining: [self, SecretBytes(zeros: 1)])
        return try unsafe terminated.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { throw CryptoError(.invalidInput, "no passphrase") }
            return try unsafe body(base.assumingMemoryBound(to: CChar.self))
        }
    }
}
