import Foundation
package import PKCS11

/// Tokens whose label has changed, and tokens that may be an absent one under another label or serial number.
extension TokenStore {
    /// The module, if it is loaded.
    package var loadedModule: Module? { loadedPool?.module }

    /// The token's URI with the label that the token had when it was last found.
    package var currentURI: PKCS11URI {
        var uri = uri
        if let label = loadedPool?.foundLabel { uri.token = label }
        return uri
    }

    /// Adds to the error of an absent token the tokens of its kind that are present instead.
    ///
    /// Some modules give each token a serial number of zeros. If the label of such a token changes, nothing shows which
    /// token it is, so only the user can choose it.
    ///
    /// - Parameter error: The error, with code `tokenAbsent`.
    /// - Returns: The error.
    package func namingLookalikes(_ error: KeychainError) -> KeychainError {
        // The look-up only adds to the error. A module that fails here has nothing to add.
        guard softHSM == nil, let module = loadedModule, let slots = try? module.slots() else { return error }
        let present = slots.compactMap { try? $0.tokenInfo() }.filter { info in
            info.flags.contains(.tokenInitialized) && info.manufacturer == uri.manufacturer && info.model == uri.model
        }
        let reason: String
        let other: TokenInfo
        if let namesake = present.first(where: { $0.label == uri.token }) {
            other = namesake
            reason = "A token of this label with another serial number (\(other.serialNumber)) is present. It was "
                + "initialised again, or is another one."
        } else if uri.ignoringLabel == nil, let lookalike = present.first {
            other = lookalike
            reason = "Token \"\(other.label)\" of the same model is present. The label may have changed: the token has "
                + "no serial number of its own by which it could be recognised."
        } else {
            return error
        }
        let name = present.count(where: { $0.label == other.label }) == 1 ? other.label : other.uri.description
        var details = error.details
        details["present"] = other.uri.description
        return error.with(
            remedies: [
                Remedy(reason),
                Remedy("If its keys are those of the keychain", .repointKeychain(keychain, token: name)),
            ] + error.remedies,
            details: details)
    }
}
