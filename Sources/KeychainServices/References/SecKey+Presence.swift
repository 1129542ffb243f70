import Keyfob

extension SecKey {
    /// Asks the user to confirm the use of a key whose access control requires it.
    ///
    /// The keychain of the key asks; for a key in memory, the keychain of the process.
    ///
    /// - Throws: The errors of `Keychain.confirmPresence()`.
    func confirmUse() throws {
        guard asksForPresence else { return }
        if case .token(let key) = material {
            try key.keychain.confirmPresence()
        } else {
            try currentKeychain().confirmPresence()
        }
    }

    /// Whether a person has to confirm each use of the key.
    var asksForPresence: Bool {
        if case .token = material { return item?.needsPresence ?? false }
        return staysInMemory && item?.needsPresence ?? false
    }
}
