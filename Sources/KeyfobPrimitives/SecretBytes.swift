import CLinux
public import Foundation

/// Bytes that are wiped when the last copy is released.
///
/// Copies share one allocation, so that a secret exists once in memory however often the value is passed on.
/// `description`, mirrors and interpolation print the count, never the content. There is deliberately no `Codable` and
/// no `ExpressibleByStringLiteral`.
///
/// > Important: Until they are wiped, the bytes are in ordinary memory. The kernel may write it to a core dump or to
/// swap,
/// > and a debugger of the same user can read it. Only the program can prevent that, not a library in it. Before its
/// first
/// > secret it calls setrlimit(2) with `RLIMIT_CORE` of zero and prctl(2) with `PR_SET_DUMPABLE` of zero, which also
/// keeps
/// > debuggers off. Against swap it uses mlockall(2) or encrypted swap. The command `keyfob` does the first two.
public struct SecretBytes: Sendable {
    private let storage: Storage

    /// Copies `bytes`. The caller must wipe its own copy.
    public init(_ bytes: some Sequence<UInt8>) {
        let copied = bytes.withContiguousStorageIfAvailable { unsafe SecretBytes(UnsafeRawBufferPointer($0)) }
        if let copied {
            self = copied
            return
        }
        var array = ContiguousArray(bytes)
        unsafe self.init(count: array.count) { buffer in
            for index in array.indices { unsafe buffer[index] = array[index] }
        }
        unsafe array.withUnsafeMutableBytes { buffer in
            if let base = buffer.baseAddress { unsafe keyfob_wipe(base, buffer.count) }
        }
    }

    /// Copies the bytes of a buffer.
    public init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.init(count: bytes.count) { unsafe UnsafeMutableRawBufferPointer($0).copyMemory(from: bytes) }
    }

    /// Copies the bytes of a slice of a buffer.
    public init(_ bytes: Slice<UnsafeRawBufferPointer>) {
        unsafe self.init(UnsafeRawBufferPointer(rebasing: bytes))
    }

    /// Copies the UTF-8 bytes of `string`. Swift cannot wipe the string itself, so use this only at the boundary to
    /// other code.
    public init(utf8 string: String) {
        self.init(string.utf8)
    }

    /// Allocates `count` zero bytes and lets `body` fill them in place.
    ///
    /// - Throws: The errors of `body`.
    public init<Failure: Error>(
        count: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        let storage = Storage(count: count)
        try unsafe body(storage.buffer)
        self.storage = storage
    }

    /// The number of bytes.
    public var count: Int { unsafe storage.buffer.count }

    /// Whether there are no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Calls `body` with the bytes, which are valid only during the call.
    ///
    /// - Throws: The errors of `body`.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(storage.buffer))
    }

    /// Returns the first `count` bytes, as a secret of its own.
    ///
    /// - Precondition: `count` is not larger than `self.count`.
    public func prefix(_ count: Int) -> SecretBytes {
        precondition(count <= self.count, "a prefix cannot be longer than the bytes it is taken from")
        return unsafe withUnsafeBytes { unsafe SecretBytes($0[..<count]) }
    }

    /// Returns a copy outside the wiped storage. The caller is responsible for wiping it.
    public func copyBytes() -> [UInt8] {
        unsafe withUnsafeBytes { unsafe Array($0) }
    }

    /// Returns a copy outside the wiped storage, as `Data`.
    public func copyData() -> Data {
        unsafe withUnsafeBytes { unsafe Data($0) }
    }

    /// Returns the bytes as text, or `nil` if they are not UTF-8. The string cannot be wiped.
    public func copyString() -> String? {
        unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    }
}

extension SecretBytes: Equatable {
    /// Compares in a time that depends only on the lengths.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in
                guard left.count == right.count else { return false }
                var difference: UInt8 = 0
                for index in 0..<left.count { unsafe difference |= left[index] ^ right[index] }
                return difference == 0
            }
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of bytes; never the bytes.
    public var description: String { "SecretBytes(\(count) bytes)" }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// A mirror without children, since reflection must not print what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
    /// The single allocation behind all copies of a secret.
    @safe private final class Storage: @unchecked Sendable {
        // Written only by the initialiser that allocates it, before other code can see it. Hence the unchecked
        // conformance is sound.
        let buffer: UnsafeMutableBufferPointer<UInt8>

        init(count: Int) {
            unsafe buffer = .allocate(capacity: count)
            unsafe buffer.initialize(repeating: 0)
        }

        deinit {
            if let base = unsafe buffer.baseAddress { unsafe keyfob_wipe(base, buffer.count) }
            unsafe buffer.deallocate()
        }
    }
}
