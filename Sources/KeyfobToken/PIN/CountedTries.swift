/// The PIN tries of a token that does not report them, by Keyfob's own count.
package struct CountedTries: Sendable, Hashable {
    /// The number of wrong PINs since the last successful login that Keyfob knows of.
    package let failures: Int
    /// The number of wrong PINs in a row after which the token locks itself.
    package let limit: Int

    package init(failures: Int, limit: Int) {
        self.failures = failures
        self.limit = limit
    }

    /// Whether one more wrong PIN locks the token, or has done so.
    package var isFinal: Bool { failures >= limit - 1 }
}
