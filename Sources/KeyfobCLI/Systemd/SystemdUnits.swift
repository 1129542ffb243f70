import Foundation
import Glibc
import Keyfob

/// The units with which systemd runs Keyfob for the user of this process, whose keychains they use.
struct SystemdUnits {
    /// The path of the command.
    let program: String
    /// Whether the user's own service manager runs them.
    let isForUser: Bool
    /// Options of the command that select the keychain and the source of its PIN.
    let selection: [String]
    /// The file with the PIN that systemd loads, and whether it is encrypted.
    let pin: (path: String, isEncrypted: Bool)?
    /// Whether the token is one of SoftHSM, which needs neither devices nor other programs.
    let isSoftHSM: Bool
    /// Directories that the command of a renewal writes to.
    let writable: [String]

    private static let directories = Directories()

    /// The user of this process, by the system's list of users; without an entry, the number is the name.
    private static let user: (name: String, home: String?) = {
        guard let entry = unsafe getpwuid(geteuid()) else { return (String(geteuid()), nil) }
        return unsafe (String(cString: entry.pointee.pw_name), String(cString: entry.pointee.pw_dir))
    }()

    /// The place of the units that an administrator or the user writes.
    var folder: String {
        guard isForUser else { return "/etc/systemd/system" }
        let home = Environment.nonEmpty("HOME") ?? NSHomeDirectory()
        return (Environment.nonEmpty("XDG_CONFIG_HOME") ?? home + "/.config") + "/systemd/user"
    }

    /// The socket to which services connect.
    var socket: String { isForUser ? "%t/keyfob/credentials.sock" : "/run/keyfob/credentials.sock" }

    // MARK: Credentials

    /// The units that serve credentials.
    func credentials(_ served: ServedOptions) -> [UnitFile] {
        var words = [program, "systemd", "credential"]
        if let map = served.map { words += ["--map", URL(fileURLWithPath: map.path).path] }
        for credential in served.serve { words += ["--serve", credential.text] }
        let socketUnit = UnitFile(
            name: "keyfob-credentials.socket",
            sections: [
                .init(name: "Unit", settings: [("Description", "Socket for secrets from Keyfob")]),
                .init(
                    name: "Socket",
                    settings: [
                        ("ListenStream", socket), ("SocketMode", "0600"), ("DirectoryMode", "0700"), ("Accept", "yes"),
                        ("MaxConnections", "256"),
                    ]),
                .init(name: "Install", settings: [("WantedBy", "sockets.target")]),
            ])
        var settings = base + [
            ("ExecStart", UnitFile.command(words + selection)), ("RuntimeMaxSec", "2min"), ("UMask", "0077"),
        ]
        if !isForUser {
            settings += [("CapabilityBoundingSet", "")]
            // A token of another module may be reached over the network.
            if isSoftHSM { settings += [("PrivateNetwork", "yes")] }
        }
        settings += [("RestrictAddressFamilies", isSoftHSM ? "AF_UNIX" : Self.networkFamilies)]
        return [
            socketUnit,
            UnitFile(
                name: "keyfob-credentials@.service",
                sections: [
                    .init(
                        name: "Unit",
                        settings: [
                            ("Description", "A secret from Keyfob"),
                            // The instance of a failed request would stay otherwise.
                            ("CollectMode", "inactive-or-failed"),
                        ]),
                    .init(name: "Service", settings: settings),
                ]),
        ]
    }

    // MARK: Renewal

    /// The units that renew certificates.
    ///
    /// - Parameters:
    ///   - exec: The command after a renewal.
    ///   - schedule: When to look for identities that are due, as in systemd.time(7).
    func renewal(exec: String?, schedule: String) -> [UnitFile] {
        let words = [program, "identity", "renew", "--all"] + (exec.map { ["--exec", $0] } ?? [])
        var settings = [("Type", "oneshot")] + base + [("ExecStart", UnitFile.command(words + selection))]
        // A challenge may be answered at port 80 or 443. Root has this capability already.
        if !isForUser, geteuid() != 0 { settings += [("AmbientCapabilities", "CAP_NET_BIND_SERVICE")] }
        settings += [("RestrictAddressFamilies", Self.networkFamilies)]
        return [
            UnitFile(
                name: "keyfob-renew.service",
                sections: [
                    .init(
                        name: "Unit",
                        settings: [
                            ("Description", "Renewal of certificates by Keyfob"), ("Wants", "network-online.target"),
                            ("After", "network-online.target"),
                        ]),
                    .init(name: "Service", settings: settings),
                ]),
            UnitFile(
                name: "keyfob-renew.timer",
                sections: [
                    .init(name: "Unit", settings: [("Description", "Renewal of certificates by Keyfob")]),
                    .init(
                        name: "Timer",
                        settings: [
                            ("OnCalendar", schedule), ("RandomizedDelaySec", "30min"), ("Persistent", "yes"),
                        ]),
                    .init(name: "Install", settings: [("WantedBy", "timers.target")]),
                ]),
        ]
    }

    // MARK: Parts

    private static let networkFamilies = "AF_UNIX AF_INET AF_INET6 AF_NETLINK"

    /// The settings of each service: the user, the files that it needs, and what it must not do.
    private var base: [(name: String, value: String)] {
        var settings: [(name: String, value: String)] = []
        if !isForUser { settings.append(("User", Self.user.name)) }
        for (name, value) in environment { settings.append(("Environment", UnitFile.word("\(name)=\(value)"))) }
        if let pin {
            let name = PINSourceSelection.credentialName
            settings.append((pin.isEncrypted ? "LoadCredentialEncrypted" : "LoadCredential", "\(name):\(pin.path)"))
        }
        settings += [
            ("NoNewPrivileges", "yes"), ("LockPersonality", "yes"), ("RestrictRealtime", "yes"),
            ("SystemCallArchitectures", "native"),
        ]
        // The manager of a user lacks the rights for the following settings.
        guard !isForUser else { return settings }
        settings += [
            ("ProtectSystem", "strict"), ("ProtectHome", "read-only"),
            ("ReadWritePaths", writablePaths.map { UnitFile.word("-" + $0) }.joined(separator: " ")),
            ("PrivateTmp", "yes"), ("ProtectKernelTunables", "yes"), ("ProtectKernelModules", "yes"),
            ("ProtectKernelLogs", "yes"), ("ProtectControlGroups", "yes"), ("ProtectClock", "yes"),
            ("ProtectHostname", "yes"), ("RestrictNamespaces", "yes"), ("RestrictSUIDSGID", "yes"),
        ]
        // Other tokens are devices.
        if isSoftHSM { settings.append(("PrivateDevices", "yes")) }
        return settings
    }

    /// The variables that place the files of Keyfob, if they do so for this process.
    private var environment: [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        if let home = Environment.nonEmpty("HOME"), !isForUser, home != Self.user.home {
            found.append(("HOME", home))
        }
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "KEYFOB_MODULE"] {
            if let value = Environment.nonEmpty(name) { found.append((name, value)) }
        }
        return found
    }

    private var writablePaths: [String] {
        [Self.directories.data.path, Self.directories.tokens.path, Self.directories.state.path].distinct + writable
    }

    /// Makes the directories of Keyfob that the services write to and cannot make.
    ///
    /// - Throws: `KeychainError` if a directory cannot be made.
    static func makeDirectories() throws { try PrivateFile.createDirectory(directories.state) }
}
