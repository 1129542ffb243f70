import KeyfobPrimitives
import KeyfobOpenSSL

/// A source of random bytes; `SecRandomRef` of SecRandom.h. The only value is `kSecRandomDefault`.
public typealias SecRandomRef = OpaquePointer

/// The source of random bytes.
@safe nonisolated(unsafe) public let kSecRandomDefault: SecRandomRef? = nil

/// Fills memory with random bytes that are suitable as keys (RAND_priv_bytes(3)).
///
/// - Parameters:
///   - rnd: Ignored.
///   - count: The number of bytes.
///   - bytes: Receives the bytes; at least `count` bytes long.
/// - Returns: `errSecSuccess`; `errSecParam` for a negative count; `errSecInternal` if there is no entropy.
@discardableResult
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else { return errSecParam }
    do {
        let random = try RandomBytes.secret(count: count)
        unsafe random.withUnsafeBytes { source in
            unsafe UnsafeMutableRawBufferPointer(start: bytes, count: count).copyMemory(from: source)
        }
        return errSecSuccess
    } catch {
        return errSecInternal
    }
}
