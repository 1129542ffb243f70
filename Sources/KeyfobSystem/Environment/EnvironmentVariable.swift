import CLinux
import Foundation
package import KeyfobPrimitives

/// Variables in the environment of this process, read one at a time.
package enum EnvironmentVariable {
    /// The differences between the environment of this process and that of its children.
    private struct Differences {
        /// The names of variables that hold secrets, which no child gets.
        ///
        /// An array: the first `Set<String>` of a process takes 2 % of the time of a command that reads one secret.
        var withheld: [String] = []
        /// The values of variables before this process set them; `nil` for variables that were not set.
        var before: [(name: String, value: String?)] = []
    }

    /// The lock is also held around getenv(3), which walks an array that unsetenv(3) and setenv(3) move.
    private static let differences = Lock(Differences())

    /// The value of `name`, which may be empty; `nil` if it is not set.
    package static func value(_ name: String) -> String? {
        differences.withLock { _ in unlockedValue(name) }
    }

    private static func unlockedValue(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Sets a variable for this process and its libraries. Children get the value that it had before.
    package static func set(_ name: String, to value: String) {
        differences.withLock { differences in
            if !differences.before.contains(where: { $0.name == name }) {
                differences.before.append((name, unlockedValue(name)))
            }
            unsafe setenv(name, value, 1)
        }
    }

    /// Restores the value that a variable had before the first `set(_:to:)`, if there was one.
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

    /// Takes the secret in the variable `name` out of the environment.
    ///
    /// The bytes are overwritten, so that `/proc/PID/environ` does not show them, and no later child gets them.
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

    /// Withholds the variable `name` from every later child, whether or not it is read.
    package static func withhold(_ name: String) {
        differences.withLock { differences in
            if !differences.withheld.contains(name) { differences.withheld.append(name) }
        }
    }

    /// Withholds from every later child the variable or descriptor that a PIN source names.
    ///
    /// Reading closes a descriptor, but the PIN of an unlocked keychain is never read.
    package static func withhold(namedBy source: String?) {
        guard let source else { return }
        if source.hasPrefix("env:") { withhold(String(source.dropFirst(4))) }
        if source.hasPrefix("fd:"), let number = Int32(source.dropFirst(3)), number > 2 {
            NamedDescriptor.withhold(number)
        }
    }

    /// The variables of a program that the user runs through this process, byte for byte and in their order.
    ///
    /// It lacks the variables that PIN sources name, even unread ones, and those that begin with `KEYFOB_PIN`.
    /// Variables that this process set for itself have their values from before.
    package static func inheritedByProgram() -> ProgramEnvironment {
        withhold(namedBy: value("KEYFOB_PIN_SOURCE"))
        var environment = ofCaller()
        let withheld = differences.withLock { $0.withheld }
        environment.remove { name in
            name.starts(with: "KEYFOB_PIN".utf8) || withheld.contains { $0.utf8.elementsEqual(name) }
        }
        return environment
    }

    /// The variables that the caller of this process has set, with their secrets, byte for byte and in their order.
    ///
    /// For another process of this program, which continues the work of this one.
    package static func ofCaller() -> ProgramEnvironment {
        var environment = ProgramEnvironment()
        differences.withLock { differences in
            var entry = unsafe keyfob_environment()
            while let current = unsafe entry?.pointee {
                unsafe environment.append(entry: UnsafeRawBufferPointer(start: current, count: strlen(current)))
                unsafe entry = unsafe entry?.advanced(by: 1)
            }
            for (name, value) in differences.before {
                environment.set(name, to: value.map { SecretBytes(utf8: $0) })
            }
        }
        return environment
    }

    /// The environment of a program that this process starts.
    ///
    /// It has the values from before this process set variables for itself, since the program may use another SoftHSM.
    /// It lacks the variables that PIN sources name, even unread ones, and those that begin with `KEYFOB_`: a program
    /// that calls keyfob itself would get the options of this call.
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
