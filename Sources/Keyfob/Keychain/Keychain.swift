import Foundation
import KeyfobPrimitives
public import Logging
import PKCS11

/// A keychain: a token that holds keys and certificates, and a vault of passwords that only it can open.
///
/// ```swift
/// let keychain = try Keychain.open()
/// try keychain.add(GenericPassword(service: "db/prod", account: "app"), secret: SecretBytes(utf8: "correct horse"))
/// let password = try keychain.find(.genericPassword(service: "db/prod")).first
/// let secret = try password.map { try keychain.secret(of: $0) }
/// ```
///
/// One value serves any number of threads. The verbs come in two forms: the blocking one runs on the caller's
/// thread; the asynchronous one runs on threads of Keyfob's own, never on the cooperative pool. What has a blocking
/// form alone blocks the thread that calls it: in a task, call it on a thread of your own. A keychain that is
/// locked unlocks itself where it can without asking anybody: from the state that `keyfob unlock` left, or from a
/// PIN source that needs no terminal.
///
/// A keychain belongs to the process that opened it. In a child made by fork(2) its calls throw `refused`: fork before
/// the parent opens a keychain, and open it in the child.
public final class Keychain: Sendable {
    /// The keychain's name.
    public let name: String

    /// Where it is and how it is opened.
    public let configuration: KeychainConfiguration

    let directories: Directories
    let options: Options
    let store: any ItemStore
    let token: TokenStore
    let index: ObjectIndex
    let lockState: Lock<LockState>
    let pinEnvironment: PINEnvironment

    /// How a program uses a keychain.
    public struct Options: Sendable {
        /// Where log messages go; silent unless given.
        public var logger: Logger
        /// How long a wait for the token, the vault or another process may take; with none, or less, what is busy is
        /// tried once.
        ///
        /// Asynchronous calls also end with `timedOut` where the token's module does not return in this time. For keys
        /// that want a touch at each use, give more than the 15 seconds that a touch may take.
        public var timeout: Duration
        /// How long a command that gives the PIN may run before it is killed, and how long a pipe may keep it back;
        /// with none, or less, only what is there at once is taken.
        public var pinCommandTimeout: Duration
        /// How long a descriptor may keep the PIN back also where somebody may be asked; `nil` where there is no limit
        /// then, for a program that writes to it may be asking, too.
        public var pinDescriptorTimeout: Duration?
        /// Asks a person for PINs and passphrases; without one nobody is asked.
        public var prompter: (any Prompter)?
        /// Whether anybody may be asked; without, sources that need a person fail at once, pinentry too.
        public var allowsAsking: Bool
        /// A PIN source that goes before the configured one.
        public var pinSource: PINSource?
        /// Whether a PIN may be tried when the token says that one more wrong one blocks it.
        public var allowsFinalTry: Bool
        /// Whether a PIN file that others can read is accepted.
        public var allowsInsecureFiles: Bool
        /// Whether the process makes a few calls and ends, as a command does.
        public var isOneShot: Bool
        /// Whether a thread opens the token while the caller opens the vault and looks for what it wants there; with
        /// a login where the keychain is unlocked.
        ///
        /// Worth it for a process that is going to use the token for certain and wants to end soon. The first call
        /// that needs the token waits for the thread, and tells what is wrong with the token; so does the end of the
        /// keychain wait. Not for a process that has threads of its own by then: environment variables are set.
        public var opensTokenAhead: Bool
        /// Called when a token call takes longer than half a second, as when it waits for a touch.
        public var slowCallNotice: (@Sendable (String, Duration) -> Void)?

        /// `timeout` as SQLite's interface wants it; a time that is over is none.
        var timeoutInSeconds: TimeInterval { max(0, timeout / .seconds(1)) }

        /// The options of a server: silent, ten seconds for any wait, nobody to ask.
        public init() {
            logger = Logger(label: "keyfob") { _ in SwiftLogNoOpLogHandler() }
            timeout = .seconds(10)
            pinCommandTimeout = .seconds(30)
            allowsAsking = true
            allowsFinalTry = false
            allowsInsecureFiles = false
            isOneShot = false
            opensTokenAhead = false
        }
    }

    struct LockState {
        var keys: VaultKeys?
        var pin: SecretBytes?
        /// Whether `pin` is what an earlier unlocking left, which the token has not accepted in this process yet.
        var isRestored = false
        /// The source that `pin` comes from, and would come from again; `nil` for one that was given once.
        var pinSource: PINSource?
        var wrappingKeys: [WrappingKeyRow] = []
        /// Those that are known to have wrapped the metadata key.
        var ownWrappingKeys: Set<WrappingKeyRow> = []
        /// Whether unlocking in this process has finished interrupted removals.
        var hasRecovered = false
        /// Whether a thread is sending a stored PIN.
        var isSending = false
        /// How often it was locked: what was begun before the last time leaves nothing behind.
        var lockings = 0

        /// The PIN with where it comes from.
        var tokenPIN: TokenPIN? {
            pin.map { isRestored ? TokenPIN($0, .left) : TokenPIN($0, storedIn: pinSource) }
        }
    }

    init(
        configuration: KeychainConfiguration, directories: Directories, options: Options, store: any ItemStore,
        token: TokenStore, lockState: Lock<LockState>
    ) {
        name = configuration.name
        self.configuration = configuration
        self.directories = directories
        self.options = options
        self.store = store
        self.lockState = lockState
        pinEnvironment = PINEnvironment(
            prompter: options.prompter, noInput: !options.allowsAsking, allowInsecureFiles: options.allowsInsecureFiles,
            commandDeadline: options.pinCommandTimeout, descriptorDeadline: options.pinDescriptorTimeout)
        self.token = token
        index = ObjectIndex(store: store, token: token)
        token.refusedPIN.withLock { $0 = { [weak self] in self?.pinWasRefused() } }
    }

    deinit { token.awaitOpening() }

    /// Opens a keychain by name; without one, the default keychain.
    ///
    /// Blocks for as long as it takes to open a file; the token is not touched.
    ///
    /// - Throws: `KeychainError`; `noSuchKeychain` or `notInitialized` where there is none, `vaultDamaged`,
    ///   `vaultTooNew` or `vaultUnavailable` where its vault cannot be used, `unsafeFile` where others can write the
    ///   vault, `invalidConfiguration`.
    public static func open(
        _ name: String? = nil, in directories: Directories = Directories(), options: Options = Options()
    ) throws -> Keychain {
        try Keychains(directories).open(name, options: options)
    }

    /// The deadline of a wait that begins now.
    var deadline: Deadline { .after(options.timeout) }

    /// A writer of objects on the token.
    func writer(_ keys: VaultKeys) -> TokenWriter {
        TokenWriter(
            store: store, token: token,
            lock: VaultLock(path: configuration.lockFile.filePath, name: "keychain \"\(name)\"") { [self] in
                Keychains(directories).explanation(of: $0, configuration)
            },
            index: index, keys: keys, deadline: deadline, logger: options.logger)
    }
}
