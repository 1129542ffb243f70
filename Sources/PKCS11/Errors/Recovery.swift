/// The action after which an operation that a token refused may succeed.
///
/// Recoveries are ordered. A caller that repeats an operation starts with the recovery of its return value, and
/// proceeds to the next one while the refusal stays. An operation that may not run twice is never repeated.
public struct Recovery: Hashable, Sendable, CustomStringConvertible {
    /// The position in the order; `final` is zero.
    let order: Int

    /// The name of the recovery.
    public let description: String

    /// None: the same call would be refused again, or repeating it could do harm.
    public static let final = Recovery(order: 0, description: "final")
    /// Make the same call again after a moment.
    public static let retry = Recovery(order: 1, description: "retry")
    /// Find the object again, because its handle is stale. Only the caller can do this.
    public static let lookUpAgain = Recovery(order: 2, description: "look up again")
    /// Use another session with the token; close the present one.
    public static let reopenSession = Recovery(order: 3, description: "reopen session")
    /// Log in again, once.
    public static let logInAgain = Recovery(order: 4, description: "log in again")
    /// Finalise and initialise the module, once for all threads.
    public static let reloadModule = Recovery(order: 5, description: "reload module")
}
