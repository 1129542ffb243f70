import Glibc

/// Environment variables, read one at a time.
///
/// `ProcessInfo.environment` copies all of them into a dictionary first.
enum Environment {
    /// The value of a variable, which may be empty; `nil` if the variable is not set.
    static func value(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// The value of a variable, if it is set and not empty.
    static func nonEmpty(_ name: String) -> String? {
        value(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a switch is on: set, not empty and not `0`, `no`, `false` or `off` in either case.
    static func isOn(_ name: String) -> Bool {
        nonEmpty(name).map { !["0", "no", "false", "off"].contains($0.lowercased()) } ?? false
    }
}
