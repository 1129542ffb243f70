public import Foundation

/// The directories of Keyfob's files, following the XDG base directory specification.
///
/// Making a value creates nothing. Tests and programs that must not touch the user's own files pass a root, below which
/// everything is then stored.
public struct Directories: Sendable, Hashable {
    /// `$XDG_CONFIG_HOME/keyfob`: the choice of the default keychain.
    public let configuration: URL

    /// `$XDG_DATA_HOME/keyfob`: the keychains, one directory each, and Keyfob's own SoftHSM tokens.
    public let data: URL

    /// The directory of Keyfob's own SoftHSM tokens: `data`, unless set otherwise.
    ///
    /// SoftHSM reads its configuration once per process. A process that works with several sets of directories, such as
    /// a program's tests, must give them all the same directory for tokens.
    public var tokens: URL

    /// `$XDG_STATE_HOME/keyfob`: salted hashes of PINs that failed, commands to run after a renewal, and pending orders
    /// at certificate authorities.
    public let state: URL

    /// `$XDG_RUNTIME_DIR/keyfob`, or a directory in `/dev/shm`: the unlocked state if the kernel's keyring cannot be
    /// used.
    ///
    /// ``UnlockedState`` also uses `/dev/shm` if this directory is on a disk.
    public let runtime: URL

    /// The directory of the keychains: `keychains` below `data`.
    package var keychains: URL { data.appendingPathComponent("keychains", isDirectory: true) }

    /// Places all directories below `root`.
    public init(root: URL) {
        configuration = root.appendingPathComponent("config", isDirectory: true)
        data = root.appendingPathComponent("data", isDirectory: true)
        tokens = data
        state = root.appendingPathComponent("state", isDirectory: true)
        runtime = root.appendingPathComponent("runtime", isDirectory: true)
    }

    /// Takes the directories from the process's environment.
    ///
    /// As the specification requires, a relative path in an XDG variable is ignored.
    public init() {
        // Reads single variables, because Foundation would first copy the whole environment into a dictionary.
        self.init(variable: EnvironmentVariable.value)
    }

    /// Takes the directories from `environment`.
    ///
    /// As the specification requires, a relative path in an XDG variable is ignored.
    public init(environment: [String: String]) {
        self.init { environment[$0] }
    }

    private init(variable value: (String) -> String?) {
        let home = value("HOME").flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
        func directory(_ variable: String, _ fallback: String) -> URL {
            let base = value(variable).flatMap { $0.hasPrefix("/") ? $0 : nil } ?? fallback
            return URL(fileURLWithPath: base + (base.hasSuffix("/") ? "keyfob" : "/keyfob"), isDirectory: true)
        }
        configuration = directory("XDG_CONFIG_HOME", home + "/.config")
        data = directory("XDG_DATA_HOME", home + "/.local/share")
        tokens = data
        state = directory("XDG_STATE_HOME", home + "/.local/state")
        if let runtime = value("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
            self.runtime = URL(
                fileURLWithPath: runtime + (runtime.hasSuffix("/") ? "keyfob" : "/keyfob"), isDirectory: true)
        } else {
            runtime = URL(fileURLWithPath: "/dev/shm/keyfob-\(getuid())", isDirectory: true)
        }
    }
}
