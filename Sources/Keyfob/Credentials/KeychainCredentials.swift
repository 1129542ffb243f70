/// The credentials of other programs: internet passwords, found by their address.
///
/// A program whose credentials must not be given to others has a security domain of its own. The domain is part of the
/// primary key, so that such a program does not replace the password of another one for the same account either.
package struct KeychainCredentials: Sendable {
    package let keychain: Keychain
    /// The security domain of the credentials; empty for passwords that any program may use.
    package let domain: String
}

extension Keychain {
    /// The credentials of other programs in a security domain; without one, those that any program may use.
    package func credentials(in domain: String = "") -> KeychainCredentials {
        KeychainCredentials(keychain: self, domain: domain)
    }
}

extension KeychainCredentials {
    /// The paths on a server that match a request.
    package enum Paths: Sendable {
        /// The same path only.
        case same
        /// The same path, and folders above it; the nearest one first.
        case above
        /// All paths on the server; the same one first.
        case all
    }

    /// The credentials at an address, without their secrets. The best match is first; equal ones begin with the most
    /// recently changed.
    ///
    /// - Parameter user: The account; `nil` for any.
    /// - Throws: The errors of `Keychain.find(_:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func find(
        _ address: CredentialAddress, user: String? = nil, paths: Paths = .same
    ) throws -> [InternetPassword] {
        func isMatch(_ password: InternetPassword, _ place: CredentialAddress) -> Bool {
            // Byte by byte, as the keychain tells accounts apart.
            if let user, !password.account.utf8.elementsEqual(user.utf8) { return false }
            return switch paths {
            case .same: place == address
            case .above: place.isAtOrAbove(address)
            case .all: place.sharesServer(with: address)
            }
        }
        // The index knows only the exact spelling of a server, and most are stored in lower case. The others are read
        // only if no such item matches.
        var found = try all(on: address.server).filter { isMatch($0.password, $0.address) }
        if found.isEmpty { found = try all().filter { isMatch($0.password, $0.address) } }
        // Not all sorts keep the order of equal elements.
        return found.enumerated().sorted { left, right in
            let (first, second) = (left.element.address.path, right.element.address.path)
            if (first == address.path) != (second == address.path) { return first == address.path }
            if paths == .above, first.utf8.count != second.utf8.count { return first.utf8.count > second.utf8.count }
            return left.offset < right.offset
        }.map(\.element.password)
    }

    /// The credentials on a server, or on all servers, with their addresses; the most recently changed first.
    ///
    /// - Throws: The errors of `Keychain.find(_:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func all(
        on server: String? = nil
    ) throws -> [(password: InternetPassword, address: CredentialAddress)] {
        var query = Query<InternetPassword>.internetPassword(server: server).ordered(by: .modified)
        query.criteria.includesSynchronizable = true
        return try keychain.find(query).compactMap { password in
            guard (password.securityDomain ?? "") == domain else { return nil }
            return CredentialAddress(of: password).map { (password, $0) }
        }
    }

    /// Stores a secret at an address, in place of the account's old one. An equal secret is not written again.
    ///
    /// - Parameter label: The name of a new item.
    /// - Returns: Whether anything was changed.
    /// - Throws: The errors of `Keychain.add(_:secret:)` and `Keychain.write(_:secret:)`.
    @available(*, noasync, message: "call it from a thread of your own")
    @discardableResult
    package func store(
        _ secret: SecretBytes, at address: CredentialAddress, user: String, label: String
    ) throws -> Bool {
        var failure: KeychainError?
        // Another process may add or remove the item between the search and the change.
        for _ in 0..<3 {
            do {
                if let old = try find(address, user: user).first {
                    guard try keychain.secret(of: old) != secret else { return false }
                    try keychain.write(old, secret: secret)
                } else {
                    var new = InternetPassword(
                        server: address.server, account: user, protocol: address.protocol, port: address.port,
                        path: address.path.isEmpty ? "" : "/" + address.path, label: label)
                    new.securityDomain = domain.isEmpty ? nil : domain
                    try keychain.add(new, secret: secret)
                }
                return true
            } catch let error as KeychainError where [.duplicateItem, .itemNotFound].contains(error.code) {
                failure = error
            }
        }
        throw failure ?? KeychainError(.vaultBusy, "another process keeps changing the item; nothing was stored.")
    }

    /// Removes those of the found credentials that fulfil a condition.
    ///
    /// A credential that another process changes after the condition was checked is kept.
    ///
    /// - Returns: The number of removed items.
    /// - Throws: The errors of `Keychain.delete(_:)`, and those of `condition`.
    @available(*, noasync, message: "call it from a thread of your own")
    @discardableResult
    package func remove(
        _ found: [InternetPassword], where condition: (InternetPassword) throws -> Bool = { _ in true }
    ) throws -> Int {
        try found.reduce(0) { count, password in
            guard let reference = password.reference, try condition(password) else { return count }
            var criteria = Criteria(reference)
            criteria.attributes[.modificationDate] = password.attributes[.modificationDate]
            do { return count + (try keychain.delete(criteria)) } catch let error as KeychainError
                where error.code == .itemNotFound
            { return count }
        }
    }
}
