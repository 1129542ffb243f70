import ArgumentParser
import Keyfob
import PKCS11

/// `keyfob keychain repoint`: makes a keychain use another token, or the same one under another label.
struct KeychainRepoint: OutputCommand {
    static let configuration = CommandConfiguration(
        "repoint", "Make a keychain use a token whose label has changed, or that has a copy of its wrapping key.",
        examples: Examples(
            "keyfob keychain repoint site --token hsm2",
            "keyfob keychain repoint site --token hsm2 --dry-run",
            "keyfob keychain repoint site --token 'pkcs11:token=hsm2;serial=0123' --module /usr/lib/hsm.so"),
        discussion: """
            The token must prove that it is the right one: its key opens the keychain. A token with a serial number of its \
            own is found under any label, so this command is for tokens whose serial number is zero, and for those that \
            were exchanged. Without --module, the keychain's module is used.
            """)

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        try global.requireNoOther(than: name)
        guard let token = global.token else {
            throw UsageError("the token is missing; nothing was changed.", hint: "Name it: --token LABEL")
        }
        let keychains = Keychains()
        let former = try keychains.configuration(name)
        let (module, parameters) = location.module.map { ($0, location.moduleParameters) } ?? Self.module(of: former)
        let found = try TokenChoice.find(
            token, module: module, parameters: parameters, environmentModule: global.modulePath)
        let uri = found.info.uri
        let isNew = uri.description != former.token || found.location != former.module
        if isNew, !global.dryRun {
            _ = try keychains.repoint(name, to: uri, in: found.location, options: global.keychainOptions())
        }
        let shown = TerminalSafe.text(found.info.label)
        try output.emit(
            Document(
                global.effect(isNew ? .update : .none),
                [
                    "keychain": name, "token": found.info.label, "token_uri": uri.description,
                    "former_token_uri": former.shownTokenURI,
                ]),
            sentence: !isNew
                ? "Nothing to do: keychain \"\(name)\" uses token \"\(shown)\"."
                : global.dryRun
                    ? "Would make keychain \"\(name)\" use token \"\(shown)\", if its key opens the keychain."
                    : "Keychain \"\(name)\" uses token \"\(shown)\" now.")
    }

    private static func module(of configuration: KeychainConfiguration) -> (name: String?, parameters: String?) {
        switch configuration.module {
        case .softHSM: (nil, nil)
        case .path(let path, let parameters): (path, parameters)
        case .registered(let name): (name, nil)
        }
    }
}
