import KeyfobPrimitives

extension TokenPIN {
    /// Creates a PIN from a source; `nil` stands for a PIN that was given for one use.
    init(_ secret: SecretBytes, storedIn source: PINSource?) {
        self.init(secret, source.map { .stored($0.name) } ?? .given)
    }
}
