import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `git-credential-keyfob`: answers git (gitcredentials(7)).
struct GitHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        "git", "Store and return passwords of git.",
        examples: Examples(
            "keyfob helper install git --configure",
            "keyfob helper git get <<< $'protocol=https\\nhost=github.com'",
            "keyfob helper git erase <<< $'protocol=https\\nhost=github.com'"),
        discussion: """
            git calls this command as git-credential-keyfob. The passwords are internet passwords with protocol, \
            server, port, path and account.
            """)

    @Argument(help: "get, store or erase. Other operations do nothing.")
    var operation: String

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func answer() throws {
        switch operation {
        case "get": try get()
        case "store": try store()
        case "erase": try erase()
        // gitcredentials(7) requires this, because later versions of git add operations.
        default: return
        }
    }

    /// Prints the best match; nothing if there is none.
    private func get() throws {
        let request = try request()
        let address = try request.address()
        let keychain = try openKeychain(warmsUpToken: true)
        var failure: (any Error)?
        for password in try keychain.credentials().find(address, user: request.user, paths: request.paths) {
            guard let secret = try keychain.secret(of: password) else { continue }
            let user = SecretBytes(utf8: password.account)
            try HelperAnswer.requireOneLine(user, "account")
            let lines: SecretBytes
            do { lines = try GitSecret(stored: secret).lines } catch {
                // Another item may have a secret for git.
                failure = failure ?? error
                continue
            }
            return try StandardOutput.write(
                SecretBytes(joining: [SecretBytes(utf8: "username="), user, SecretBytes(utf8: "\n"), lines]))
        }
        if let failure { throw failure }
    }

    private func store() throws {
        let request = try request()
        let address = try request.address()
        // A credential of another type than a password, or one that is valid for this request only.
        guard !request.isEphemeral, request.secret.password != nil || request.user != nil else { return }
        guard let secret = request.secret.stored else {
            throw GitCredential.malformed("the line \"password=…\" is missing")
        }
        guard let user = request.user else { throw GitCredential.malformed("the line \"username=…\" is missing") }
        let label = address.host + (address.path.isEmpty ? "" : "/" + address.path)
        try openKeychain().credentials().store(secret, at: address, user: user, label: label)
    }

    /// Removes the matching passwords, but only those that git sent, if it sent one.
    ///
    /// Another helper may have returned a wrong password; the one that is stored here may be right.
    private func erase() throws {
        let request = try request()
        let address = try request.address()
        let keychain = try openKeychain()
        let found = try keychain.credentials().find(address, user: request.user, paths: request.paths)
        try keychain.credentials().remove(found) { password in
            guard let sent = request.secret.password else { return true }
            guard let secret = try keychain.secret(of: password) else { return false }
            // A secret that git cannot have stored is not the one that it sent.
            return (try? GitSecret(stored: secret))?.password == sent
        }
    }

    private func request() throws -> GitCredential {
        var input = try input()
        return try GitCredential(reading: &input)
    }
}
