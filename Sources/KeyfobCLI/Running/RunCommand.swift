import ArgumentParser
import CLinux
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob run`: runs a program with secrets.
struct RunCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "run", "Run a program with secrets in its environment or in files.",
        examples: Examples(
            "keyfob run --env PGPASSWORD=db/prod -- psql -h db.example.org",
            "keyfob run --env-file app.env --mask -- ./deploy.sh",
            "keyfob run --file ./id_ed25519=ssh/backup -- ssh -i ./id_ed25519 backup@example.org"),
        discussion: """
            ITEM is the name of a password, or a reference: keyfob://NAME, with ?field=user for an attribute, \
            ?keychain=OTHER for another keychain, and ?user=app to choose among items of one name. Several are joined \
            by an ampersand. %25 stands for a percent sign and %3F for a question mark.

            Variables of the caller whose whole value is a reference are resolved too. Those of --env-file replace \
            them, and those of --env replace both. The file has a NAME=VALUE on each line, as for docker and op: \
            values may be quoted, values that are not references are taken literally, and nothing is expanded. \
            Variables that a PIN source names, and KEYFOB_PIN_SOURCE, are not passed on.

            With --file, PATH is a link to a file in memory while the program runs; nothing may be there before. \
            Programs of the same user can read the environment and the files of the program.

            With --mask, the program writes to pipes instead of a terminal, and each secret in its output becomes \
            "\(OutputMask.text)". A secret that the program encodes, splits or changes is not recognised, nor is what \
            it writes elsewhere. So it guards logs against accidents, not against the program.

            Signals, exit status and the terminal are those of the program. Status 125 is a failure of keyfob, 126 \
            means that the program cannot be executed, and 127 that there is none.
            """)

    @Option(
        name: .customLong("env"), parsing: .singleValue,
        help: ArgumentHelp("Set a variable to a secret.", valueName: "name=item"))
    var variables: [String] = []

    @Option(
        name: .customLong("env-file"), parsing: .singleValue,
        help: ArgumentHelp("Set the variables in a file; - is standard input.", valueName: "file"))
    var variableFiles: [FileArgument] = []

    @Option(
        name: .customLong("file"), parsing: .singleValue,
        help: ArgumentHelp("Put a secret at a path, in memory.", valueName: "path=item"))
    var files: [String] = []

    @Flag(help: "Replace secrets in the program's output.")
    var mask = false

    @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.")
    var command: [String]

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        let inherited = EnvironmentVariable.inheritedByProgram()
        let variables = try ProgramVariables(
            inherited: inherited, files: variableFiles, options: self.variables, waiting: global.timeout)
        let files = try self.files.map { try ProgramVariables.assignment($0, option: "--file PATH=ITEM") }
        // Before a PIN is asked for.
        let program = try UserProgram(command, path: variables.literal("PATH") ?? inherited.text("PATH"))
        var reader = try SecretReader(for: variables.references + files.map(\.reference), global)
        let values = try variables.values(from: &reader)
        let contents = try files.map { ($0.left, try reader.value(of: $0.reference)) }
        guard !global.dryRun else {
            return try output.emit(
                Document(
                    global.effect(.none),
                    ["program": program.file, "variables": values.map(\.name), "paths": files.map(\.left)]),
                sentence: "Dry run: would run \(TerminalSafe.text(program.file)).")
        }
        // Again, because opening the keychain tells which variables its PIN source names.
        var environment = EnvironmentVariable.inheritedByProgram()
        for (name, value) in values { environment.set(name, to: value) }
        let masked = mask ? reader.secrets : nil
        // A module may have started a program, which must not become a child of the user's program.
        if masked == nil, contents.isEmpty, keyfob_has_children() == 0 {
            throw ProgramFailure(program.file, program.replaceProcess(environment: environment))
        }
        try Self.wait(for: program, environment, masked, contents).imitate()
    }

    /// Runs the program to its end. Its files are wiped before the call returns.
    private static func wait(
        for program: UserProgram, _ environment: ProgramEnvironment, _ masked: [SecretBytes]?,
        _ contents: [(path: String, secret: SecretBytes)]
    ) throws -> WaitedProgram.End {
        // From here on signals go to the program, so that none ends this process before the files are wiped.
        let changes = try PassedSignals.begin()
        guard !contents.isEmpty else {
            var waited = try WaitedProgram(
                program, environment: environment, masking: masked, keeping: nil, changes: changes)
            return try waited.wait()
        }
        var files = try MemoryFiles()
        for (path, secret) in contents { try files.add(secret, at: path) }
        var waited = try WaitedProgram(
            program, environment: environment, masking: masked, keeping: files.lock, changes: changes)
        // The files last until here.
        defer { _ = files.lock }
        return try waited.wait()
    }
}
