import Keyfob
import KeyfobManifest

/// A plan in words and as a document.
struct PlanReport {
    let manifest: Manifest
    let plan: Plan

    /// The lines about the changes; with `isVerbose`, also about the entries that stay.
    func lines(isVerbose: Bool) -> [String] {
        let shown = plan.changes.filter { isVerbose || $0.action != .none }
        guard !shown.isEmpty || !plan.hooks.isEmpty else { return [] }
        let width = min(32, shown.map { DisplayWidth.of(TerminalSafe.text($0.name)) }.max() ?? 0)
        return ["keychain \"\(TerminalSafe.text(manifest.keychain))\""]
            + shown.flatMap { [Self.line($0, width: width)] + Self.differences($0) }
            + plan.hooks.map { Self.line($0) }
    }

    /// A line about one change, such as `  + secret       db/password  generate 32 characters (alnum)`.
    static func line(_ change: Change, width: Int = 0, note: String? = nil) -> String {
        let name = TerminalSafe.text(change.name)
        let kind = change.kind.rawValue
        let space = String(repeating: " ", count: max(0, width - DisplayWidth.of(name)))
        let remark = (note ?? change.note).map { "\(space)  \(TerminalSafe.text($0))" } ?? ""
        return
            "  \(sign(change.action)) \(kind)\(String(repeating: " ", count: max(1, 13 - kind.count)))\(name)\(remark)"
    }

    private static func sign(_ action: Change.Action) -> String {
        switch action {
        case .create: "+"
        case .update: "~"
        case .delete: "-"
        case .none: "="
        }
    }

    private static func differences(_ change: Change) -> [String] {
        change.differences.map { difference in
            let values =
                switch (difference.from, difference.to) {
                case (nil, nil): "differs"
                case (let from?, let to?): "\(from) -> \(to)"
                case (nil, let to?): "+ \(to)"
                case (let from?, nil): "- \(from)"
                }
            return "                   \(difference.member): \(TerminalSafe.text(values))"
        }
    }

    /// A line about a program to run.
    static func line(_ hook: HookEntry) -> String {
        "  ! run          " + TerminalSafe.text(hook.arguments.map { ShellWord.quoted($0) }.joined(separator: " "))
    }

    /// The numbers of a plan in one sentence.
    var summary: String {
        let unchanged = plan.count(of: .none)
        guard !plan.isEmpty else {
            return
                "Nothing to do: keychain \"\(TerminalSafe.text(manifest.keychain))\" is as the manifest describes it."
        }
        return "Plan: \(plan.count(of: .create)) to add, \(plan.count(of: .update)) to change, "
            + "\(plan.count(of: .delete)) to remove, \(unchanged) unchanged."
    }

    /// The document about a plan.
    ///
    /// - Parameter isDryRun: Whether the changes were only asked for; otherwise they were made.
    func document(isDryRun: Bool) -> Document {
        let isNew = plan.changes.contains { $0.kind == .keychain && $0.action == .create }
        return Document(
            Effect(plan.isEmpty ? .none : isNew ? .create : .update, isDryRun: isDryRun),
            [
                "keychain": manifest.keychain, "to_create": plan.count(of: .create),
                "to_update": plan.count(of: .update), "to_delete": plan.count(of: .delete),
                "unchanged": plan.count(of: .none),
                "entries": plan.changes.map { change -> Members in
                    [
                        "kind": change.kind.rawValue, "name": change.name, "action": change.action.rawValue,
                        "position": change.position?.description, "note": change.note,
                        "differences": change.differences.map { difference -> Members in
                            ["member": difference.member, "from": difference.from, "to": difference.to]
                        },
                    ]
                },
                "commands": plan.hooks.map { hook -> Members in ["run": hook.arguments] },
            ], listName: "entries")
    }
}
