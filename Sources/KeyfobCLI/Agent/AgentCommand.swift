import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// `keyfob agent`: serves keys on the token to ssh.
struct AgentCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "agent", "Serve keys on the token to ssh, as ssh-agent does.",
        examples: Examples(
            "keyfob agent --ssh deploy -- ssh deploy@host.example.org",
            "keyfob agent --ssh deploy --ssh git --lifetime 8h",
            "keyfob agent --ssh deploy --confirm --foreground --socket .ssh/keyfob.socket"),
        discussion: """
            With a program, the agent runs until the program ends, and keyfob ends as the program does. Status 125 is \
            a failure of keyfob, 126 means that the program cannot be executed, and 127 that there is none.

            Without one, the agent goes to the background, and the command prints variables for the shell: \
            eval "$(keyfob agent --ssh deploy)". To end it: kill $SSH_AGENT_PID. With --foreground it stays, as in a \
            unit of systemd, from which it also takes a socket. SIGTERM ends it with status 0.

            The agent serves only the keys of --ssh. ssh-add lists them (-l, -L), removes them from the agent but not \
            from the token (-d, -D), and locks it (-x, -X); it cannot add keys. "keyfob lock" does not stop an agent.

            --confirm asks as ssh-agent does, with the program of SSH_ASKPASS if there is a display, else at the \
            terminal. No answer within a minute means no.
            """)

    @Option(
        name: .customLong("ssh"), parsing: .singleValue,
        help: ArgumentHelp("A key to serve: name, fingerprint or PKCS#11 URI.", valueName: "name"),
        completion: NameCompletion.keys)
    var names: [ItemName]

    @Flag(help: "Ask before each use of a key.")
    var confirm = false

    @Option(help: ArgumentHelp("How long to serve the keys, such as 8h.", valueName: "duration"))
    var lifetime: TimeSpan?

    @Option(help: ArgumentHelp("The path of the socket.", valueName: "path"), completion: .file())
    var socket: String?

    @Flag(help: "Stay in the foreground.")
    var foreground = false

    /// Set by `BackgroundAgent` for the process that it starts.
    @Flag(help: .hidden)
    var detached = false

    @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.")
    var command: [String] = []

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    /// Whether the exit status is that of a program, according to the arguments.
    static func runsProgram(_ arguments: [String]) -> Bool {
        arguments.firstIndex(of: "--").map { $0 < arguments.count - 1 } ?? false
    }

    func validate() throws { try lifetime?.requireUnit(for: "--lifetime", probably: "h") }

    func run(_ output: Output) throws {
        try check()
        let inherited = try command.isEmpty ? InheritedSocket.descriptor() : nil
        guard inherited == nil || socket == nil else {
            throw UsageError("the caller passes a socket, and --socket names another one.", hint: "Use one of the two.")
        }
        if command.isEmpty, !foreground, !detached, !global.dryRun, inherited == nil {
            return try BackgroundAgent.start(pinSource: global.pinSource)
        }
        // Before a PIN is asked for.
        let program = try command.isEmpty
            ? nil : UserProgram(command, path: EnvironmentVariable.inheritedByProgram().text("PATH"))
        let confirmation = try confirm ? AgentConfirmation(global.terminal, isDetached: detached) : nil
        let prompter = TerminalPrompter(global.terminal).map(PrompterAtStart.init)
        let (agent, keys) = try agent(confirmation, prompter, output)
        guard !global.dryRun else {
            return try output.emit(
                document(keys, socket: nil, pid: nil),
                sentence: "Dry run: would serve \(Plural.counted(keys.count, "key")).")
        }
        prompter?.isServing.withLock { $0 = true }
        // From here on each request has its own limit, and a module that hangs must not end the agent.
        HangWatch.stop()
        if let program { return try run(program, agent).imitate() }
        try serve(agent, inherited: inherited) { listener in
            try report(document(keys, socket: listener.path, pid: getpid()), listener, output)
        }
    }

    private func check() throws {
        guard !foreground || command.isEmpty else {
            throw UsageError(
                "--foreground is for an agent without a program.", hint: "Leave out --foreground, or the program.")
        }
        guard !confirm || !global.yes else {
            throw UsageError("--confirm and --yes exclude each other.", hint: "Give one of the two.")
        }
        if let lifetime, lifetime.duration < .seconds(1) {
            throw UsageError("the lifetime must be at least one second.", hint: "Example: --lifetime 8h")
        }
        guard socket?.isEmpty != true else { throw UsageError.emptyName }
    }

    // MARK: Keys

    /// The agent, and the members of a document that describe its keys.
    ///
    /// Only the agent refers to the keychain afterwards, so that it closes with the last key.
    private func agent(
        _ confirmation: AgentConfirmation?, _ prompter: PrompterAtStart?, _ output: Output
    ) throws -> (SSHAgent, [Members]) {
        var options = try global.keychainOptions()
        options.isOneShot = false
        options.timeout = timeout
        options.prompter = prompter
        let keychain = try global.openKeychainOrToken(options: options)
        let listed = try ListedKeys(in: keychain)
        let items = try names.map { try listed.named($0.key(in: keychain)) }
        let keys = try zip(names, items).map { try Self.key($1, named: $0, in: keychain) }
        let members = try items.map { item in
            KeyPhrases.members(
                item, try keychain.keys.publicKey(of: item), uri: try keychain.objects.uri(of: item).description)
        }
        let ask = confirmation.map { confirmation in
            { @Sendable (key: SSHAgentKey) async -> Bool in await confirmation.allows(key) }
        }
        let agent = SSHAgent(keys, lifetime: lifetime?.duration, confirm: ask) { Self.tell($0, output) }
        return (agent, members)
    }

    private static func key(_ item: KeyItem, named name: ItemName, in keychain: Keychain) throws -> SSHAgentKey {
        let label = item.label ?? name.text
        guard item.keyClass == .private else {
            throw KeychainError(
                .invalidArgument, "\"\(label)\" is not a private key, so it cannot sign.",
                remedies: [Remedy("All keys", .listKeys())], details: ["key": label])
        }
        let key = try keychain.keys.tokenKey(for: item)
        guard let served = SSHAgentKey(key, comment: label) else {
            throw KeychainError(
                .mechanismUnsupported, "OpenSSH has no format for a key of type \(key.publicKey.algorithm).",
                hint: "Make a supported key: "
                    + Wording.selected.keyfob("key generate NAME --type ec --curve p256"))
        }
        return served
    }

    /// Tells on standard error what was refused or failed, and with `-v` also which keys signed.
    private static func tell(_ event: SSHAgent.Event, _ output: Output) {
        guard output.isForPeople else { return }
        func name(_ key: SSHAgentKey) -> String { "\"\(key.comment)\"" }
        switch event {
        case .failed(let key, let error):
            // Not `write`, which ends the process if standard error was closed.
            StandardError.writeLast(
                "keyfob: key \(name(key)) cannot sign: \(TerminalSafe.text(Failure(error).message))\n")
        case .refusedAlgorithm(let key):
            StandardError.writeLast("keyfob: a signature of key \(name(key)) with SHA-1 was refused.\n")
        case .denied(let key):
            StandardError.writeLast(
                "keyfob: the use of key \(name(key)) was not allowed, or SSH_ASKPASS and the terminal could not ask.\n")
        case .signed(let key) where output.verbosity > 0:
            StandardError.writeLast("keyfob: key \(name(key)) signed.\n")
        case .signed: return
        }
    }

    // MARK: Serving

    /// How long a call of the token may take: 30 seconds, because a key may wait for a touch.
    private var timeout: Duration { global.timeout?.duration ?? .seconds(30) }

    private func start(_ agent: SSHAgent, at listener: LocalListener) throws -> SSHAgentServer {
        do {
            let questions = confirm ? AgentConfirmation.longestWait : .zero
            let server = try SSHAgentServer(
                agent, at: listener, answerLimit: timeout * 2 + .seconds(10) + questions)
            try server.start()
            return server
        } catch {
            listener.close()
            throw error
        }
    }

    private static func stop(_ server: SSHAgentServer) {
        server.stop()
        // The program of SSH_ASKPASS, if a question is open.
        RunningChildren.end()
    }

    /// Listens at the path of `--socket`, else at a new one in the user's directory for such files.
    private func listen() throws -> LocalListener {
        if let socket { return try LocalListener(at: socket) }
        let directory = Directories().runtime
        try PrivateFile.createDirectory(directory)
        let prefix = "ssh-agent."
        // Left by agents that were killed.
        try LocalListener.removeStale(in: directory, prefix: prefix)
        let name = prefix + String(UInt32.random(in: 0...UInt32.max), radix: 36)
        do {
            return try LocalListener(at: directory.appendingPathComponent(name, isDirectory: false).path)
        } catch where error.code == .invalidArgument {
            throw error.replacing(remedies: ["Choose a shorter one: --socket PATH"])
        }
    }

    private func run(_ program: UserProgram, _ agent: SSHAgent) throws -> WaitedProgram.End {
        // From here on signals go to the program, so that none ends this process before the socket is removed.
        let changes = try PassedSignals.begin()
        let listener = try listen()
        let server = try start(agent, at: listener)
        defer { Self.stop(server) }
        var environment = EnvironmentVariable.inheritedByProgram()
        environment.set("SSH_AUTH_SOCK", to: listener.path.map { SecretBytes(utf8: $0) })
        environment.set("SSH_AGENT_PID", to: SecretBytes(utf8: String(getpid())))
        var waited = try WaitedProgram(
            program, environment: environment, masking: nil, keeping: nil, changes: changes)
        return try waited.wait()
    }

    /// Serves until a signal ends the agent.
    private func serve(_ agent: SSHAgent, inherited: Int32?, _ report: (LocalListener) throws -> Void) throws {
        // From here on a signal ends the wait, so that the socket is removed.
        try Interruption.deferring {
            let listener = try inherited.map { try LocalListener(inherited: $0) } ?? listen()
            let server = try start(agent, at: listener)
            defer { Self.stop(server) }
            try report(listener)
            if detached { BackgroundAgent.leaveCaller() }
            try Interruption.waitForSignal()
        }
    }

    /// Prints the variables with which programs find the agent, as ssh-agent does.
    private func report(_ document: Document, _ listener: LocalListener, _ output: Output) throws {
        let assignments = [("SSH_AUTH_SOCK", listener.path ?? ""), ("SSH_AGENT_PID", String(getpid()))]
        try output.emit(
            document,
            text: assignments.map { "\($0)=\(ShellWord.quoted($1)); export \($0);" }.joined(separator: "\n"))
    }

    private func document(_ keys: [Members], socket: String?, pid: Int32?) -> Document {
        Document(
            global.effect(.create),
            [
                "socket": socket, "pid": pid, "keys": keys, "confirm": confirm,
                "until": lifetime.map { Date() + $0.duration / .seconds(1) },
            ])
    }
}
