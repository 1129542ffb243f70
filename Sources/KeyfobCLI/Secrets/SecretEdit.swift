import ArgumentParser
import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// `keyfob secret edit`: changes a secret in the user's editor.
struct SecretEdit: OutputCommand {
    static let configuration = CommandConfiguration(
        "edit", "Change a secret in your editor.",
        examples: Examples(
            "keyfob secret edit app/config",
            "keyfob secret edit app/config --allow-empty",
            "keyfob secret edit db/prod --user app"),
        discussion: """
            The editor ($VISUAL, else $EDITOR, else vi) gets a file in memory that is wiped afterwards. The file of a \
            killed edit is wiped by the next edit, or by keyfob lock. vi, vim and nvim are started without viminfo, \
            swap, backup and undo files; nano, ed and emacs -Q write no copies elsewhere. Other editors may keep copies \
            on disk. If the item was changed in the meantime, or cannot be stored, you choose what happens to your \
            text; without a terminal it is lost.
            """)

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Flag(help: "Accept an empty value.")
    var allowEmpty = false

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: name)
        let keychain = try global.openKeychain()
        let item = try selection.choice.one(name, for: .replacing, in: keychain)
        try item.requireNoOneTimePassword(in: keychain)
        let old = try keychain.secret(of: item) ?? SecretBytes([])
        guard SensitiveOutput.isReadable(old) else {
            throw KeychainError(
                .refused, "\"\(TerminalSafe.text(name))\" is not text; an editor would damage it.",
                hint: "Replace it: "
                    + Wording(keychain: keychain.name).keyfob("set " + item.words(and: " --replace --from-file FILE")))
        }
        if global.dryRun {
            return try SecretStoring.report(global.effect(.update), name, item, keychain, output)
        }
        let canAsk = global.terminal.canAsk
        guard isatty(STDIN_FILENO) == 1 || Editor.chosen() != nil else {
            throw KeychainError(
                .refused, "there is no terminal for the editor; nothing was changed.",
                hint: "Use an editor that needs none: EDITOR=… Or use no editor: "
                    + Wording(keychain: keychain.name).keyfob("set " + item.words(and: " --replace --stdin")))
        }
        if !canAsk { output.warn("questions cannot be asked here: a value that cannot be stored is lost.") }
        if ScratchDirectory.sweep() > 0 { output.warn("wiped the file that an earlier edit has left in memory.") }
        let editor = Editor()
        if !editor.isSafe {
            output.warn(
                "the editor \"\(TerminalSafe.text(editor.command))\" may keep copies of the secret on disk. "
                    + "These do not: vi, vim, nvim, nano, ed, emacs -Q")
        }
        var draft = Draft(item: item, base: old, value: old)
        var isStored = false
        while !isStored {
            do {
                // While the editor runs, Ctrl-C belongs to it. The file must be wiped however the editor ends.
                draft.value = try Interruption.finishing { try edit(draft.value, in: editor, canAsk: canAsk) }
            } catch let error as KeychainError where canAsk && draft.value != old {
                // Keeps the text of an earlier round if the editor fails in a later one.
                isStored = try HangWatch.keepingDraft { try ask(error, &draft, in: keychain) }
                continue
            }
            guard draft.value != draft.base else {
                return try SecretStoring.report(global.effect(.none), name, item, keychain, output)
            }
            guard allowEmpty || !draft.value.isEmpty else {
                throw UsageError(
                    "the file was left empty; nothing was stored.", hint: "To store an empty value: --allow-empty")
            }
            // If no question can be asked, the text is lost whatever the error is.
            isStored =
                canAsk
                ? try HangWatch.keepingDraft { try store(&draft, in: keychain, canAsk: true) }
                : try store(&draft, in: keychain, canAsk: false)
        }
        try SecretStoring.report(global.effect(.update), name, item, keychain, output)
    }

    /// The text that was typed, and the value that it replaces.
    private struct Draft {
        var item: Item
        /// The value of the item when it was last reported to the user.
        var base: SecretBytes
        var value: SecretBytes
    }

    /// Stores what was typed. Returns false if the user wants to continue editing.
    ///
    /// Between two attempts the text exists only in the memory of this process.
    private func store(_ draft: inout Draft, in keychain: Keychain, canAsk: Bool) throws -> Bool {
        do {
            try keychain.vaultRows.replaceSecret(of: draft.item, draft.base, with: draft.value)
            return true
        } catch let error as KeychainError {
            guard canAsk else { throw lost(error) }
            return try ask(error, &draft, in: keychain)
        }
    }

    /// Asks what to do with a value that was refused. Returns true if it was stored after all.
    private func ask(_ refusal: KeychainError, _ draft: inout Draft, in keychain: Keychain) throws -> Bool {
        var refusal = refusal
        while true {
            StandardError.write(Failure(refusal).text(verbose: global.verbose > 0))
            let answer = try global.terminal.choose(
                "Your text is kept. Edit it again (e), store it anyway (s) or discard it (q):",
                among: "esq")
            if answer == "q" {
                throw refusal.replacing(message: "nothing was stored; your text was discarded.", remedies: [])
            }
            do {
                guard let stored = try keychain.stored(like: draft.item) else {
                    if answer == "e" { return false }
                    try keychain.add(SecretCopy.described(draft.item), secret: draft.value)
                    return true
                }
                // From here on, the user knows that this secret will be replaced.
                (draft.item, draft.base) = (stored, try keychain.secret(of: stored) ?? SecretBytes([]))
                if answer == "e" { return false }
                try keychain.vaultRows.replaceSecret(of: stored, draft.base, with: draft.value)
                return true
            } catch let error as KeychainError {
                if answer == "e" { return false }
                refusal = error
            }
        }
    }

    /// The error for a value that is lost because no question can be asked.
    private func lost(_ error: KeychainError) -> KeychainError {
        let again = "secret edit " + ShellWord.operand(name, with: selection.choice.words)
        return error.replacing(
            message: error.message + " Your text is lost.",
            remedies: error.remedies.isEmpty ? ["Edit it again: \(Wording.selected.keyfob(again))"] : nil)
    }

    /// Opens `old` in the editor, and returns the content of the file afterwards, without the newline that editors add.
    private func edit(_ old: SecretBytes, in editor: Editor, canAsk: Bool) throws -> SecretBytes {
        let directory = try ScratchDirectory()
        let given = old.isEmpty ? old : old + SecretBytes([0x0A])
        let file = try directory.write(given, to: "value.txt")
        while true {
            try Self.run(editor, on: file, in: directory)
            do {
                return try Self.read(file).withoutLastNewline
            } catch let error as KeychainError where error.code == .dataTooLarge {
                guard canAsk else { throw lost(error) }
                // The typed text exists only in the file, which is removed with the directory.
                StandardError.write(Failure(error).text(verbose: global.verbose > 0))
                let answer = try global.terminal.choose(
                    "Your text is kept. Edit it again (e) or discard it (q):", among: "eq")
                guard answer == "e" else { throw error }
            }
        }
    }

    private static func run(_ editor: Editor, on file: String, in directory: borrowing ScratchDirectory) throws {
        // The shell splits variables that contain options, such as EDITOR="code --wait". It traps SIGINT, because
        // otherwise it would end with status 130 after Ctrl-C, even if the editor then stored the text.
        try Interruption.check()
        var process = try ChildProcess(
            // An editor passes text to a filter through a temporary file.
            ["/bin/sh", "-c", "trap : INT; export TMPDIR=\"$2\"; \(editor.command) \"$1\"", "sh", file, directory.path],
            input: STDIN_FILENO, output: STDOUT_FILENO, inOwnGroup: false, keeping: directory.lock)
        // Checked again before the user types anything: a signal from before the editor started would discard the text.
        try Interruption.check()
        let status = process.exitStatus(by: .after(.seconds(365 * 86_400))) ?? 1
        guard status == 0 else {
            guard !Interruption.isRequested else {
                throw KeychainError(.cancelled, "the editor was interrupted; nothing was changed.")
            }
            let word = TerminalSafe.text(editor.command)
            throw KeychainError(
                .failed,
                [126, 127].contains(status)
                    ? "the editor \"\(word)\" cannot be started; nothing was changed."
                    : "the editor \"\(word)\" ended with status \(status); nothing was changed.",
                remedies: [
                    Remedy("Use another one: VISUAL=nano " + Wording.selected.keyfob("secret edit …")),
                    "The editor is $VISUAL, else $EDITOR, else vi.",
                ])
        }
    }

    private static func read(_ file: String) throws -> SecretBytes {
        // Opened by name, because editors replace the file.
        let descriptor = unsafe keyfob_open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            throw KeychainError(.fileUnavailable, "the editor has removed the file; nothing was changed.")
        }
        defer { close(descriptor) }
        var kind = stat()
        guard unsafe fstat(descriptor, &kind) == 0, kind.st_mode & S_IFMT == S_IFREG else {
            throw KeychainError(.fileUnavailable, "the edited file is not a regular file; nothing was changed.")
        }
        do { return try StandardInput.readSecret(from: descriptor) } catch let error as KeychainError
            where error.code == .dataTooLarge
        {
            throw KeychainError(
                .dataTooLarge,
                "the editor has written more than \(Plural.size(StandardInput.limit)); nothing was changed.",
                hint: "Keep large files encrypted elsewhere and store their key here.")
        }
    }
}

extension SecretBytes {
    /// Joins the bytes of both in storage that is wiped.
    static func + (left: SecretBytes, right: SecretBytes) -> SecretBytes {
        SecretBytes(joining: [left, right])
    }
}
