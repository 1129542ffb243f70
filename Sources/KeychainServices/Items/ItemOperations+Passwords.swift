import Foundation
import Keyfob
import KeyfobPrimitives

/// Items whose data is encrypted under an application password.
extension ItemRequest {
    /// Returns the data to store, sealed with the credential of the call if the access control requires a password.
    ///
    /// - Throws: `StatusError`, `CryptoError`, `OpenSSLError`.
    func sealed(_ data: SecretBytes?, _ flags: SecAccessControlCreateFlags) throws -> SecretBytes? {
        guard let credential, flags.contains(.applicationPassword) else { return data }
        // An item without data is sealed too, so that reading it also requires the password.
        return try ApplicationPassword(credential).seal(data ?? SecretBytes([]))
    }
}

extension Item {
    /// Returns the data of the item, unsealed if it was sealed.
    ///
    /// - Throws: `StatusError` (`errSecAuthFailed`) if the call lacks the password; `CryptoError`, `OpenSSLError`.
    func opened(_ data: SecretBytes?, with credential: SecretBytes?) throws -> SecretBytes? {
        guard let data, asksForPassword, ApplicationPassword.isSeal(data) else { return data }
        guard let credential else {
            throw StatusError(errSecAuthFailed, "the item asks for a password, and kSecUseCredentialReference has none")
        }
        return try ApplicationPassword(credential).open(data)
    }
}

extension ItemOperations {
    /// Thrown when a change meets an item whose data may be sealed with a password.
    private struct PasswordNeeded: Error {}

    /// Changes passwords, all or none.
    ///
    /// - Throws: `StatusError`, `KeychainError`; `errSecItemNotFound` if no item matches, `errSecAuthFailed` if the
    ///   call lacks the password of an item.
    func updatePasswords(_ criteria: Criteria, _ request: ItemRequest, _ changes: ItemChanges) throws {
        let isAboutData = changes.data != nil || changes.touchesAccessControl
        let sealsNow = request.credential != nil && changes.controlFlags?.contains(.applicationPassword) == true
        var criteria = criteria
        let check = criteria.services?.check
        if isAboutData {
            // Tested on each item as it is changed, so that items without a password need no second search.
            criteria.services?.check = { item in
                try check?(item)
                guard !sealsNow && !item.asksForPassword else { throw PasswordNeeded() }
            }
        }
        do {
            try keychain.update(criteria, changes.attributes, removing: changes.removed, secret: changes.data)
        } catch is PasswordNeeded {
            criteria.services?.check = check
            try keychain.vaultRows.replace(changes: changes.attributes, removing: changes.removed) {
                let items = try checkedItems(criteria)
                guard !items.isEmpty else { throw StatusError(errSecItemNotFound) }
                return try items.map { ($0, .secret(try resealed($0, request, changes))) }
            }
        }
    }

    /// Returns the data of an item after a change, sealed as its new access control requires.
    private func resealed(_ item: Item, _ request: ItemRequest, _ changes: ItemChanges) throws -> SecretBytes {
        let old = item.hasSecret ? try keychain.secret(of: item) : nil
        // Without the password, a caller cannot change what it protects.
        let plain = try item.opened(old, with: request.credential)
        let wasSealed = old.map { item.asksForPassword && ApplicationPassword.isSeal($0) } ?? false
        let flags = changes.touchesAccessControl ? changes.controlFlags ?? [] : item.constraints
        let data = changes.data ?? plain ?? SecretBytes([])
        // An item that was added without a password stays without one until it gets an access control that requires
        // one.
        guard wasSealed || changes.touchesAccessControl else { return data }
        return try request.sealed(data, flags) ?? data
    }
}
