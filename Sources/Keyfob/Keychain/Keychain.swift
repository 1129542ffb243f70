import Foundation
import KeyfobPrimitives
public import Logging
import PKCS11

/// A keychain: a token that holds keys and certificates, and a vault of passwords that only the token can open.
///
/// ```swift
/// let keychain = try Keychain.open()
/// try keychain.add(GenericPassword(service: "db/prod", account: "app"), secret: SecretBytes(utf8: "correct horse"))
/// let password = try keychain.find(.genericPassword(service: "db/prod")).first
/// let secret = try password.map { try keychain.secret(of: $0) }
/// ```
///
/// A keychain may be used by any number of threads. Most methods have two forms: the blocking form runs on the caller's
/// thread, the asynchronous form on threads of Keyfob, never on the cooperative pool. A method with only a blocking
/// form must not be called in a task; call it on a thread of your own. A locked keychain unlocks itself if it can
/// without asking the user: from the state that `keyfob unlock` stored, or from a PIN source that needs no terminal.
///
/// A keychain belongs to the process that opened it. In a child made by fork(2) its calls throw `refused`: fork before
/// the parent opens a keychain, and open it in the child.
public final class Keychain: Sendable {
    /// The keychain's name.
    public let name: String

    /// The configuration: where the keychain is and how it is opened.
    public let configuration: KeychainConfiguration

    /// Whether the keychain has a vault on disk. Without one, it is a token that was opened without a keychain.
    public let hasVault: Bool

    package let directories: Directories
    let options: Options
    let store: any ItemStore
    let token: TokenStore
    let index: ObjectIndex
    let lockState: Lock<LockState>
    let pinEnvironment: PINEnvironment

    /// Options for using a keychain.
    public struct Options: Sendable {
        /// The destination of log messages; silent by default.
        public var logger = Logger(label: "keyfob") { _ in SwiftLogNoOpLogHandler() }
        /// How long a wait for the token, the vault or another process may take; with zero or less, a busy resource is
        /// tried once.
        ///
        /// Calls also end with `timedOut` if the token's module does not return in this time; blocking calls only if
        /// the module waits for a device or another process, unlike SoftHSM and NSS. For keys that need a touch at each
        /// use, set more than the 15 seconds that a touch may take.
        public var timeout = Duration.seconds(10)
        /// How long a PIN command may run before it is killed, and how long a pipe may delay the PIN; with zero or
        /// less, only a PIN that is available at once is used.
        public var pinCommandTimeout = Duration.seconds(30)
        /// How long a descriptor may delay the PIN if the user may be asked. `nil` for no limit, because the program
        /// that writes to it may be asking the user too.
        public var pinDescriptorTimeout: Duration?
        /// Asks the user for PINs and passphrases; without a prompter the user is not asked.
        public var prompter: (any Prompter)?
        /// Whether the user may be asked; if false, sources that need a person fail at once, including pinentry.
        public var allowsAsking = true
        /// A PIN source that takes precedence over the configured one.
        public var pinSource: PINSource?
        /// Whether to try a PIN if the token reports that another wrong one blocks it.
        public var allowsFinalTry = false
        /// Whether to accept a PIN file that other users can read.
        public var allowsInsecureFiles = false
        /// Whether the process makes a few calls and exits, like a command.
        public var isOneShot = false
        /// Whether the process ends itself if a call of a module does not return, so that no caller needs an error.
        package var endsWhenModuleHangs = false
        /// Whether a thread opens the token while the caller opens the vault and searches it. It also logs in if the
        /// keychain is unlocked.
        ///
        /// Useful for a short-lived process that will certainly use the token. The first call that needs the token
        /// waits for the thread and reports its errors; deinitialization waits too. Do not use it in a process that
        /// already has other threads, because environment variables are set.
        public var warmsUpToken = false
        /// Called when a token call takes longer than half a second, for example while it waits for a touch.
        public var slowCallNotice: (@Sendable (String, Duration) -> Void)?

        /// `timeout` for the SQLite interface; a negative time becomes zero.
        var timeoutInSeconds: TimeInterval { max(0, timeout / .seconds(1)) }

        /// Options for a server: silent, ten seconds for any wait, no prompter.
        public init() {}
    }

    struct LockState {
        var keys: VaultKeys?
        var pin: SecretBytes?
        /// Whether `pin` was restored from an earlier unlocking, and the token has not accepted it in this process yet.
        var isRestored = false
        /// The source of `pin`, which would return it again; `nil` for a PIN that was given once.
        var pinSource: PINSource?
        var wrappingKeys: [WrappingKeyRow] = []
        /// The wrapping keys that are known to have wrapped the metadata key.
        var ownWrappingKeys: Set<WrappingKeyRow> = []
        /// Whether unlocking in this process has completed interrupted changes.
        var hasRecovered = false
        /// Whether a thread is sending a stored PIN.
        var isSending = false
        /// How often it was locked: what was begun before the last time leaves nothing behind.
        var lockings = 0

        /// The PIN with its source.
        var tokenPIN: TokenPIN? {
            pin.map { isRestored ? TokenPIN($0, .left) : TokenPIN($0, storedIn: pinSource) }
        }
    }

    init(
        configuration: KeychainConfiguration, directories: Directories, options: Options, store: any ItemStore,
        token: TokenStore, lockState: Lock<LockState>, hasVault: Bool = true
    ) {
        name = configuration.name
        self.hasVault = hasVault
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

    /// Opens a keychain by name, or the default keychain.
    ///
    /// Blocks for opening a file; the token is not accessed.
    ///
    /// - Throws: `KeychainError`; `noSuchKeychain` or `notInitialized` if there is none, `vaultDamaged`, `vaultTooNew`
    ///   or `vaultUnavailable` if its vault cannot be used, `unsafeFile` if other users can write the vault,
    ///   `invalidConfiguration`.
    public static func open(
        _ name: String? = nil, in directories: Directories = Directories(), options: Options = Options()
    ) throws -> Keychain {
        try Keychains(directories).open(name, options: options)
    }

    /// The deadline of a wait that starts now.
    var deadline: Deadline { .after(options.timeout) }

    /// A writer of objects on the token.
    func writer(_ keys: VaultKeys) -> TokenWriter {
        TokenWriter(
            store: store, token: token,
            lock: VaultLock(
                path: hasVault ? configuration.lockFile.filePath : nil, name: "keychain \"\(name)\""
            ) { [self] in
                Keychains(directories).explanation(of: $0, configuration)
            },
            index: index, keys: keys, deadline: deadline, logger: options.logger)
    }
}
