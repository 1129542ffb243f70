import Keyfob

/// The words for a keychain, or for a token that was opened without one.
extension Keychain {
    /// The keychain or token in messages, such as `keychain "login"`.
    var title: String { (hasVault ? "keychain" : "token") + " \"\(name)\"" }

    /// The keychain or token with its preposition, such as `in keychain "login"`.
    var place: String { (hasVault ? "in " : "on ") + title }

    /// The name of the keychain in documents; `nil` for a token.
    var nameInDocuments: String? { hasVault ? name : nil }

    /// The details of an error about an item of the keychain or token.
    func details(_ others: [String: String]) -> [String: String] {
        others.merging([hasVault ? "keychain" : "token": name]) { other, _ in other }
    }
}
