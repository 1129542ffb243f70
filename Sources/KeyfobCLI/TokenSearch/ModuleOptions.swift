import ArgumentParser

/// The options that name the module of a token.
struct ModuleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The PKCS#11 module of --token: a path, or its name in p11-kit.", valueName: "path|name"))
    var module: String?

    @Option(
        help: ArgumentHelp(
            "What the module of --module takes when it starts; NSS needs \"configdir='sql:DIRECTORY'\".",
            valueName: "text"))
    var moduleParameters: String?

    func validate() throws {
        guard moduleParameters == nil || module != nil else {
            throw ValidationError("--module-parameters requires --module PATH.")
        }
    }
}
