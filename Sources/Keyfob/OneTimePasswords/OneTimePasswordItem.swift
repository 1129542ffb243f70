/// How the generators of one-time passwords are stored: as generic passwords whose secret is the URI of the generator.
///
/// The service is the name with a prefix, so that a password of the same name is another item, and no search for the
/// password of a service returns a seed. An item with the prefix and another kind is not one.
package enum OneTimePasswordItem {
    /// The beginning of the service of such an item.
    package static let prefix = "otp:"
    private static let kind = "one-time password"

    /// Returns a new item.
    ///
    /// - Parameter user: The account that distinguishes items of one name.
    package static func new(_ name: String, user: String) -> Item {
        var password = GenericPassword(service: prefix + name, account: user)
        password.kind = kind
        return password.item
    }

    /// Whether an item is such an item.
    package static func isOne(_ item: Item) -> Bool {
        guard item.itemClass == .genericPassword, name(of: item) != nil else { return false }
        // A manifest, which describes no kind, may have made it.
        return [nil, kind].contains(item.attributes[.kind]?.text)
    }

    /// The name without the prefix; `nil` for another item.
    package static func name(of item: Item) -> String? {
        // By bytes: a combining mark at the beginning of a name would make one character with the colon.
        guard let service = item.attributes[.service]?.text, service.utf8.starts(with: prefix.utf8) else { return nil }
        return String(service.utf8.dropFirst(prefix.utf8.count))
    }
}

extension Keychain {
    /// Returns the generator of a stored item.
    ///
    /// - Throws: `KeychainError.unsupportedFormat` if its secret is not the URI of one, `itemNotFound` if it has no
    ///   secret, and the errors of `secret(of:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func oneTimePassword(of item: Item) throws -> OneTimePassword {
        guard let secret = try secret(of: item) else {
            throw KeychainError(.itemNotFound, "the one-time password in keychain \"\(name)\" has no seed.")
        }
        do { return try OneTimePassword(parsing: secret) } catch {
            throw error.with(message: "the stored one-time password cannot be used: " + error.message)
        }
    }
}
