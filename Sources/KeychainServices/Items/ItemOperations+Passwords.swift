import Foundation
import Keyfob
import KeyfobPrimitives

/// Items whose data is under a password of the application's own.
extension ItemRequest {
    /// The data to store: under the credential of the call where the access control asks for a password.
    ///
    /// - Throws: `StatusError`, `CryptoError`, `OpenSSLError`.
    func sealed(_ data: SecretBytes?, _ flags: SecAccessControlCreateFlags) throws -> SecretBytes? {
        guard let credential, flags.contains(.applicationPassword) else { return data }
        // What has no data is under the password all the same: who asks for it must know it.
        return try ApplicationPassword(credential).seal(data ?? SecretBytes([]))
    }
}

extension Item {
    /// The data of the item, out of the seal that it may be in.
    ///
    /// - Throws: `StatusError` (`errSecAuthFailed`) where the call has not the password; `CryptoError`, `OpenSSLError`.
    func opened(_ data: SecretBytes?, with credential: SecretBytes?) throws -> SecretBytes? {
        guard let data, asksForPassword, ApplicationPassword.isSeal(data) else { return data }
        guard let credential else {
            throw StatusError(errSecAuthFailed, "the item asks for a password, and kSecUseCredentialReference has none")
        }
        return try ApplicationPassword(credential).open(data)
    }
}

extension ItemOperations {
    /// A change met an item whose data may be under a password.
    private struct PasswordNeeded: Error {}

    /// Changes passwords, all or none.
    ///
    /// - Throws: As `update(_:_:)`.
    func updatePasswords(_ criteria: Criteria, _ request: ItemRequest, _ changes: ItemChanges) throws {
        let isAboutData = changes.data != nil || changes.touchesAccessControl
        let sealsNow = request.credential != nil && changes.controlFlags?.contains(.applicationPassword) == true
        var criteria = criteria
        let check = criteria.services?.check
        if isAboutData {
            // Asked of each item on its way: nobody else pays for it.
            criteria.services?.check = { item in
                try check?(item)
                guard !sealsNow && !item.asksForPassword else { throw PasswordNeeded() }
            }
        }
        do {
            try keychain.update(criteria, changes.attributes, removing: changes.removed, secret: changes.data)
        } catch is PasswordNeeded {
            criteria.services?.check = check
            try keychain.replace(changes: changes.attributes, removing: changes.removed) {
                let items = try checkedItems(criteria)
                guard !items.isEmpty else { throw StatusError(errSecItemNotFound) }
                return try items.map { ($0, .secret(try resealed($0, request, changes))) }
            }
        }
    }

    /// The data that an item has after a change, sealed as its access control asks then.
    private func resealed(_ item: Item, _ request: ItemRequest, _ changes: ItemChanges) throws -> SecretBytes {
        let old = item.hasSecret ? try keychain.secret(of: item) : nil
        // Who does not know the password changes nothing that it protects.
        let plain = try item.opened(old, with: request.credential)
        let wasSealed = old.map { item.asksForPassword && ApplicationPassword.isSeal($0) } ?? false
        let flags = changes.touchesAccessControl ? changes.controlFlags ?? [] : item.constraints
        let data = changes.data ?? plain ?? SecretBytes([])
        // An item that was added without a password goes on without one until it gets an access control with one.
        guard wasSealed || changes.touchesAccessControl else { return data }
        return try request.sealed(data, flags) ?? data
    }
}
