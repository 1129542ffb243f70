public import Foundation
public import Keyfob
import KeyfobPrimitives

/// A keychain for a test: a real token and a real vault, removed with the last reference.
///
/// ```swift
/// let throwaway = try ThrowawayKeychain()
/// try MyApp(keychain: throwaway.keychain).logIn()
/// ```
///
/// It is unlocked, and its PIN is in a file, so there are no prompts. It neither reads nor writes the user's data, and
/// any number of them can be used at once. Each has its configuration, vault and unlocked state in a temporary
/// directory of its own, and its own SoftHSM token. The tokens of a process share one temporary directory, because
/// SoftHSM reads its configuration once per process.
///
/// > Important: A process that has used a user's keychain on one of Keyfob's SoftHSM tokens cannot create one; `init`
/// > then throws `refused`.
public final class ThrowawayKeychain: Sendable {
    /// The keychain.
    public let keychain: Keychain

    /// The directories of the keychain; use them to open it again, as another process would.
    public let directories: Directories

    private let root: URL
    private let maker = getpid()

    /// Creates a keychain. Blocks for about half a second.
    ///
    /// - Parameters:
    ///   - options: The options for `Keychain.open`.
    ///   - tokens: The directory of SoftHSM's configuration and tokens, for a process that already uses its own; see
    ///     ``Directories/tokens``.
    /// - Throws: `KeychainError`; `moduleNotLoaded` if SoftHSM is not installed, `refused` if this process uses another
    ///   SoftHSM directory, `fileUnavailable` if the temporary directory cannot be written.
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
            // The token has the keychain's name, and all tokens share a directory, so the name must be unique.
            keychain = try Keychains(directories).create(
                "throwaway-\(unique.prefix(13))", on: .new(.file), options: options
            ).keychain
        } catch {
            Self.remove(root)
            throw error
        }
    }

    deinit {
        // In a forked child the files belong to the parent, which may still use them.
        guard maker == getpid() else { return }
        // The token is outside `root`. If it cannot be removed here, the exit handler removes it.
        do { try Keychains(directories).delete(keychain.name) } catch {}
        Self.remove(root)
    }

    private static func remove(_ url: URL) {
        paths.withLock { _ = $0.remove(url.path) }
        // A failure leaves files in the temporary directory, which a test cannot do anything about.
        do { try FileManager.default.removeItem(at: url) } catch {}
    }

    /// Named after the process, so that other test code in it can find the same directory before SoftHSM is loaded.
    private static let sharedTokens: URL = {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("keyfob-softhsm-\(getpid())-\(startTime)", isDirectory: true)
        paths.withLock { _ = $0.insert(url.path) }
        let process = getpid()
        owner.withLock { $0 = process }
        atexit {
            // A forked child has copies of the paths, but nothing to remove.
            guard ThrowawayKeychain.owner.withLock({ $0 }) == getpid() else { return }
            for path in ThrowawayKeychain.paths.withLock({ $0 }) {
                ThrowawayKeychain.remove(URL(fileURLWithPath: path, isDirectory: true))
            }
        }
        return url
    }()

    /// The start time of the process in ticks since boot (proc(5)), which tells it from an earlier process with the
    /// same ID.
    private static var startTime: String {
        do {
            let line = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8)
            // The program's name, in brackets, may contain anything; field 3 follows it.
            let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
            return fields.count > 20 ? String(fields[20]) : "0"
        } catch {
            return "0"
        }
    }

    /// The paths that `atexit` removes, including those of keychains that a global keeps to the end. Static, because
    /// the handler cannot capture anything.
    private static let paths = Lock<Set<String>>([])
    private static let owner = Lock<pid_t?>(nil)
}
