import ArgumentParser
import Keyfob

/// Whether a command may put an Ed25519 key on a token with keys of other kinds.
///
/// OpenSSL's pkcs11 engine (libp11) gives up on all private keys of a token at the first Ed25519 key. A running server
/// notices it only at its next start, which may be much later.
struct MixedKeysOptions: ParsableArguments {
    @Flag(help: "Put Ed25519 and other keys on one token; OpenSSL's pkcs11 engine then cannot use any of them.")
    var allowMixedKeys = false

    /// Refuses new private keys that would make the engine fail for all keys of the token.
    ///
    /// - Parameter isEdwards: For each new key, whether it is an Ed25519 key.
    /// - Throws: `KeychainError.refused` if Ed25519 and other keys would be on the token, unless `allowMixedKeys` is
    ///   set.
    func check(adding isEdwards: [Bool], to keychain: Keychain) throws {
        guard !allowMixedKeys, !isEdwards.isEmpty else { return }
        let keys = try keychain.find(.keys.keyClass(.private))
        let edwards = keys.first { $0.keyType == .ed25519 }
        let other = keys.first { $0.keyType != .ed25519 }
        guard edwards != nil || isEdwards.contains(true), other != nil || isEdwards.contains(false) else { return }
        let engine = "OpenSSL's pkcs11 engine (nginx, httpd, curl, libpq)"
        let message =
            if let edwards {
                "token \"\(keychain.tokenLabel)\" has an Ed25519 private key, \"\(edwards.label ?? "")\"; with other "
                    + "keys beside it, \(engine) cannot use any key on the token."
            } else {
                "with an Ed25519 private key beside others, \(engine) cannot use any key on the token"
                    + (other.map { ", such as \"\($0.label ?? "")\" on \"\(keychain.tokenLabel)\"." } ?? ".")
            }
        throw KeychainError(
            .refused, message,
            remedies: [
                "Use another keychain for it: keyfob keychain create NAME --unattended",
                "To do it anyway: --allow-mixed-keys",
            ],
            details: ["keychain": keychain.name, "token": keychain.tokenLabel])
    }
}
