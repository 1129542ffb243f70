import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// `keyfob inject`: replaces the references in a template by secrets.
struct InjectCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "inject", "Replace the references in a template by secrets.",
        examples: Examples(
            "keyfob inject -i app.conf.tpl -o app.conf",
            "keyfob inject -i .npmrc.tpl -o ~/.npmrc --keychain work",
            "keyfob inject -i app.conf.tpl --dry-run"),
        discussion: """
            A reference is {{ keyfob://NAME }}, or keyfob://NAME without braces. Without braces, it ends before the \
            first character that is not an ASCII letter, a digit or one of -._~%/?=&:@+. For ?field=user, \
            ?keychain=OTHER and others, see: keyfob run --help. Other text in braces stays as it is.

            Secrets are inserted unchanged, without quotes. The file is readable by you alone, and is replaced as a \
            whole. If a reference cannot be resolved, the error names its line and column, and nothing is written.
            """)

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: ArgumentHelp("The template; standard input by default.", valueName: "file"))
    var template: FileArgument?

    @OptionGroup
    var destination: OutputFileOptions

    @Flag(help: "Also print binary values to a terminal.")
    var force = false

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        guard template != nil || isatty(STDIN_FILENO) == 0 else {
            throw UsageError("there is no template.", hint: "Give a file: -i FILE, or pipe one; to type it: -i -")
        }
        guard let input = template ?? FileArgument(argument: "-") else { return }
        try requireOtherFile(than: input)
        let template = try Template([UInt8](input.read(waiting: global.timeout)), file: input.name)
        var reader = try SecretReader(for: template.references, global)
        let text = try template.filled { try reader.value(of: $0) }
        let count = template.references.count
        let content = try destination.isStandardOutput && !global.dryRun ? text : nil
        let members: Members = ["file": destination.path, "references": count]
        try destination.write(
            text, members: members + SecretGet.members(content),
            sentence: "Wrote \(TerminalSafe.text(destination.name)): \(Plural.counted(count, "reference")) replaced.",
            force: force, mode: 0o600, isDryRun: global.dryRun, waiting: global.timeout, output)
    }

    /// Refuses to replace the template by the result, which contains the secrets.
    private func requireOtherFile(than input: FileArgument) throws {
        guard let path = destination.path, path != "-", input.path != "-" else { return }
        var (one, other) = (stat(), stat())
        guard unsafe stat(path, &one) == 0, unsafe stat(input.path, &other) == 0, one.st_dev == other.st_dev,
            one.st_ino == other.st_ino, one.st_mode & S_IFMT == S_IFREG
        else { return }
        throw UsageError("the template would be replaced by the result.", hint: "Give -o another file.")
    }
}
