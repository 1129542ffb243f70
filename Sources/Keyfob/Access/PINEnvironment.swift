import Foundation
public import KeyfobPrimitives

/// Asks a person for a secret. The command-line tool implements it for the terminal.
public protocol Prompter: Sendable {
    /// Shows `prompt` and reads one line without echo.
    ///
    /// - Parameters:
    ///   - prompt: The prompt.
    ///   - confirm: Whether to read the line twice, until both are equal.
    /// - Returns: The secret.
    /// - Throws: `KeychainError` with code `cancelled` if the person cancels.
    func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes
}

/// The environment that PIN sources read from: how to ask a person, and limits on trust and time.
///
/// One value serves a whole process, and its copies share memory. A secret that a source can give only once (an
/// environment variable, a descriptor) is kept there for a later login.
public struct PINEnvironment: Sendable {
    /// Asks the user; `nil` without a terminal.
    public var prompter: (any Prompter)?

    /// Whether asking is forbidden. Interactive sources then fail at once.
    public var noInput: Bool

    /// Whether files that others can read are accepted.
    public var allowInsecureFiles: Bool

    /// The directory of this service's systemd credentials.
    public var credentialsDirectory: String?

    /// The pinentry program: a name to look up in `PATH`, or a path.
    public var pinentryProgram: String

    /// The time limit for a `cmd:` source, which is killed afterwards, and for a pipe.
    ///
    /// For a pipe that is named by its descriptor, it applies only if there is no person to ask or `descriptorDeadline`
    /// is set.
    public var commandDeadline: Duration

    /// If set, ``commandDeadline`` limits a descriptor even if there is a person to ask. The value itself is not used.
    public var descriptorDeadline: Duration?

    /// The time limit for a person to answer pinentry.
    public var pinentryDeadline: Duration

    /// The secrets of sources that give their secret only once.
    struct Memory {
        // An array, because there are at most one or two entries, and usually none.
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

    /// The value of `$CREDENTIALS_DIRECTORY`.
    public static var credentialsDirectory: String? { EnvironmentVariable.value("CREDENTIALS_DIRECTORY") }

    /// Creates an environment. Reads no secret.
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

    /// Whether there is a person, and asking is allowed.
    var hasPerson: Bool { !noInput && prompter != nil }

    /// Reads a source that gives its secret only once; later calls return the same secret.
    ///
    /// Blocks while another thread reads the source.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - read: Reads the source.
    /// - Returns: The secret.
    /// - Throws: Errors of `read`.
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

    /// Takes the environment variable of `source` and removes it from the environment; later calls return the same
    /// value.
    func variable(_ name: String, of source: PINSource) -> SecretBytes? {
        memory.withLock { memory in
            if let value = EnvironmentVariable.take(name) { memory.keep(value, from: source) }
            return memory.recalled(source)
        }
    }

    /// Wipes the remembered secrets when the keychain is locked. A later login then needs a new source.
    public func forget() {
        memory.withLock { memory in memory.forget() }
    }
}
