import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `keyfob helper kubectl NAME`: an exec credential plugin of Kubernetes clients.
struct KubectlHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        "kubectl", "Print a token for kubectl.",
        examples: Examples(
            "keyfob set k8s/prod --stdin < token.txt",
            "keyfob helper kubectl k8s/prod",
            "keyfob helper install kubectl --dry-run"),
        discussion: """
            The secret is a token, or the status of an ExecCredential as a JSON object: token and \
            expirationTimestamp, or clientCertificateData and clientKeyData. A key on a token cannot be used: kubectl \
            needs the key itself.
            """)

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    private static let versions = ["v1", "v1beta1"].map { "client.authentication.k8s.io/" + $0 }

    func answer() throws {
        let version = try Self.requestedVersion(Environment.nonEmpty("KUBERNETES_EXEC_INFO"))
        let keychain = try openKeychain(warmsUpToken: true)
        let item = try selection.choice.one(name, in: keychain)
        let secret = try SecretGet.secret(of: item, in: keychain)
        let answer: Members = [
            "apiVersion": version, "kind": "ExecCredential", "status": try Self.status(secret),
        ]
        try StandardOutput.write(Value.object(answer).json + "\n")
    }

    /// The version that the client speaks; v1 for a client that does not say.
    private static func requestedVersion(_ request: String?) throws -> String {
        guard let request else { return versions[0] }
        guard let version = JSONText(Array(request.utf8))?["apiVersion"]?.text, versions.contains(version) else {
            throw KeychainError(
                .unsupportedFormat, "KUBERNETES_EXEC_INFO asks for an unknown version of ExecCredential.",
                hint: "Use apiVersion \(versions.joined(separator: " or ")) in the kubeconfig.")
        }
        return version
    }

    private static func status(_ secret: SecretBytes) throws -> Members {
        guard let stored = HelperAnswer.object(in: secret) else {
            try HelperAnswer.requireOneLine(secret, "token")
            return ["token": try HelperAnswer.text(secret)]
        }
        let status = stored["status"] ?? stored
        let names = ["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"]
        let known = names.compactMap { name in status[name]?.text.map { (name: name, value: $0) } }
        let given = Set(known.map(\.name))
        guard given.contains("token") || given.isSuperset(of: ["clientCertificateData", "clientKeyData"]) else {
            throw KeychainError(
                .unsupportedFormat, "the stored JSON object has neither a token nor a client certificate with its key.",
                hint: "Store the token alone, or the status of an ExecCredential.")
        }
        return Members(known)
    }
}
