/// What may make an operation succeed that a token refused.
///
/// The rungs of a ladder: whoever repeats an operation starts at the rung its return value names, and
/// climbs while the refusal stays. An operation that may not run twice is never repeated.
public struct Recovery: Hashable, Sendable, CustomStringConvertible {
    /// The rung's place on the ladder; `final` stands apart at zero.
    let order: Int

    /// The rung's name.
    public let description: String

    /// Nothing: the same call would be refused again, or repeating it could do harm.
    public static let final = Recovery(order: 0, description: "final")
    /// The same call after a moment.
    public static let retry = Recovery(order: 1, description: "retry")
    /// Find the object again: its handle is stale. Only the caller knows how it found it.
    public static let lookUpAgain = Recovery(order: 2, description: "look up again")
    /// Another session with the token; the one at hand must be closed.
    public static let reopenSession = Recovery(order: 3, description: "reopen session")
    /// Log in again, once.
    public static let logInAgain = Recovery(order: 4, description: "log in again")
    /// Finalise and initialise the module, once for all threads.
    public static let reloadModule = Recovery(order: 5, description: "reload module")
}
