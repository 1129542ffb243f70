import Keyfob

extension Keychain.Options {
    /// Waits for others as long as a busy machine may make it, which is longer than a server wants to wait.
    static var patient: Self {
        var options = Self()
        options.timeout = .seconds(120)
        return options
    }
}
