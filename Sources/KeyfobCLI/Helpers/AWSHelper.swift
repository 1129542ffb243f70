import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// `keyfob helper aws NAME`: a `credential_process` of the AWS tools.
struct AWSHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        "aws", "Print an access key for the AWS tools.",
        examples: Examples(
            "keyfob set aws/dev --user AKIAIOSFODNN7EXAMPLE --stdin < token.txt",
            "keyfob helper aws aws/dev",
            "keyfob helper install aws --dry-run"),
        discussion: """
            The account is the access key's identifier, and the secret is the secret access key. Or the secret is a \
            JSON object with AccessKeyId, SecretAccessKey, SessionToken and Expiration, as aws sts prints it.
            """)

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func answer() throws {
        let keychain = try openKeychain(warmsUpToken: true)
        let item = try selection.choice.one(name, in: keychain)
        let secret = try SecretGet.secret(of: item, in: keychain)
        let answer: Members = ["Version": 1] + (try Self.members(of: secret, account: item.userText))
        try StandardOutput.write(Value.object(answer).json + "\n")
    }

    private static func members(of secret: SecretBytes, account: String) throws -> Members {
        guard let stored = HelperAnswer.object(in: secret) else {
            guard !account.isEmpty else {
                throw KeychainError(
                    .unsupportedFormat, "the item has no account, which is the access key's identifier.",
                    hint: "Store it with one: \(Wording.selected.keyfob("set NAME --user AccessKeyId"))")
            }
            try HelperAnswer.requireOneLine(secret, "secret access key")
            return ["AccessKeyId": account, "SecretAccessKey": try HelperAnswer.text(secret)]
        }
        let credentials = stored["Credentials"] ?? stored
        let names = ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"]
        let known = names.compactMap { name in credentials[name]?.text.map { (name: name, value: $0) } }
        guard known.prefix(2).map(\.name) == Array(names.prefix(2)) else {
            throw KeychainError(
                .unsupportedFormat, "the stored JSON object has no AccessKeyId and SecretAccessKey.",
                hint: "Store what aws sts get-session-token prints.")
        }
        return Members(known)
    }
}
