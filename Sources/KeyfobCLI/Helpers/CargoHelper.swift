import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `cargo-credential-keyfob`: answers cargo, in its credential provider protocol: one JSON document per line.
struct CargoHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        "cargo", "Store and return tokens of cargo's registries.",
        examples: Examples(
            "keyfob helper install cargo",
            "keyfob helper ls",
            "keyfob ls cargo"),
        discussion: """
            cargo calls this command as cargo-credential-keyfob. Options in cargo's configuration, such as --keychain, \
            are used.
            """)

    @Flag(help: "Speak cargo's protocol; cargo adds this option.")
    var cargoPlugin = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    /// A token that authorises publishing must not be given to git, which may have the same server.
    private static let domain = "cargo"

    func answer() throws {
        guard cargoPlugin else {
            throw UsageError(
                "cargo calls this command itself, with --cargo-plugin.",
                hint: "How to configure it: keyfob helper install cargo --dry-run")
        }
        try send(["v": [1]])
        var input = try input()
        while let line = try input.line() {
            guard let request = JSONText(line.copyBytes()), case .object = request else {
                let error = UsageError("the request of cargo is not a JSON object; nothing was changed.")
                try send(["Err": Self.members(Failure(error))])
                throw ExitCode(ExitStatus.usage.rawValue)
            }
            do { try send(["Ok": reply(to: request)]) } catch let refusal as Refusal {
                try send(["Err": ["kind": refusal.rawValue] as Members])
            } catch {
                try send(["Err": Self.members(Failure(error))])
            }
        }
    }

    /// The errors that cargo distinguishes: after each of them it asks the next provider.
    private enum Refusal: String, Error {
        case urlNotSupported = "url-not-supported"
        case notFound = "not-found"
        case operationNotSupported = "operation-not-supported"
    }

    private func reply(to request: JSONText) throws -> Members {
        guard request["v"]?.integer == 1 else {
            throw UsageError("the request of cargo has another version than 1; nothing was changed.")
        }
        let kind = request["kind"]?.text ?? ""
        guard ["get", "login", "logout"].contains(kind) else { throw Refusal.operationNotSupported }
        guard let index = request["registry"]?["index-url"]?.text, let address = Self.address(of: index) else {
            throw Refusal.urlNotSupported
        }
        let keychain = try keychain(request["args"])
        let credentials = keychain.credentials(in: Self.domain)
        switch kind {
        case "get":
            guard let password = try credentials.find(address).first,
                let token = try keychain.secret(of: password)
            else { throw Refusal.notFound }
            // The token becomes a header of a request.
            try HelperAnswer.requireOneLine(token, "token")
            return [
                "kind": "get", "token": try HelperAnswer.text(token), "cache": "session", "operation_independent": true,
            ]
        case "login":
            guard let token = request["token"]?.text, !token.isEmpty else {
                throw KeychainError(
                    .pinRequired, "keyfob does not ask for the token; nothing was stored.",
                    hint: "Give it on standard input: cargo login < FILE")
            }
            let secret = SecretBytes(utf8: token)
            try HelperAnswer.requireOneLine(secret, "token")
            try credentials.store(secret, at: address, user: "", label: "cargo-registry:" + index)
        default:
            guard try credentials.remove(credentials.find(address)) > 0 else { throw Refusal.notFound }
        }
        return ["kind": kind]
    }

    /// The address of an index; `nil` if it has none. `sparse+` and `registry+` name the protocol of the index.
    private static func address(of index: String) -> CredentialAddress? {
        let url = index.dropping(prefix: "sparse+") ?? index.dropping(prefix: "registry+") ?? index
        guard url.contains("://") else { return nil }
        // Another provider may support it.
        return try? CredentialAddress(url: url)
    }

    /// Opens the keychain with the options in cargo's configuration, which cargo sends with each request.
    private func keychain(_ arguments: JSONText?) throws -> Keychain {
        guard case .array(let list)? = arguments, !list.isEmpty else { return try openKeychain(global) }
        // ArgumentParser's message would repeat an unknown argument, which may be a token.
        guard let options = try? GlobalOptions.parse(list.compactMap(\.text)) else {
            throw UsageError(
                "cargo's configuration gives this helper an unknown option.",
                hint: "It takes the global options of keyfob, such as --keychain NAME.")
        }
        return try openKeychain(options)
    }

    private static func members(_ failure: Failure) -> Members {
        ["kind": "other", "message": "keyfob: " + failure.message, "caused-by": failure.hint.map { [$0] } ?? []]
    }

    private func send(_ message: Members) throws { try StandardOutput.write(Value.object(message).json + "\n") }
}
