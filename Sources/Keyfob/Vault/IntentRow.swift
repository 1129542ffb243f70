import Foundation

/// A change to several objects on the token that is under way; see ``ItemStore``.
struct IntentRow: Sendable {
    var id: Int64 = 0
    /// The sealed plan.
    var plan: SealedBytes
    /// 16 random bytes that the plan's additional data names.
    var identity: Data
}
