import Dispatch
import Foundation
import Keyfob
import KeyfobPrimitives

/// Which keychain the functions of this module work on, and in which access groups.
///
/// What a call finds first counts: the block that it runs in, what the process chose, the environment, the
/// configuration. The keychain of the environment or the configuration is opened at the first call that needs it, and
/// once; a failure is not kept, so that the next call tries again.
struct KeychainSelection: Sendable {
    let keychain: Keychain
    let accessGroups: AccessGroups

    /// What a block runs with; inherited by the tasks that it starts, not by its threads.
    @TaskLocal static var ofBlock: Choice?

    /// What somebody chose; `nil` where nothing was.
    struct Choice: Sendable {
        var keychain: Keychain?
        var accessGroups: AccessGroups?
    }

    /// What the process has.
    private struct Process {
        var choice = Choice()
        /// The keychain of environment or configuration.
        var opened: Keychain?
        /// The process that opened it: a child of fork(2) must open its own.
        var owner: pid_t = 0
        /// The groups of the environment, read once.
        var environmentGroups: AccessGroups??
    }

    private static let process = Lock(Process())

    /// What applies to this call. Blocks, where the keychain is not open yet, as long as it takes to open a file.
    ///
    /// - Throws: `KeychainError`; what `Keychain.open` throws.
    static func current() throws -> KeychainSelection {
        let block = ofBlock
        let keychain = try block?.keychain ?? ofProcess()
        if let groups = block?.accessGroups { return KeychainSelection(keychain: keychain, accessGroups: groups) }
        return KeychainSelection(keychain: keychain, accessGroups: groups(for: keychain))
    }

    /// Changes what the process has chosen.
    static func choose(_ change: (inout Choice) -> Void) {
        process.withLock { change(&$0.choice) }
    }

    /// Runs `body` on a queue, with what the block has that this call is in: queues do not inherit it.
    static func runAsync(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        let block = ofBlock
        queue.async { KeychainSelection.$ofBlock.withValue(block, operation: body) }
    }

    private static func ofProcess() throws -> Keychain {
        try process.withLock { state in
            if let chosen = state.choice.keychain { return chosen }
            if let opened = state.opened, state.owner == getpid() { return opened }
            let keychain = try Keychain.open(environment("KEYFOB_KEYCHAIN"), options: options)
            (state.opened, state.owner) = (keychain, getpid())
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

    /// How the keychain is opened: nobody is asked unless there is a terminal, and then only by a program that the
    /// keychain's PIN source names.
    private static var options: Keychain.Options {
        var options = Keychain.Options()
        options.allowsAsking = environment("KEYFOB_NO_INPUT") == nil && isatty(STDIN_FILENO) == 1
        return options
    }

    /// A variable of the environment; `nil` for one that is not set or empty.
    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The keychain that this call works on. - Throws: `KeychainError`; what `Keychain.open` throws.
func currentKeychain() throws -> Keychain { try KeychainSelection.current().keychain }

/// The access groups of this call. - Throws: `KeychainError`; what `Keychain.open` throws.
func currentAccessGroups() throws -> AccessGroups { try KeychainSelection.current().accessGroups }
