import ArgumentParser
import Foundation
import Keyfob

/// `keyfob keychain check`: checks the integrity of the vault.
struct KeychainCheck: OutputCommand {
    static let configuration = CommandConfiguration(
        "check", "Check that the items of a keychain are complete, current and undamaged.",
        examples: Examples(
            "keyfob keychain check --secrets",
            "keyfob keychain check site --accept",
            "keyfob keychain check site --remove-damaged --repair"),
        discussion:
            """
            Reads every item, but no secret. --secrets also opens each secret, which takes a token operation, and shows \
            none. Also checks that the token has the keys and certificates that the vault lists, and that all its \
            objects can be read. Reports tokens made by keyfob that no keychain uses, and interrupted removals of \
            keychains. Exits with 9 if something is found.

            --accept accepts the items as they are, for a vault without a backup. Old copies of items then count as \
            current; damaged items stay damaged. Keys and certificates that another program has removed from the token \
            are forgotten.

            --remove-damaged removes the items that fail their integrity check, because they can no longer be read: \
            passwords, permanently, and the vault's notes on certificates and keys, which themselves stay on the token.

            --repair destroys the keys and certificates that an interrupted command has left on the token and that no \
            list shows, and removes empty files of SoftHSM. Otherwise the interrupted command, run again, uses them.
            """)

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Flag(help: "Also open every secret; none is shown.")
    var secrets = false

    @Flag(help: "Accept the present items as current, and forget objects that the token has lost.")
    var accept = false

    @Flag(help: "Remove the items that fail their integrity check.")
    var removeDamaged = false

    @Flag(help: "Destroy the keys and certificates that interrupted commands have left on the token.")
    var repair = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try Keychain.open(global.selectedKeychainName(argument: name), options: global.keychainOptions())
        var findings = try keychain.integrity.findings()
        var lines: [String] = []
        var removed: [VaultFinding] = []
        var action = Effect.Action.none
        let odd = findings.filter(\.code.canBeAccepted)
        if accept, !odd.isEmpty, global.dryRun { action = .update }
        if accept, !odd.isEmpty, try isWanted("Accept the items as they are?", odd) {
            let count = try keychain.integrity.acceptVault()
            action = .update
            lines.append("Accepted \(Plural.counted(count, "item")) of keychain \"\(keychain.name)\" as they are.")
            findings = try keychain.integrity.findings()
        }
        let damaged = findings.filter(\.code.canBeRemoved)
        if removeDamaged, !damaged.isEmpty {
            try requireRecord(keychain, findings)
            let what = "\(Plural.counted(damaged.count, "damaged item")) from keychain \"\(keychain.name)\""
            let loss = "What is lost: \(Self.loss(damaged))."
            if global.dryRun {
                action = .update
                lines.append("Would remove \(what). \(loss)")
            }
            if try isWanted("Remove \(what)? This cannot be undone. \(loss)", damaged) {
                removed = try keychain.integrity.removeDamagedItems()
                action = .update
                lines.append("Removed \(what). \(loss)")
                findings = try keychain.integrity.findings()
            }
        }
        let unlisted = findings.filter { [.objectUnlisted, .objectUnreadable].contains($0.code) }
        if repair, !unlisted.isEmpty {
            let token = "token \"\(keychain.tokenLabel)\""
            let what = "the leftovers of interrupted commands on \(token)"
            if global.dryRun {
                action = .update
                lines.append("Would destroy \(what).")
            }
            if try isWanted("Destroy \(what)? This cannot be undone.", unlisted) {
                let destroyed = try keychain.integrity.removeUnlistedObjects()
                removed += destroyed
                if !destroyed.isEmpty { action = .update }
                lines.append("Destroyed \(Plural.counted(destroyed.count, "object")) on \(token).")
                findings = try keychain.integrity.findings()
            }
        }
        // Without the wrapping key, no secret can be opened.
        if secrets, !findings.contains(where: { [.wrappingKeyAbsent, .wrappingKeyDamaged].contains($0.code) }) {
            findings += try Waiting.notice("all secrets to be opened", isShown: global.showsProgress) {
                try keychain.integrity.secretFindings()
            }
        }
        try report(keychain, findings, lines, removed: removed, action, output)
        guard findings.isEmpty else { throw ExitCode(ExitStatus.damaged.rawValue) }
    }

    /// Asks for confirmation, because no operation can be undone.
    private func isWanted(_ question: String, _ findings: [VaultFinding]) throws -> Bool {
        guard !global.dryRun else { return false }
        return try global.yes || global.terminal.confirm(question, about: findings.map(\.description))
    }

    /// Refuses to remove rows while the record of the vault is damaged, because the record must be updated too.
    ///
    /// - Throws: `KeychainError.vaultDamaged`.
    private func requireRecord(_ keychain: Keychain, _ findings: [VaultFinding]) throws {
        guard !global.dryRun, let record = findings.first(where: { $0.code == .recordDamaged }) else { return }
        throw KeychainError(
            .vaultDamaged, "\(record.description) Nothing was removed.",
            hint: "Restore the vault from a backup. Without one: "
                + "keyfob keychain check \(ShellWord.quoted(keychain.name)) --accept --remove-damaged",
            details: ["keychain": keychain.name])
    }

    /// Describes what is lost with damaged items, as far as their rows show.
    private static func loss(_ damaged: [VaultFinding]) -> String {
        let notes = damaged.count { $0.itemClass?.livesOnToken == true }
        let passwords = damaged.count { $0.itemClass?.livesOnToken == false }
        let others = damaged.count - notes - passwords
        var parts: [String] = []
        if passwords > 0 { parts.append(Plural.counted(passwords, "password")) }
        if notes > 0 {
            parts.append(
                "the vault's notes on \(Plural.counted(notes, "object")) "
                    + "(certificates and keys stay on the token)"
            )
        }
        if others > 0 { parts.append("\(Plural.counted(others, "item")) of unknown kind") }
        return parts.joined(separator: "; ")
    }

    private func report(
        _ keychain: Keychain, _ findings: [VaultFinding], _ done: [String], removed: [VaultFinding],
        _ action: Effect.Action, _ output: Output
    ) throws {
        var lines = output.isQuiet ? [] : done
        if findings.isEmpty, action == .none, !output.isQuiet {
            lines.append(
                "Keychain \"\(keychain.name)\" is sound"
                    + (secrets ? ", and every secret in it opens." : ". Its secrets were not opened (--secrets)."))
        }
        lines += findings.map { output.colour.apply(.bad, to: "bad") + "  " + TerminalSafe.text($0.description) }
        if findings.contains(where: { $0.code == .wrappingKeyAbsent }) {
            let token = TerminalSafe.text(keychain.tokenLabel)
            lines.append(
                "    Was token \"\(token)\" re-initialised or exchanged? Restore its backup; there is no other copy of "
                    + "the key.")
        }
        let command = "keyfob keychain check \(ShellWord.quoted(keychain.name))"
        // A backup of the vault does not restore objects of the token.
        let onToken: [VaultFinding.Code] = [
            .wrappingKeyAbsent, .wrappingKeyDamaged, .objectAbsent, .objectUnreadable, .objectUnlisted,
        ]
        if findings.contains(where: { !onToken.contains($0.code) }) {
            lines.append("    " + KeychainError.restoring(vault: keychain.configuration.vault))
        }
        if findings.contains(where: \.code.canBeAccepted) {
            lines.append("    Or accept the items as they are: \(command) --accept")
        }
        if findings.contains(where: \.code.canBeRemoved) {
            lines.append("    Or remove the damaged items permanently: \(command) --remove-damaged")
        }
        if findings.contains(where: { [.objectUnlisted, .objectUnreadable].contains($0.code) }) {
            lines.append("    Destroy the objects that interrupted commands have left: \(command) --repair")
        }
        if output.isForPeople { lines += try UnusedTokens.lines() }
        let document = Document(
            global.effect(action),
            [
                "keychain": keychain.name, "ok": findings.isEmpty, "findings": findings.map(\.members),
                "removed": removed.map(\.members), "secrets_opened": secrets,
            ])
        try output.emit(document, text: lines.joined(separator: "\n"))
    }
}

extension VaultFinding {
    /// The members of the finding in a document.
    var members: Members { ["code": code.rawValue, "id": item, "text": description] }
}
