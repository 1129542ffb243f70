import Foundation
package import KeyfobPrimitives

/// Variables in the environment of this process, read one at a time.
package enum EnvironmentVariable {
    /// What children are given in another way than this process has it.
    private struct Differences {
        /// The names of variables that hold secrets, which no child is given.
        ///
        /// No set: the first set of strings of a process costs a command that reads one secret 2 % of its time.
        var withheld: [String] = []
        /// What variables were before this process set them for itself; no value where they were not there.
        var before: [(name: String, value: String?)] = []
    }

    /// The lock also stands around getenv(3), which walks an array that unsetenv(3) and setenv(3) move: ours at least
    /// do not meet each other.
    private static let differences = Lock(Differences())

    /// The value of `name`, also an empty one; `nil` where it is not set.
    package static func value(_ name: String) -> String? {
        differences.withLock { _ in unlockedValue(name) }
    }

    private static func unlockedValue(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Sets a variable for this process and the libraries in it; children are given what it was before.
    package static func set(_ name: String, to value: String) {
        differences.withLock { differences in
            if !differences.before.contains(where: { $0.name == name }) {
                differences.before.append((name, unlockedValue(name)))
            }
            unsafe setenv(name, value, 1)
        }
    }

    /// Makes a variable again what it was before the first `set(_:to:)`; nothing where nobody has set it.
    package static func restore(_ name: String) {
        differences.withLock { differences in
            guard let index = differences.before.firstIndex(where: { $0.name == name }) else { return }
            if let value = differences.before.remove(at: index).value {
                unsafe setenv(name, value, 1)
            } else {
                unsafe unsetenv(name)
            }
        }
    }

    /// The secret that is the value of `name`, which is then gone: from our environment, from that of every later
    /// child, and from `/proc/PID/environ`, because the bytes themselves are overwritten.
    package static func take(_ name: String) -> SecretBytes? {
        differences.withLock { _ in
            guard let value = unsafe getenv(name) else { return nil }
            let count = unsafe strlen(value)
            let characters = unsafe UnsafeBufferPointer(start: value, count: count)
            let secret = unsafe SecretBytes(characters.lazy.map(UInt8.init(bitPattern:)))
            unsafe memset(value, 0, count)
            unsafe unsetenv(name)
            return secret
        }
    }

    /// Keeps the variable `name` from every later child, whether or not anybody reads it.
    package static func withhold(_ name: String) {
        differences.withLock { differences in
            if !differences.withheld.contains(name) { differences.withheld.append(name) }
        }
    }

    /// Keeps from every later child what a PIN source in its text form names: a variable, or a descriptor.
    ///
    /// A descriptor is closed by whoever reads it, but an unlocked keychain is never asked for its PIN.
    package static func withhold(namedBy source: String?) {
        guard let source else { return }
        if source.hasPrefix("env:") { withhold(String(source.dropFirst(4))) }
        if source.hasPrefix("fd:"), let number = Int32(source.dropFirst(3)), number > 2 {
            NamedDescriptor.withhold(number)
        }
    }

    /// The environment of a program that this process starts: ours without what is a secret or says where one is, and
    /// as it was before this process set variables for itself. A program of the user's may have a SoftHSM of its own.
    ///
    /// Left out are the variables that a PIN source names, also one that was never read because the keychain was
    /// unlocked, and those that begin with `KEYFOB_`: a program that calls keyfob in turn would be sent round in a
    /// circle.
    package static func inherited() -> [String: String] {
        withhold(namedBy: value("KEYFOB_PIN_SOURCE"))
        let differences = differences.withLock { $0 }
        var environment = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("KEYFOB_") && !differences.withheld.contains($0.key)
        }
        for (name, value) in differences.before { environment[name] = value }
        return environment
    }
}
