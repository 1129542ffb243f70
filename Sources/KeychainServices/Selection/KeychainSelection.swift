import Dispatch
import Foundation
import Keyfob
import KeyfobPrimitives

/// The keychain and the access groups that the functions of this module use.
///
/// The first of these that applies wins: the enclosing `SecKeychainUse` block, the choice of the process, the
/// environment, the configuration. A keychain from the environment or the configuration is opened once, by the first
/// call that needs it. After a failure the next call tries again.
struct KeychainSelection: Sendable {
    let keychain: Keychain
    let accessGroups: AccessGroups

    /// The choice of the enclosing block. Tasks inherit it, threads do not.
    @TaskLocal static var ofBlock: Choice?

    /// An explicit choice; `nil` members are not chosen.
    struct Choice: Sendable {
        var keychain: Keychain?
        var accessGroups: AccessGroups?
    }

    /// The state of the process.
    private struct Process {
        var choice = Choice()
        /// The keychain from the environment or the configuration.
        var opened: Keychain?
        /// The groups from the environment, read once.
        var environmentGroups: AccessGroups??
    }

    private static let process = Lock(Process())

    /// Returns the selection for this call. Blocks to open a file if the keychain is not open yet.
    ///
    /// - Throws: `KeychainError`.
    static func current() throws -> KeychainSelection {
        let block = ofBlock
        let keychain = try block?.keychain ?? ofProcess()
        if let groups = block?.accessGroups { return KeychainSelection(keychain: keychain, accessGroups: groups) }
        return KeychainSelection(keychain: keychain, accessGroups: groups(for: keychain))
    }

    /// Changes the choice of the process.
    static func choose(_ change: (inout Choice) -> Void) {
        process.withLock { change(&$0.choice) }
    }

    /// Runs `body` on a queue with the choice of the current block, which queues do not inherit.
    static func runAsync(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        let block = ofBlock
        queue.async { KeychainSelection.$ofBlock.withValue(block, operation: body) }
    }

    private static func ofProcess() throws -> Keychain {
        try process.withLock { state in
            if let chosen = state.choice.keychain { return chosen }
            if let opened = state.opened { return opened }
            let keychain = try Keychain.open(environment("KEYFOB_KEYCHAIN"), options: options)
            state.opened = keychain
            return keychain
        }
    }

    private static func groups(for keychain: Keychain) -> AccessGroups {
        process.withLock { state in
            if let chosen = state.choice.accessGroups { return chosen }
            let ofEnvironment =
                state.environmentGroups
                ?? environment("KEYFOB_ACCESS_GROUPS").map { AccessGroups(parsing: $0) }
            state.environmentGroups = .some(ofEnvironment)
            return ofEnvironment ?? keychain.configuration.accessGroups.map { AccessGroups($0) } ?? .fallback
        }
    }

    /// The options to open the keychain with. Only a program that the PIN source names may ask the user, and only if
    /// there is a terminal.
    private static var options: Keychain.Options {
        var options = Keychain.Options()
        options.allowsAsking = environment("KEYFOB_NO_INPUT") == nil && isatty(STDIN_FILENO) == 1
        return options
    }

    /// Returns an environment variable; `nil` if it is unset or empty.
    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Returns the keychain for this call.
///
/// - Throws: `KeychainError`.
func currentKeychain() throws -> Keychain { try KeychainSelection.current().keychain }

/// Returns the access groups for this call.
///
/// - Throws: `KeychainError`.
func currentAccessGroups() throws -> AccessGroups { try KeychainSelection.current().accessGroups }
