import KeyfobPrimitives
import OpenSSL

/// A source of random bytes; `SecRandomRef` of SecRandom.h. There is one.
public typealias SecRandomRef = OpaquePointer

/// The source of random bytes.
@safe nonisolated(unsafe) public let kSecRandomDefault: SecRandomRef? = nil

/// Fills memory with random bytes that may serve as keys (RAND_priv_bytes(3)).
///
/// - Parameters:
///   - rnd: Without effect.
///   - count: How many bytes.
///   - bytes: Where they go; as large as `count` at least.
/// - Returns: `errSecSuccess`; `errSecParam` for a negative count; `errSecInternal` where there is no entropy.
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
