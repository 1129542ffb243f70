import Keyfob
import KeyfobACME

/// An issuer that a manifest gives a name.
struct IssuerEntry {
    let name: String
    let position: Position
    let description: IssuerDescription

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
            ? ["directory", "contacts", "agreeToTerms", "webRoot", "listen", "dnsHook", "authorityFile"] : ["command"]
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
        let ways = ["webRoot", "listen", "dnsHook"].filter { record.has($0) }
        if ways.count != 1 {
            problems.append(
                ManifestProblem("the issuer needs one of \"webRoot\", \"listen\", \"dnsHook\"", at: position))
        }
        if !record.has("directory") {
            problems.append(ManifestProblem("the issuer lacks \"directory\"", at: position))
        }
        let hook = record.texts("dnsHook")
        description = .acme(
            ACMEIssuer.Settings(
                directory: record.text("directory") ?? "", contacts: record.texts("contacts"),
                agreesToTerms: record.flag("agreeToTerms"), webRoot: record.text("webRoot"),
                listener: record.text("listen"), dnsCommand: hook.isEmpty ? nil : hook,
                authorityFile: record.text("authorityFile")))
    }
}
