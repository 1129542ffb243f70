public import Foundation
public import Keyfob
import KeyfobPrimitives

/// A keychain of a test's own: real token, real vault, gone when the last reference goes.
///
/// ```swift
/// let throwaway = try ThrowawayKeychain()
/// try MyApp(keychain: throwaway.keychain).logIn()
/// ```
///
/// It is unlocked, and its PIN lies in a file, so that nobody is ever asked. Nothing of the user's is read
/// or written, and any number of them can be used at once. Each has configuration, vault and unlocked
/// state below a temporary directory of its own, and a SoftHSM token of its own; the tokens of a process
/// share one temporary directory, because SoftHSM reads its configuration once per process.
///
/// > Important: A process in which a keychain of the user's on a SoftHSM token of Keyfob's was used before
/// > cannot make one; `init` then says so.
public final class ThrowawayKeychain: Sendable {
    /// The keychain.
    public let keychain: Keychain

    /// Where it keeps its files; opens it once more, as another process would.
    public let directories: Directories

    private let root: URL
    private let maker = getpid()

    /// Makes a keychain. Blocks for about half a second.
    ///
    /// - Parameters:
    ///   - options: As for `Keychain.open`.
    ///   - tokens: The directory of SoftHSM's configuration and tokens, for a process that uses one of its
    ///     own making already; see ``Directories/tokens``.
    /// - Throws: `KeychainError`; `moduleNotLoaded` where SoftHSM is not installed, `refused` where this process
    ///   uses another SoftHSM directory, `fileUnavailable` where the temporary directory cannot be written.
    public init(options: Keychain.Options = .init(), tokens: URL? = nil) throws {
        let unique = UUID().uuidString.lowercased()
        root = FileManager.default.temporaryDirectory
            .appendingPathComponent("keyfob-throwaway-\(unique)", isDirectory: true)
        var directories = Directories(root: root)
        let sharedTokens = Self.sharedTokens
        directories.tokens = tokens ?? sharedTokens
        let path = root.path
        Self.paths.withLock { _ = $0.insert(path) }
        self.directories = directories
        do {
            try FileManager.default.createDirectory(
                at: root, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            // The token has the keychain's name, and all tokens share a directory.
            keychain = try Keychains(directories).create(
                "throwaway-\(unique.prefix(13))", on: .new(.file), options: options
            ).keychain
        } catch {
            Self.remove(root)
            throw error
        }
    }

    deinit {
        // In a child that was forked the files are its parent's, who may still use them.
        guard maker == getpid() else { return }
        // The token lies outside of `root`. Where it cannot be removed, the process' end takes it along.
        do { try Keychains(directories).delete(keychain.name) } catch {}
        Self.remove(root)
    }

    private static func remove(_ url: URL) {
        paths.withLock { _ = $0.remove(url.path) }
        // A failure leaves files in the temporary directory and is nothing that a test could act upon.
        do { try FileManager.default.removeItem(at: url) } catch {}
    }

    /// Named by the process, so that other code for tests in it can find the same place before SoftHSM is loaded.
    private static let sharedTokens: URL = {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("keyfob-softhsm-\(getpid())-\(startTime)", isDirectory: true)
        paths.withLock { _ = $0.insert(url.path) }
        let process = getpid()
        owner.withLock { $0 = process }
        atexit {
            // A child that was forked has copies of the paths, and nothing to remove.
            guard ThrowawayKeychain.owner.withLock({ $0 }) == getpid() else { return }
            for path in ThrowawayKeychain.paths.withLock({ $0 }) {
                ThrowawayKeychain.remove(URL(fileURLWithPath: path, isDirectory: true))
            }
        }
        return url
    }()

    /// When the process started, in ticks since boot (proc(5)): tells it from an earlier one of its number.
    private static var startTime: String {
        do {
            let line = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8)
            // The name of the program, in brackets, may hold anything; field 3 follows it.
            let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
            return fields.count > 20 ? String(fields[20]) : "0"
        } catch {
            return "0"
        }
    }

    /// What `atexit` removes, also of keychains that a global keeps to the end; its handler cannot capture anything.
    private static let paths = Lock<Set<String>>([])
    private static let owner = Lock<pid_t?>(nil)
}
