import ArgumentParser
import Foundation
import Keyfob

/// `keyfob keychain check`: whether the vault is as Keyfob left it.
struct KeychainCheck: ParsableCommand {
    static let configuration = CommandConfiguration(
        "check", "Check that no item of a keychain was damaged, put back, added or removed behind its back.",
        examples: Examples(
            "keyfob keychain check",
            "keyfob keychain check site --json",
            "keyfob keychain check site --accept"),
        discussion:
            """
            Reads every item, and no secret. Exits with 9 when something is found.

            With --accept the items are taken as they are: for a vault of which there is no backup. Old copies of items \
            then pass for new ones; what is damaged itself stays so.
            """)

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Flag(help: "Take the items that are there for the ones that were written last.")
    var accept = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try Keychain.open(name ?? global.selectedKeychainName(), options: global.keychainOptions())
        let findings = try keychain.vaultFindings()
        guard accept, !findings.isEmpty, !global.dryRun, try isWanted(findings) else {
            try report(keychain, findings, isAccepted: false, output)
            return try finish(findings)
        }
        let count = try keychain.acceptVault()
        let left = try keychain.vaultFindings()
        try report(keychain, left, isAccepted: true, output, count: count)
        try finish(left)
    }

    /// Asks once more: what was put back passes for new afterwards.
    private func isWanted(_ findings: [String]) throws -> Bool {
        guard !global.yes else { return true }
        let list = findings.map { "\n    " + $0 }.joined()
        return try global.terminal.confirm("Take the items as they are?\(list)\n")
    }

    private func report(
        _ keychain: Keychain, _ findings: [String], isAccepted: Bool, _ output: Output, count: Int? = nil
    ) throws {
        var lines: [String] = []
        if let count {
            lines.append("Accepted \(Phrases.counted(count, "item")) of keychain \"\(keychain.name)\" as they are.")
        }
        if findings.isEmpty, !isAccepted { lines.append("Keychain \"\(keychain.name)\" is sound.") }
        lines += findings.map { output.colour.apply(.bad, to: "bad") + "  " + Visible.text($0) }
        if !findings.isEmpty {
            lines.append("    Restore the vault from a backup: \(keychain.configuration.vault)")
            if !isAccepted {
                lines.append("    Or take the items as they are: keyfob keychain check \(ShellWord.quoted(keychain.name)) --accept")
            }
        }
        let document = Document([
            "keychain": .string(keychain.name), "ok": .boolean(findings.isEmpty),
            "findings": .array(findings.map { .string($0) }), "changed": .boolean(isAccepted),
            "dry_run": .boolean(global.dryRun),
        ])
        try output.emit(document, sentence: lines.joined(separator: "\n"))
    }

    private func finish(_ findings: [String]) throws {
        guard findings.isEmpty else { throw ExitCode(ExitStatus.damaged.rawValue) }
    }
}
