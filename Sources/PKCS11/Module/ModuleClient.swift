/// An object that keeps sessions with a token of a module.
protocol ModuleClient: AnyObject, Sendable {
    /// Whether an operation is in progress. The module waits for it before its library is initialised again.
    var isBusy: Bool { get }

    /// Called before this process logs in or out on the token in a slot.
    func willChangeLogin(in slot: UInt)
}
