/// What a row of the vault stands for.
///
/// An object on the token and a row of the vault cannot be written in one transaction. So the row comes first, the
/// object second, and one transaction makes the result visible. Readers see live rows only, and no object that a row
/// in another state names.
enum RowState: Int64, Sendable {
    /// An item.
    case live = 0
    /// An object that a change is making. After a killed change the object, if it is there, stays hidden until an
    /// import adopts it or a check removes it.
    case pending = 1
    /// An object that a change is destroying. After a killed change the next opening destroys the object.
    case removing = 2
}
