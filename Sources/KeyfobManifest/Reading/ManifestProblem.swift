package import KeyfobSystem

/// An error in a manifest, with its place.
package struct ManifestProblem: Hashable, Sendable, CustomStringConvertible {
    package let position: Position
    /// What is wrong; one sentence without a full stop. It never repeats a value that may be a secret.
    package let message: String
    /// What to write instead.
    package let hint: String?

    package init(_ message: String, at position: Position, hint: String? = nil) {
        self.position = position
        self.message = message
        self.hint = hint
    }

    /// The problem on one line, such as `site.yaml:12:5: unknown key "lenght" — did you mean "length"?`.
    package var description: String { "\(position): \(message)" + (hint.map { " — \($0)" } ?? "") }
}

/// All errors of a manifest.
package struct ManifestError: Error, CustomStringConvertible {
    /// The problems, in the order of their places; at least one.
    package let problems: [ManifestProblem]

    package init(_ problems: [ManifestProblem]) {
        precondition(!problems.isEmpty, "an error of a manifest has a problem")
        self.problems = problems
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }

    /// The error for users: one problem is the message itself, and several follow it line by line.
    package var keychainError: KeychainError {
        let lines = problems.map(\.description)
        let details = ["problems": lines.joined(separator: "\n")]
        guard problems.count > 1 else { return KeychainError(.manifestInvalid, lines[0], details: details) }
        return KeychainError(
            .manifestInvalid, "the manifest has \(problems.count) errors; nothing was changed.",
            remedies: lines.map { Remedy($0) }, details: details)
    }
}

extension KeychainError.Code {
    /// A manifest that is not well-formed, or describes something impossible.
    package static let manifestInvalid = Self(rawValue: "manifest.invalid")
}
