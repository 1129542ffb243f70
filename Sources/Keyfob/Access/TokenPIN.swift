import KeyfobPrimitives

/// A token's PIN, and whether a program could send it again and again without anybody knowing.
struct TokenPIN: Sendable, Equatable {
    /// Where a PIN comes from.
    enum Origin: Sendable, Equatable {
        /// A person typed it, or the caller gave it, for this one time.
        case given
        /// A source that gives the same PIN the next time.
        case stored(PINSource)
        /// An earlier `keyfob unlock` left it for the commands that follow.
        case left
    }

    let secret: SecretBytes
    let origin: Origin

    init(_ secret: SecretBytes, _ origin: Origin = .given) {
        self.secret = secret
        self.origin = origin
    }

    /// A PIN of a source; `nil` stands for a PIN that was given once.
    init(_ secret: SecretBytes, storedIn source: PINSource?) {
        self.init(secret, source.map { .stored($0) } ?? .given)
    }
}
