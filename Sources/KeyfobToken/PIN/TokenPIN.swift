package import KeyfobPrimitives

/// A token's PIN, and whether a program could send it repeatedly without a person noticing.
package struct TokenPIN: Sendable, Equatable {
    /// The origin of a PIN.
    package enum Origin: Sendable, Equatable {
        /// A person typed it, or the caller gave it, for one use.
        case given
        /// A source that gives the same PIN the next time, by its name in messages.
        case stored(String)
        /// An earlier `keyfob unlock` left it for later commands.
        case left
    }

    package let secret: SecretBytes
    package let origin: Origin

    package init(_ secret: SecretBytes, _ origin: Origin = .given) {
        self.secret = secret
        self.origin = origin
    }
}
