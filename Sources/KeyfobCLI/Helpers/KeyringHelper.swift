import ArgumentParser
import Glibc
import Keyfob
import KeyfobPrimitives

/// `keyring`: the command of the Python package keyring, as pip, uv, twine and poetry call it.
///
/// A service that is a URL is an internet password, unless a generic password of that service and account exists. Any
/// other one is a generic password, as in the package.
struct KeyringHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        "keyring", "Store and return passwords for pip and other programs that call keyring.",
        examples: Examples(
            "keyfob helper install keyring",
            "keyfob helper keyring get https://pypi.example.org/simple/ alice",
            "keyfob helper keyring --mode creds get https://pypi.example.org/simple/"),
        discussion: "set reads the password from standard input. A missing password is exit status 1.")

    /// The values that `get` prints.
    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case password, creds
    }

    /// The form in which `get` prints.
    enum Form: String, CaseIterable, ExpressibleByArgument {
        case plain, json
    }

    @Argument(help: "get, set or del.")
    var operation: String

    @Argument(help: "A URL, or any name.")
    var service: String

    @Argument(help: "The account; get --mode creds needs none.")
    var username: String?

    @Option(help: "What get prints: password, or creds for account and password.")
    var mode: Mode = .password

    @Option(name: .customLong("output"), help: "How get prints: plain or json.")
    var form: Form = .plain

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func answer() throws {
        guard !service.isEmpty else { throw UsageError("the service is empty; nothing was done.") }
        switch operation {
        case "get": try get()
        case "set": try set(account())
        case "del": try remove(account())
        default:
            throw UsageError(
                "keyring has no operation \"\(TerminalSafe.text(operation))\" here.", hint: "Use get, set or del.")
        }
    }

    private func get() throws {
        let user = mode == .creds ? username : try account()
        let keychain = try openKeychain(warmsUpToken: true)
        guard let (account, secret) = try find(user, in: keychain) else {
            throw ExitCode(ExitStatus.failure.rawValue)
        }
        try HelperAnswer.requireOneLine(SecretBytes(utf8: account), "account")
        try HelperAnswer.requireOneLine(secret, "password")
        if form == .json {
            let user: Members = mode == .creds ? ["username": account] : [:]
            let answer = user + ["password": try HelperAnswer.text(secret)]
            return try StandardOutput.write(Value.object(answer).json + "\n")
        }
        if mode == .creds { try StandardOutput.write(account + "\n") }
        try StandardOutput.write(secret)
        try StandardOutput.write("\n")
    }

    /// The generic password of the service, else the nearest internet password of the URL.
    private func find(_ user: String?, in keychain: Keychain) throws -> (account: String, secret: SecretBytes)? {
        for password in try keychain.find(.genericPassword(service: service, account: user).ordered(by: .modified)) {
            guard let secret = try keychain.secret(of: password) else { continue }
            return (password.account, secret)
        }
        // pip asks for HOST:PORT after a URL without a password. It would send that of https to a URL of http.
        // Only a valid URL has a password of a URL.
        guard let address = try? urlAddress() else { return nil }
        var failure: (any Error)?
        for password in try keychain.credentials().find(address, user: user, paths: .above) {
            guard let stored = try keychain.secret(of: password) else { continue }
            do {
                guard let secret = try GitSecret(stored: stored).password else { continue }
                return (password.account, secret)
            } catch {
                // Another item may have a secret of one line.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return nil
    }

    private func set(_ user: String) throws {
        guard isatty(STDIN_FILENO) != 1 else {
            throw UsageError(
                "the password is read from standard input, which is a terminal; nothing was stored.",
                hint: "Pipe it, or use: \(Wording.selected.keyfob("set NAME"))")
        }
        var input = try input()
        let secret = try input.rest().withoutLastNewline
        guard !secret.isEmpty else { throw UsageError("the password is empty; nothing was stored.") }
        try HelperAnswer.requireOneLine(secret, "password")
        let keychain = try openKeychain()
        // `get` prefers a generic password, so this is the one to change.
        let known = try keychain.find(.genericPassword(service: service, account: user))
        if known.isEmpty, let address = try urlAddress() {
            try keychain.credentials().store(secret, at: address, user: user, label: service)
            return
        }
        let password = GenericPassword(service: service, account: user)
        do { try keychain.add(password, secret: secret) } catch let error as KeychainError
            where error.code == .duplicateItem
        {
            try keychain.update(.genericPassword(service: service, account: user), secret: secret)
        }
    }

    private func remove(_ user: String) throws {
        let keychain = try openKeychain()
        var count = 0
        if let address = try urlAddress() {
            let credentials = keychain.credentials()
            count = try credentials.remove(credentials.find(address, user: user))
        }
        do { try keychain.delete(.genericPassword(service: service, account: user)) } catch let error as KeychainError
            where error.code == .itemNotFound && count > 0
        {}
    }

    private func account() throws -> String {
        guard let username else {
            throw UsageError("the account is missing.", hint: "For any account: keyring --mode creds get SERVICE")
        }
        return username
    }

    /// The address of a service that is a URL; `nil` for other names.
    private func urlAddress() throws -> CredentialAddress? {
        service.contains("://") ? try CredentialAddress(url: service) : nil
    }
}
