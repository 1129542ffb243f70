import ArgumentParser
import Foundation
import Keyfob

/// `keyfob identity check`: tries an identity out, including a real signature.
struct IdentityCheckCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "check", "Test an identity: key, certificate, chain, trust, dates and a real signature.",
        examples: Examples(
            "keyfob identity check web", "keyfob identity check web --json",
            "keyfob identity check web --exit-code && systemctl reload nginx"),
        discussion: """
            The system's authorities and the keychain's anchors (keyfob trust ls) are trusted. An identity that neither \
            trusts needs attention, but works. Exits with 11 if the identity does not work; with --exit-code also with \
            10 if it needs attention.
            """)

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @Flag(help: "Exit with 10 if something needs attention.")
    var exitCode = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let identity = try name.identity(in: keychain)
        let findings = try keychain.identities.check(identity)
        let wording = Wording(keychain: keychain.name)
        let document = Document([
            "name": identity.label, "keychain": keychain.name, "ok": !findings.contains { $0.state == .bad },
            "trusted": findings.contains { $0.name == "trust" && $0.state == .good },
            "findings": findings.map { finding -> Members in
                [
                    "name": finding.name, "state": finding.state.rawValue, "text": finding.text,
                    "hint": wording.text(finding.remedies), "origin": finding.details["origin"],
                    "reason": finding.details["reason"],
                ]
            },
        ])
        try output.emit(
            document, text: text(findings.filter { !output.isQuiet || $0.state != .good }, wording, output.colour))
        if findings.contains(where: { $0.state == .bad }) { throw ExitCode(ExitStatus.verification.rawValue) }
        if exitCode, findings.contains(where: { $0.state == .warning }) {
            throw ExitCode(ExitStatus.attention.rawValue)
        }
    }

    private func text(_ findings: [IdentityFinding], _ wording: Wording, _ colour: Colour) -> String {
        findings.map { finding in
            let style: Style =
                switch finding.state {
                case .good: .good
                case .warning: .warning
                case .bad: .bad
                }
            let line = colour.apply(style, to: finding.state.rawValue) + "  " + TerminalSafe.text(finding.text)
            return ([line] + wording.lines(finding.remedies)).joined(separator: "\n    ")
        }.joined(separator: "\n")
    }
}
