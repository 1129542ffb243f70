import Keyfob
import PKCS11

extension KeychainConfiguration {
    /// The label of the token, or its URI if the URI cannot be parsed.
    var tokenLabel: String {
        // A URI that cannot be read is shown as it is.
        (try? PKCS11URI(token))?.token ?? shownTokenURI
    }

    /// The token's URI, without a PIN if the configuration has one in it.
    var shownTokenURI: String {
        // An invalid URI is shown without its attributes.
        guard PKCS11URI.seemsToHoldPIN(token) else { return token }
        return (try? PKCS11URI(token))?.description ?? "pkcs11:…"
    }
}
