/// An object whose operations a module waits for before its library is initialised again.
protocol ModuleClient: AnyObject, Sendable {
    /// Whether an operation is in progress.
    var isBusy: Bool { get }
}
