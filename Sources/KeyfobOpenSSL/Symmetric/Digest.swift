import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// A hash function (FIPS 180-4), called like a function: `Digest.sha256(bytes)`.
///
/// Any thread may use it. Each algorithm is fetched once per process.
public struct Digest: Hashable, Sendable, CustomStringConvertible {
    /// OpenSSL's name, such as "SHA2-256".
    let name: String
    /// The length of the result in bytes.
    public let count: Int

    private static let table: [String: FetchedDigest] = {
        var table: [String: FetchedDigest] = [:]
        for digest in [sha1, sha224, sha256, sha384, sha512] { table[digest.name] = FetchedDigest(name: digest.name) }
        return table
    }()

    /// SHA-1, for identifiers and old files; not for signatures.
    public static let sha1 = Digest(name: "SHA1", count: 20)
    /// SHA-224.
    public static let sha224 = Digest(name: "SHA2-224", count: 28)
    /// SHA-256.
    public static let sha256 = Digest(name: "SHA2-256", count: 32)
    /// SHA-384.
    public static let sha384 = Digest(name: "SHA2-384", count: 48)
    /// SHA-512.
    public static let sha512 = Digest(name: "SHA2-512", count: 64)

    /// Returns the hash of `bytes` (EVP_Digest(3)).
    public func callAsFunction(_ bytes: some ContiguousBytes) -> Data {
        unsafe bytes.withUnsafeBytes { unsafe hash($0) }
    }

    /// Returns the hash of `bytes` as an array.
    public func array(of bytes: [UInt8]) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: count) { target, length in
            unsafe bytes.withUnsafeBytes { unsafe hash($0, into: UnsafeMutableRawBufferPointer(target)) }
            length = count
        }
    }

    /// Returns the hash of a secret as an ordinary value.
    public func callAsFunction(_ secret: SecretBytes) -> Data {
        unsafe secret.withUnsafeBytes { unsafe hash($0) }
    }

    /// OpenSSL's name.
    public var description: String { name }

    /// Calls `body` with the EVP_MD, which is valid for the duration of the call.
    func withAlgorithm<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let fetched = Self.table[name] else { preconditionFailure("every Digest stands in the table") }
        return try unsafe fetched.pointer.withPointer(body)
    }

    private func hash(_ bytes: UnsafeRawBufferPointer) -> Data {
        var result = Data(count: count)
        unsafe result.withUnsafeMutableBytes { unsafe hash(bytes, into: $0) }
        return result
    }

    private func hash(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        let done = unsafe withAlgorithm { algorithm in
            unsafe EVP_Digest(
                bytes.baseAddress, bytes.count, target.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, algorithm,
                nil)
        }
        precondition(done == 1, "libcrypto cannot hash: the installation is broken")
    }
}

/// One EVP_MD of the default library context.
private struct FetchedDigest: Sendable {
    let pointer: OwnedPointer

    init(name: String) {
        guard let algorithm = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("libcrypto has no \(name): the installation is broken")
        }
        pointer = unsafe OwnedPointer(adopting: algorithm) { unsafe EVP_MD_free($0) }
    }
}

/// Compares two byte sequences in a time that depends only on their lengths (CRYPTO_memcmp(3)).
public func constantTimeEqual(_ left: some ContiguousBytes, _ right: some ContiguousBytes) -> Bool {
    unsafe left.withUnsafeBytes { left in
        unsafe right.withUnsafeBytes { right in
            guard left.count == right.count else { return false }
            guard let first = left.baseAddress, let second = right.baseAddress else { return true }
            return unsafe CRYPTO_memcmp(first, second, left.count) == 0
        }
    }
}
