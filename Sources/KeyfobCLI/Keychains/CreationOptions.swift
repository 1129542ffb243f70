import ArgumentParser
import PKCS11

/// The options for a new keychain.
struct CreationOptions: ParsableArguments {
    @Flag(help: "Keep the token's PIN in a private file, so that no passphrase is needed.")
    var unattended = false

    @Option(
        help: ArgumentHelp(
            "The file for the recovery code; an existing file is never overwritten; - is standard output.",
            valueName: "file"),
        completion: .file())
    var recoveryFile: String?

    @OptionGroup var passphrase: NewPassphrase

    @OptionGroup var location: ModuleOptions

    @Option(
        help: ArgumentHelp(
            "The key on the token of --token that seals the keychain, instead of a new one; keyfob never changes it.",
            valueName: "uri"))
    var wrappingKey: String?

    @Flag(help: "Make a keychain on --token for keys, certificates and identities, which needs no wrapping key.")
    var noPasswords = false

    /// The module of `--module`.
    var module: String? { location.module }

    /// The URI of `--wrapping-key`.
    ///
    /// - Throws: `UsageError` if it is not a PKCS#11 URI, or contains a PIN.
    var wrappingKeyURI: PKCS11URI? {
        get throws {
            guard let wrappingKey else { return nil }
            guard PKCS11URI.hasScheme(wrappingKey) else {
                throw UsageError(
                    "--wrapping-key takes a PKCS#11 URI.", hint: "Example: --wrapping-key 'pkcs11:id=%03;type=private'")
            }
            return try TokenChoice.uri(wrappingKey)
        }
    }
}
