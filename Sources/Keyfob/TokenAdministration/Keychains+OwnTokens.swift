import Foundation
import KeyfobPrimitives
import PKCS11

/// The tokens in Keyfob's own SoftHSM directory.
extension Keychains {
    /// Gives one of Keyfob's own tokens another label, and records it for its keychains.
    ///
    /// Call it in a process that has not used SoftHSM. A killed call may leave the new label without recording it; the
    /// same call records it then. A process that has the token open must open it again.
    ///
    /// - Parameters:
    ///   - token: The token, from `softHSM.tokens()`.
    ///   - label: The new label.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Returns: The names of the token's keychains.
    /// - Throws: `KeychainError` with code `invalidArgument` for a label that does not fit, `duplicateKeychain` if
    ///   another token has it, `tokenAbsent`, `timedOut`, or the code of an error of the system.
    @discardableResult
    public func relabel(
        _ token: SoftHSMToken, to label: String, timeout: Duration = .seconds(10)
    ) throws -> [String] {
        try TokenAdministration.check(label)
        if token.label != label { try softHSM.relabel(token, to: label, deadline: .after(timeout)) }
        var names: [String] = []
        for var configuration in try all() where configuration.module == .softHSM {
            // A keychain whose token URI is invalid is on no token.
            guard var uri = try? PKCS11URI(configuration.token), uri.serial == token.serial else { continue }
            names.append(configuration.name)
            guard uri.token != label else { continue }
            uri.token = label
            configuration.token = uri.description
            try write(configuration)
        }
        return names
    }

    /// Removes one of Keyfob's own tokens with all its keys.
    ///
    /// > Important: The keys cannot be recovered. A keychain on the token cannot be opened any more; `delete(_:)`
    /// > removes a keychain together with its token.
    ///
    /// - Parameters:
    ///   - token: The token, from `softHSM.tokens()`.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Throws: `KeychainError` with code `tokenAbsent`, `timedOut`, or the code of an error of the system.
    public func remove(_ token: SoftHSMToken, timeout: Duration = .seconds(10)) throws {
        try softHSM.destroyToken(serial: token.serial, label: token.label, deadline: .after(timeout))
    }

    /// Returns the number of objects of one of Keyfob's own tokens, without loading SoftHSM.
    ///
    /// - Throws: `KeychainError` if the token's directory cannot be read.
    package func objectCount(of token: SoftHSMToken) throws -> Int { try ObjectListing(of: token).files.count }
}
