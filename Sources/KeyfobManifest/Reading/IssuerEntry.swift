import Keyfob
import KeyfobACME

/// An issuer that a manifest gives a name.
struct IssuerEntry {
    let name: String
    let position: Position
    let description: IssuerDescription

    /// The members that say how challenges are answered; an ACME server needs one of them.
    private static let challengeMembers = ["webRoot", "listen", "listenTLS", "dnsHook"]

    init(_ name: String, _ record: Record, _ problems: inout [ManifestProblem]) {
        self.name = name
        position = record.position
        let isProgram = record.text("type") == "exec"
        if name == "self" {
            problems.append(
                ManifestProblem(
                    "\"self\" means the key of the identity itself", at: position, hint: "choose another name"))
        }
        let others =
            isProgram
            ? ["directory", "profile", "contacts", "agreeToTerms"] + Self.challengeMembers + ["authorityFile"]
            : ["command"]
        for other in others where record.has(other) {
            problems.append(
                ManifestProblem(
                    "an issuer of type \(isProgram ? "exec" : "acme") has no \"\(other)\"",
                    at: record.position(of: other)))
        }
        guard !isProgram else {
            let words = record.texts("command")
            if words.isEmpty {
                problems.append(
                    ManifestProblem("the issuer lacks \"command\"", at: position, hint: "command: [PROGRAM]"))
            }
            description = .command(words)
            return
        }
        if Self.challengeMembers.filter({ record.has($0) }).count != 1 {
            let members = Self.challengeMembers.map { "\"\($0)\"" }.joined(separator: ", ")
            problems.append(ManifestProblem("the issuer needs one of \(members)", at: position))
        }
        if !record.has("directory") {
            problems.append(ManifestProblem("the issuer lacks \"directory\"", at: position))
        }
        let hook = record.texts("dnsHook")
        description = .acme(
            ACMEIssuer.Settings(
                directory: record.text("directory") ?? "", contacts: record.texts("contacts"),
                agreesToTerms: record.flag("agreeToTerms"), webRoot: record.text("webRoot"),
                listener: record.text("listen"), tlsListener: record.text("listenTLS"),
                dnsCommand: hook.isEmpty ? nil : hook, authorityFile: record.text("authorityFile"),
                profile: record.text("profile")))
    }
}
