import Keyfob

extension Keychain.Options {
    /// Waits for other processes as long as a busy machine may need, which is longer than a server would wait.
    static var patient: Self {
        var options = Self()
        options.timeout = .seconds(120)
        return options
    }
}
