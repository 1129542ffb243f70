/// The meaning of a row of the vault.
///
/// An object on the token and a row of the vault cannot be written in one transaction. A change therefore writes the
/// row first and the object second, and makes the result visible in one transaction. Readers see only live rows. They
/// do not see an object that a row in another state names.
enum RowState: Int64, Sendable {
    /// An item.
    case live = 0
    /// An object that a change is making.
    ///
    /// If the change is killed, the object stays hidden until an import adopts it or a check removes it.
    case pending = 1
    /// An object that a change is destroying.
    ///
    /// If the change is killed, the next opening destroys the object.
    case removing = 2
}
