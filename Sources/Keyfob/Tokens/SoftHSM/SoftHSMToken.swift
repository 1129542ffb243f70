public import Foundation

/// A token in our own SoftHSM directory, as SoftHSM itself describes it.
public struct SoftHSMToken: Sendable, Hashable {
    /// The label, without padding.
    public let label: String

    /// The serial number.
    public let serial: String

    /// Whether a user PIN is set. A token without one was left half made by a kill.
    public let hasUserPIN: Bool

    /// Where its objects are, one file each.
    public let directory: URL
}
