import Foundation
import KeyfobPrimitives
import Logging
public import PKCS11

/// Keychains whose token has another label than before, or whose keys are on another token.
extension Keychains {
    /// Makes a keychain use another token, after proving that the token opens its vault.
    ///
    /// For a token whose label has changed and which has no serial number of its own, and for a token to which the
    /// wrapping key was copied. The key on the token must open the vault's metadata key. A keychain that takes no
    /// passwords has no such key: the token must have one of the objects that the vault lists.
    ///
    /// The call blocks for a login and some token operations. Nothing on the token changes.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - token: The token, best with all attributes of `TokenInfo.uri`.
    ///   - module: The location of the token's module.
    ///   - options: The options for opening the keychain.
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `refused` for a token that Keyfob made,
    ///   `wrappingKeyMissing` or `vaultDamaged` if the token does not open the vault, `itemNotFound` if it has none of
    ///   the listed objects, and the errors of `Keychain.unlock()`. The keychain then keeps its token.
    @discardableResult
    public func repoint(
        _ name: String, to token: PKCS11URI, in module: ModuleLocation, options: Keychain.Options = .init()
    ) throws -> KeychainConfiguration {
        try options.withDeadline(isInProcess: module == .softHSM) { [self] in
            let former = try configuration(name)
            guard former.module != .softHSM, module != .softHSM else {
                throw KeychainError(
                    .refused,
                    "a token that Keyfob made belongs to the keychain that it was made for; nothing was changed.",
                    details: ["keychain": name])
            }
            var configuration = former
            configuration.token = token.description
            configuration.module = module
            var trial = configuration
            // An earlier unlocking left the PIN of the former token, which the new one must not get.
            trial.uuid = UUID()
            let keychain = try open(trial, options: options)
            let keys = try keychain.vaultKeys()
            if configuration.takesPasswords {
                _ = try keychain.unwrapMetadataKey()
            } else {
                try keychain.tokenItems.requireListedObject(keys)
            }
            return try changeConfiguration(name, until: .after(options.timeout)) { written in
                written.token = configuration.token
                written.module = configuration.module
            }
        }
    }
}

extension Keychain {
    /// Records the token's new label in the configuration if the token was found by its serial number.
    ///
    /// Call it after the token has opened the vault, which proves that it is the right one.
    func recordLabel() {
        let (former, current) = (token.uri, token.currentURI)
        guard hasVault, configuration.module != .softHSM, former.token != current.token else { return }
        let keychains = Keychains(directories)
        do {
            // A process that changes the configuration may wait for this one, so this one does not wait.
            try keychains.changeConfiguration(name, until: .after(.zero)) { written in
                guard written.uuid == configuration.uuid, written.token == configuration.token else { return }
                written.token = current.description
            }
            options.logger.notice(
                "the token has a new label",
                metadata: ["keychain": "\(name)", "former": "\(token.label)", "label": "\(current.token ?? "")"])
        } catch {
            // The token is found by its serial number next time, too.
            options.logger.warning(
                "the token's new label cannot be recorded", metadata: ["keychain": "\(name)", "error": "\(error)"])
        }
    }
}
