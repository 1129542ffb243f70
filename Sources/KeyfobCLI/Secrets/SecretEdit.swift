import ArgumentParser
import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// `keyfob secret edit`: changes a secret in the user's editor.
struct SecretEdit: ParsableCommand {
    static let configuration = CommandConfiguration(
        "edit", "Change a secret in your editor.",
        examples: Examples(
            "keyfob secret edit app/config",
            "keyfob secret edit app/config --allow-empty",
            "keyfob secret edit db/prod --user app"),
        discussion: "The editor ($VISUAL, else $EDITOR, else vi) gets a file in memory that is wiped afterwards.")

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Flag(help: "Accept an empty value.")
    var allowEmpty = false

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        try selection.check(name: name)
        let keychain = try global.openKeychain()
        let item = try selection.choice.one(name, in: keychain)
        let old = try keychain.secret(of: item) ?? SecretBytes([])
        guard SensitiveOutput.isReadable(old) else {
            throw KeychainError(
                .refused, "\"\(Visible.text(name))\" is not text; an editor would damage it.",
                hint: "Replace it: keyfob set \(ShellWord.quoted(name)) --replace --from-file FILE")
        }
        if global.dryRun {
            return try SecretStoring.report(.replaced, name, item, keychain, isDryRun: true, output)
        }
        // Ctrl-C belongs to the editor meanwhile, and the file must be wiped whatever ends it.
        let new = try Interruption.deferring { try Self.edit(old) }
        guard let reference = item.reference, new != old else {
            return try SecretStoring.report(.kept, name, item, keychain, isDryRun: false, output)
        }
        guard allowEmpty || !new.isEmpty else {
            throw UsageError("the file was left empty; nothing was stored.", hint: "If that is meant: --allow-empty")
        }
        try keychain.update(Criteria(reference), [:], secret: new)
        try SecretStoring.report(.replaced, name, item, keychain, isDryRun: false, output)
    }

    /// Lets a person change `old` and returns what is then in the file.
    ///
    /// Without the newline with which editors end a file.
    private static func edit(_ old: SecretBytes) throws -> SecretBytes {
        let directory = try ScratchDirectory()
        let newline = SecretBytes([0x0A])
        let file = try directory.write(old.isEmpty ? old : old + newline, to: "value.txt")
        let editor = Environment.nonEmpty("VISUAL") ?? Environment.nonEmpty("EDITOR") ?? "vi"
        // By the shell, since the variables may hold options, as in EDITOR="code --wait".
        var process = try ChildProcess(
            ["/bin/sh", "-c", editor + " \"$1\"", "sh", file], input: STDIN_FILENO, output: STDOUT_FILENO,
            inOwnGroup: false)
        let status = process.exitStatus(by: .after(.seconds(365 * 86_400))) ?? 1
        guard status == 0 else {
            throw KeychainError(.cancelled, "the editor ended with status \(status); nothing was changed.")
        }
        // Opened by its name: editors replace the file they were given.
        let descriptor = unsafe keyfob_open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard descriptor >= 0 else {
            throw KeychainError(.fileUnavailable, "the editor has removed the file; nothing was changed.")
        }
        defer { close(descriptor) }
        return try StandardInput.readSecret(strippingNewline: true, from: descriptor)
    }
}

extension SecretBytes {
    /// The bytes of both, in storage that is wiped.
    static func + (left: SecretBytes, right: SecretBytes) -> SecretBytes {
        unsafe SecretBytes(count: left.count + right.count) { target in
            for (part, offset) in [(left, 0), (right, left.count)] {
                unsafe part.withUnsafeBytes { source in
                    for index in 0..<source.count { unsafe target[offset + index] = unsafe source[index] }
                }
            }
        }
    }
}
