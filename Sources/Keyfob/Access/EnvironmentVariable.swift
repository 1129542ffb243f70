import Foundation
import KeyfobPrimitives

/// Variables in the environment of this process, read one at a time.
enum EnvironmentVariable {
    /// getenv(3) walks an array that unsetenv(3) moves; ours at least do not meet each other.
    private static let lock = Lock(0)

    /// The value of `name`, also an empty one; `nil` where it is not set.
    static func value(_ name: String) -> String? {
        lock.withLock { _ in
            guard let value = unsafe getenv(name) else { return nil }
            return unsafe String(cString: value)
        }
    }

    /// The secret that is the value of `name`, which is then gone: from our environment, from that of every later child,
    /// and from `/proc/PID/environ`, because the bytes themselves are overwritten.
    static func take(_ name: String) -> SecretBytes? {
        lock.withLock { _ in
            guard let value = unsafe getenv(name) else { return nil }
            let count = unsafe strlen(value)
            let characters = unsafe UnsafeBufferPointer(start: value, count: count)
            let secret = unsafe SecretBytes(characters.lazy.map(UInt8.init(bitPattern:)))
            unsafe memset(value, 0, count)
            unsafe unsetenv(name)
            return secret
        }
    }
}
