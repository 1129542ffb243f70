import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `docker-credential-keyfob`: answers docker, in the protocol of docker-credential-helpers.
///
/// docker reads errors from standard output, and recognises three sentences.
struct DockerHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        "docker", "Store and return logins of docker.",
        examples: Examples(
            "keyfob helper install docker --configure",
            "keyfob helper docker get <<< registry.example.org",
            "keyfob helper docker list"),
        discussion: """
            docker calls this command as docker-credential-keyfob. A registry that docker has not logged in to gets \
            the internet password of its address or of its server, if there is one.
            """)

    @Argument(help: "get, store, erase, list or version.")
    var operation: String

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    /// The security domain of docker's logins. docker asks for all of them and sends them to builders, so passwords of
    /// other programs are not among them.
    private static let domain = "docker"

    /// The beginning of an item's name; the registry follows as docker spells it.
    private static let labelPrefix = "docker:"

    func answer() throws {
        switch operation {
        case "get": try get()
        case "store": try store()
        case "erase": try erase()
        case "list": try list()
        case "version": try StandardOutput.write("docker-credential-keyfob (keyfob) \(ProductVersion.text)\n")
        default: throw UsageError("unknown operation \"\(TerminalSafe.text(operation))\".")
        }
    }

    func report(_ failure: Failure) -> ExitStatus {
        // If standard output cannot be written, the status still reports the failure.
        do { try StandardOutput.write(failure.oneLine + "\n") } catch {}
        return .failure
    }

    private func get() throws {
        let registry = try registry()
        let address = try CredentialAddress(url: registry)
        let keychain = try openKeychain(warmsUpToken: true)
        var failure: (any Error)?
        for domain in [Self.domain, ""] {
            // The passwords of other programs include those of the whole server.
            let paths: KeychainCredentials.Paths = domain.isEmpty ? .above : .same
            for password in try keychain.credentials(in: domain).find(address, paths: paths) {
                guard let stored = try keychain.secret(of: password) else { continue }
                let text: String
                do {
                    let value = try domain.isEmpty ? GitSecret(stored: stored).password : stored
                    guard let secret = value else { continue }
                    text = try HelperAnswer.text(secret)
                } catch {
                    // Another item may have a secret for docker.
                    failure = failure ?? error
                    continue
                }
                let answer: Members = ["ServerURL": registry, "Username": password.account, "Secret": text]
                return try StandardOutput.write(Value.object(answer).json + "\n")
            }
        }
        if let failure { throw failure }
        throw KeychainError(.itemNotFound, "credentials not found in native keychain")
    }

    /// Stores a login in place of all other logins to the registry: docker has one per registry.
    private func store() throws {
        var input = try input()
        guard let login = JSONText(try input.rest().copyBytes()), case .object = login else {
            throw UsageError("the login is not a JSON object; nothing was changed.")
        }
        let registry = try Self.required(login["ServerURL"], "no credentials server URL")
        let user = try Self.required(login["Username"], "no credentials username")
        guard let secret = login["Secret"]?.text else { throw UsageError("no credentials secret") }
        let address = try CredentialAddress(url: registry)
        let credentials = try openKeychain().credentials(in: Self.domain)
        try credentials.store(
            SecretBytes(utf8: secret), at: address, user: user, label: Self.labelPrefix + registry)
        try credentials.remove(credentials.find(address)) { $0.account != user }
    }

    /// Removes the logins that docker stored. A registry without one is not an error: docker logs out twice.
    private func erase() throws {
        let address = try CredentialAddress(url: registry())
        let credentials = try openKeychain().credentials(in: Self.domain)
        try credentials.remove(credentials.find(address))
    }

    /// Prints the accounts by registry, each spelled as docker stored it.
    private func list() throws {
        let logins = try openKeychain().credentials(in: Self.domain).all().map { login in
            // The user may have given the item another name.
            let label = login.password.label?.dropping(prefix: Self.labelPrefix)
            let isSpelling = label.flatMap { try? CredentialAddress(url: $0) } == login.address
            return (name: isSpelling ? label ?? "" : login.address.url, value: login.password.account)
        }
        try StandardOutput.write(Value.object(Members(logins)).json + "\n")
    }

    /// The registry on standard input, as docker spells it.
    private func registry() throws -> String {
        var input = try input()
        let text = try input.rest().copyString()?.trimmingBlanks
        return try Self.required(text.map { .string($0) }, "no credentials server URL")
    }

    private static func required(_ value: JSONText?, _ sentence: String) throws -> String {
        guard let text = value?.text, !text.isEmpty else { throw UsageError(sentence) }
        return text
    }
}
