/// What a private key that the token has already must be, so that one more item may be made of it.
package enum ExistingKey: Sendable {
    /// It may be any.
    case any
    /// It must be one that may leave the token.
    case mayLeave
    /// It must be one that may not.
    case mustStay
    /// There must be none, whatever its other attributes are.
    case refused
}
