import ArgumentParser
import Glibc
import Keyfob
import KeyfobPrimitives

/// The source of a new secret, which is never the command line.
struct SecretInput: ParsableArguments {
    @Flag(
        name: .customLong("stdin"), help: "Read the value from standard input; the default when it is a pipe or a file."
    )
    var fromStandardInput = false

    @Option(help: ArgumentHelp("Read the value from a file.", valueName: "file"), completion: .file())
    var fromFile: String?

    @Option(help: ArgumentHelp("Take the value from an environment variable.", valueName: "variable"))
    var fromEnv: String?

    @Option(help: ArgumentHelp("Read the value from an open file descriptor.", valueName: "number"))
    var fromFd: Int32?

    @Option(
        help: ArgumentHelp(
            "Store many secrets: JSON objects, one after the other or in an array; - is standard input.",
            valueName: "file"),
        completion: .file())
    var fromJson: String?

    @Flag(help: "Keep a newline (LF) at the end of text; by default one is removed, but not a CR before it.")
    var keepNewline = false

    @Flag(help: "Accept an empty value.")
    var allowEmpty = false

    /// Refuses more than one source, and one descriptor for both the PIN and the value.
    ///
    /// - Throws: `UsageError`.
    func check(_ global: GlobalOptions) throws {
        // The PIN may come from a command, which runs before the variable is read.
        if let fromEnv { EnvironmentVariable.withhold(fromEnv) }
        let given = [fromStandardInput, fromFile != nil, fromEnv != nil, fromFd != nil, fromJson != nil]
        guard given.count(where: { $0 }) <= 1 else {
            throw UsageError(
                "a value can have only one source.",
                hint: "Give one of: --stdin, --from-file, --from-env, --from-fd, --from-json")
        }
        let pinSource = global.pinSource ?? global.environmentPINSource
        if ["stdin", "fd:0"].contains(pinSource), readsStandardInput {
            throw UsageError(
                "standard input cannot provide both the PIN and the value.",
                hint: "Give one of them another source, such as --pin-source fd:3 or --from-file FILE")
        }
        // Reading the PIN closes its descriptor, and the next opened file gets the same number.
        if let fromFd, pinSource == "fd:\(fromFd)" {
            throw UsageError(
                "file descriptor \(fromFd) cannot provide both the PIN and the value.",
                hint: "Give one of them another source, such as --pin-source file:PATH or --from-file FILE")
        }
    }

    private var readsStandardInput: Bool {
        fromStandardInput || fromFile == "-" || fromFd == 0 || fromJson == "-"
            || (fromFile == nil && fromEnv == nil && fromFd == nil && fromJson == nil && StandardInput.isPipeOrFile)
    }

    /// The largest row of a stream, in bytes: a value of the largest size in base64.
    private static let rowLimit = 64 << 20

    /// Opens the rows of `--from-json`. A file must be readable for its owner only.
    ///
    /// - Throws: `KeychainError.fileUnavailable`; `unsafeFile` for a file that other users can read, unless
    ///   `--insecure-file` is set.
    static func rows(from path: String, _ global: GlobalOptions) throws -> JSONObjectStream {
        let isInput = path == "-"
        let file: OpenFile
        if isInput {
            file = try StandardInput.copy(of: STDIN_FILENO)
        } else {
            file = try FileArgument.open(path, detail: "path")
        }
        let status = try file.status()
        if !isInput, !global.insecureFile, status.st_mode & S_IFMT == S_IFREG {
            try PrivateFile.requirePrivate(status, path: path, alternative: .insecureFile)
        }
        // A person who types has no limit.
        let timeout = isatty(file.descriptor) == 1 ? nil : global.timeout.map { max($0.duration, .seconds(1)) }
        return JSONObjectStream(file, limit: rowLimit, timeout: timeout)
    }

    /// Whether the value has to be typed at the terminal.
    func asks(_ global: GlobalOptions) -> Bool {
        !readsStandardInput && fromFile == nil && fromEnv == nil && fromFd == nil && global.terminal.canAsk
    }

    /// Reads the value. Blocks until its source ends, or the user has typed it.
    ///
    /// One newline at the end of text from files and pipes is removed, unless `keepNewline` is set. A CR before it
    /// stays, and binary data is unchanged.
    ///
    /// - Throws: `KeychainError.pinRequired` if there is neither a source nor a terminal; `fileUnavailable`,
    ///   `dataTooLarge`, `timedOut`. `UsageError` for an empty value, or for a variable that is not set.
    func read(name: String, _ global: GlobalOptions) throws -> SecretBytes {
        let value: SecretBytes
        if let fromEnv {
            guard let text = unsafe getenv(fromEnv) else {
                throw UsageError(
                    "the environment variable \(TerminalSafe.text(fromEnv)) is not set.",
                    hint: "Export it from the shell: export \(ShellWord.quoted(fromEnv))")
            }
            value = unsafe SecretBytes(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        } else if readsStandardInput {
            value = withoutNewline(try StandardInput.readSecret(waiting: global.timeout))
        } else if let fromFile {
            let bytes = try FileArgument.open(fromFile, detail: "path").readAll(
                upTo: StandardInput.limit, waiting: global.timeout)
            guard bytes.count <= StandardInput.limit else {
                throw KeychainError(
                    .dataTooLarge,
                    "\(TerminalSafe.text(fromFile)) is larger than \(Plural.size(StandardInput.limit)).",
                    hint: "Keep large files encrypted elsewhere and store their key here.", details: ["path": fromFile])
            }
            value = withoutNewline(bytes)
        } else if let fromFd {
            guard InheritedDescriptors.contains(fromFd) else {
                let name = "file descriptor \(fromFd)"
                throw KeychainError(
                    .fileUnavailable, "cannot read \(name): \(FileArgument.reason(EBADF)).",
                    hint: "Let the shell open it: --from-fd \(fromFd) \(fromFd)< FILE", details: ["path": name])
            }
            value = withoutNewline(try StandardInput.readSecret(from: fromFd, waiting: global.timeout))
        } else {
            value = try global.terminal.readValue(
                "Value for \(TerminalSafe.text(name)) (hidden): ",
                hint: "Give a source: --stdin, --from-file FILE, --from-env VARIABLE or --from-fd N")
        }
        guard allowEmpty || !value.isEmpty else {
            throw UsageError("the value is empty; nothing was stored.", hint: "To store an empty value: --allow-empty")
        }
        return value
    }

    /// Drains a pipe whose value is not needed, so that its writer can finish.
    func discard(_ global: GlobalOptions) {
        if readsStandardInput {
            StandardInput.discardPipe(waiting: global.timeout)
        } else if let fromFd, InheritedDescriptors.contains(fromFd) {
            StandardInput.discardPipe(from: fromFd, waiting: global.timeout)
        }
    }

    private func withoutNewline(_ value: SecretBytes) -> SecretBytes {
        keepNewline || !SensitiveOutput.isReadable(value) ? value : value.withoutLastNewline
    }
}
