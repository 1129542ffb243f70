/// The requirement for a private key that is already on the token, before another item is made of it.
package enum ExistingKeyPolicy: Sendable {
    /// Any key is accepted.
    case any
    /// The key must be extractable.
    case mayLeave
    /// The key must not be extractable.
    case mustStay
    /// The key must not be on the token, whatever its other attributes are.
    case refused
}
