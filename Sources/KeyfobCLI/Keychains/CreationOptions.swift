import ArgumentParser

/// The options for a new keychain.
struct CreationOptions: ParsableArguments {
    @Flag(help: "Keep the token's PIN in a private file, so that nobody has to give a passphrase.")
    var unattended = false

    @Option(
        help: ArgumentHelp(
            "Where the recovery code goes; a file that exists is never overwritten, - is standard output.",
            valueName: "file"),
        completion: .file())
    var recoveryFile: String?

    @Option(
        help: ArgumentHelp("The PKCS#11 module of --token: a path, or its name in p11-kit.", valueName: "path|name"))
    var module: String?

    @Flag(help: "Try the PIN of --token even though the token says that one more wrong one blocks it.")
    var allowFinalTry = false
}
