/// The result of an evaluation; `SecTrustResultType` of SecTrust.h.
public enum SecTrustResultType: UInt32, Sendable {
    /// There was no evaluation since the last change.
    case invalid = 0
    /// Trusted because of an explicit decision.
    case proceed = 1
    /// No longer used.
    case confirm = 2
    /// Explicitly distrusted.
    case deny = 3
    /// Trusted: the chain ends in an anchor.
    case unspecified = 4
    /// Not trusted for a reason that another anchor, host or date could remove.
    case recoverableTrustFailure = 5
    /// Not trusted for a reason that cannot be removed.
    case fatalTrustFailure = 6
    /// The evaluation failed.
    case otherError = 7
}
