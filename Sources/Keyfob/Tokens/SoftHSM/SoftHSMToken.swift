public import Foundation

/// A token in Keyfob's SoftHSM directory, as described by its `token.object`.
public struct SoftHSMToken: Sendable, Hashable {
    /// The label, without padding.
    public let label: String

    /// The serial number.
    public let serial: String

    /// Whether a user PIN is set. A token without one is incomplete because its creation was killed.
    public let hasUserPIN: Bool

    /// The directory of its objects, with one file for each.
    public let directory: URL
}
