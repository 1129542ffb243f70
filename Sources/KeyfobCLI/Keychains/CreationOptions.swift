import ArgumentParser

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

    @Option(
        help: ArgumentHelp("The PKCS#11 module of --token: a path, or its name in p11-kit.", valueName: "path|name"))
    var module: String?

    @Flag(help: "Try the PIN of --token even if another wrong one would block the token.")
    var allowFinalTry = false
}
