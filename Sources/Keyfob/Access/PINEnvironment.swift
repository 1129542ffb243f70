import Foundation
public import KeyfobPrimitives

/// Asks a person for a secret; the command implements it for the terminal.
public protocol Prompter: Sendable {
    /// Shows `prompt` and reads one line without echo; twice, until both are equal, with `confirm`.
    ///
    /// - Throws: `cancelled` when the person gives up.
    func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes
}

/// What PIN sources may use: a person to ask, and limits on what is trusted.
///
/// One value serves a whole process, and its copies share a memory: what a source can give only once
/// (an environment variable, a descriptor) is kept there for a later login.
public struct PINEnvironment: Sendable {
    /// Who asks; `nil` where there is no terminal.
    public var prompter: (any Prompter)?

    /// Whether asking is forbidden. Interactive sources then fail at once.
    public var noInput: Bool

    /// Whether files that others can read are accepted.
    public var allowInsecureFiles: Bool

    /// Where systemd put this service's credentials.
    public var credentialsDirectory: String?

    /// The pinentry program: a name to look up in `PATH`, or a path.
    public var pinentryProgram: String

    /// How long a `cmd:` may run before it is killed, and how long a pipe may keep the PIN back: one that is named by
    /// its descriptor only where there is nobody to ask.
    public var commandDeadline: Duration

    /// How long a descriptor may keep the PIN back, whoever is there; `nil` where nobody has said.
    public var descriptorDeadline: Duration?

    /// How long a person has to answer pinentry.
    public var pinentryDeadline: Duration

    /// What sources that give their secret only once have given.
    struct Memory {
        // One or two entries, and mostly none: a dictionary is more work to set up than ever to search this.
        private var secrets: [(source: PINSource, secret: SecretBytes)] = []
        /// The sources that a thread is reading.
        fileprivate var reading: [PINSource] = []

        fileprivate func recalled(_ source: PINSource) -> SecretBytes? {
            secrets.first { $0.source == source }?.secret
        }

        fileprivate mutating func keep(_ secret: SecretBytes, from source: PINSource) {
            secrets.removeAll { $0.source == source }
            secrets.append((source, secret))
        }

        fileprivate mutating func forget() { secrets = [] }
    }

    let memory = Lock(Memory())

    /// `$CREDENTIALS_DIRECTORY`.
    public static var credentialsDirectory: String? { EnvironmentVariable.value("CREDENTIALS_DIRECTORY") }

    /// Makes an environment. Reads nothing.
    public init(
        prompter: (any Prompter)? = nil, noInput: Bool = false, allowInsecureFiles: Bool = false,
        credentialsDirectory: String? = PINEnvironment.credentialsDirectory,
        pinentryProgram: String = "pinentry", commandDeadline: Duration = .seconds(30),
        descriptorDeadline: Duration? = nil, pinentryDeadline: Duration = .seconds(120)
    ) {
        self.prompter = prompter
        self.noInput = noInput
        self.allowInsecureFiles = allowInsecureFiles
        self.credentialsDirectory = credentialsDirectory
        self.pinentryProgram = pinentryProgram
        self.commandDeadline = commandDeadline
        self.descriptorDeadline = descriptorDeadline
        self.pinentryDeadline = pinentryDeadline
    }

    /// Whether somebody is there who may be asked.
    var hasPerson: Bool { !noInput && prompter != nil }

    /// What `read` reads from `source`, which gives it only once; where it was read before, what it gave then.
    ///
    /// Blocks while another thread reads it, which needs its time or a person.
    ///
    /// - Throws: What `read` throws.
    func once(
        _ source: PINSource, _ read: () throws(KeychainError) -> SecretBytes
    ) throws(KeychainError) -> SecretBytes {
        let known = memory.wait(until: .never) { memory -> SecretBytes?? in
            if let secret = memory.recalled(source) { return .some(secret) }
            guard !memory.reading.contains(source) else { return nil }
            memory.reading.append(source)
            return .some(nil)
        }
        if case let secret?? = known { return secret }
        defer {
            memory.withLock { memory in memory.reading.removeAll { $0 == source } }
            memory.broadcast()
        }
        let secret = try read()
        memory.withLock { memory in memory.keep(secret, from: source) }
        return secret
    }

    /// The variable that `source` names, which is then gone; where it was taken before, what it was then.
    func variable(_ name: String, of source: PINSource) -> SecretBytes? {
        memory.withLock { memory in
            if let value = EnvironmentVariable.take(name) { memory.keep(value, from: source) }
            return memory.recalled(source)
        }
    }

    /// Wipes what was kept. For `lock`: a later login then needs a fresh source.
    public func forget() {
        memory.withLock { memory in memory.forget() }
    }
}
