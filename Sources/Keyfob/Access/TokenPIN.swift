import KeyfobPrimitives

/// A token's PIN, and whether a program could send it repeatedly without a person noticing.
struct TokenPIN: Sendable, Equatable {
    /// The origin of a PIN.
    enum Origin: Sendable, Equatable {
        /// A person typed it, or the caller gave it, for one use.
        case given
        /// A source that gives the same PIN the next time.
        case stored(PINSource)
        /// An earlier `keyfob unlock` left it for later commands.
        case left
    }

    let secret: SecretBytes
    let origin: Origin

    init(_ secret: SecretBytes, _ origin: Origin = .given) {
        self.secret = secret
        self.origin = origin
    }

    /// Creates a PIN from a source; `nil` stands for a PIN that was given for one use.
    init(_ secret: SecretBytes, storedIn source: PINSource?) {
        self.init(secret, source.map { .stored($0) } ?? .given)
    }
}
