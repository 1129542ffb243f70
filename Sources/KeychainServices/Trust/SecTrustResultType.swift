/// What an evaluation found; `SecTrustResultType` of SecTrust.h.
public enum SecTrustResultType: UInt32, Sendable {
    /// Nobody has evaluated since the last change.
    case invalid = 0
    /// Trusted, and somebody said so.
    case proceed = 1
    /// No longer used.
    case confirm = 2
    /// Somebody said not to trust it.
    case deny = 3
    /// Trusted: the chain ends in an anchor.
    case unspecified = 4
    /// Not trusted for a reason that another anchor, host or date could remove.
    case recoverableTrustFailure = 5
    /// Not trusted for a reason that nothing removes.
    case fatalTrustFailure = 6
    /// The evaluation failed.
    case otherError = 7
}
