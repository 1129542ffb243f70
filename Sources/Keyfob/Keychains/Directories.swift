public import Foundation

/// Where Keyfob keeps its files, by the XDG base directory specification.
///
/// Nothing is created by making a value. Tests and programs that must not touch the user's own files
/// give a root: everything then lives below it.
public struct Directories: Sendable, Hashable {
    /// `$XDG_CONFIG_HOME/keyfob`: which keychain is the default.
    public let configuration: URL

    /// `$XDG_DATA_HOME/keyfob`: the keychains, one directory each, and Keyfob's own SoftHSM tokens.
    public let data: URL

    /// Where Keyfob's own SoftHSM tokens are: `data`, unless set otherwise.
    ///
    /// SoftHSM reads its configuration once per process. A process that works with several sets of
    /// directories, such as a program's tests, gives them all one place for tokens.
    public var tokens: URL

    /// `$XDG_STATE_HOME/keyfob`: salted hashes of PINs that failed, commands that are to follow a renewal, orders at
    /// authorities that are under way.
    public let state: URL

    /// `$XDG_RUNTIME_DIR/keyfob`, or a directory in `/dev/shm`: for unlocked state where the kernel's keyring cannot be
    /// used. ``UnlockedState`` uses `/dev/shm` also where this is on a disk.
    public let runtime: URL

    /// Where the keychains are: `keychains` below `data`.
    var keychains: URL { data.appendingPathComponent("keychains", isDirectory: true) }

    /// All of them below `root`.
    public init(root: URL) {
        configuration = root.appendingPathComponent("config", isDirectory: true)
        data = root.appendingPathComponent("data", isDirectory: true)
        tokens = data
        state = root.appendingPathComponent("state", isDirectory: true)
        runtime = root.appendingPathComponent("runtime", isDirectory: true)
    }

    /// The four directories that the process' environment names.
    ///
    /// A relative path in an XDG variable is ignored, as the specification demands.
    public init() {
        // One by one: Foundation copies the whole environment into a dictionary first.
        self.init(variable: EnvironmentVariable.value)
    }

    /// The four directories that `environment` names. A relative path in an XDG variable is ignored.
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
