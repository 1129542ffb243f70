import ArgumentParser

/// `keyfob systemd`: secrets and renewals for services of systemd.
struct SystemdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "systemd", "Give secrets to systemd's services, and renew certificates by its timers.",
        examples: Examples(
            "keyfob systemd unit --serve nginx.service/db-password=db/prod --install",
            "keyfob systemd timer --install",
            "keyfob systemd credential --map /etc/keyfob/credentials"),
        discussion: """
            A service of systemd gets a secret as a file that only it can read, if its unit says \
            LoadCredential=NAME:/run/keyfob/credentials.sock.
            """,
        subcommands: [SystemdUnit.self, SystemdTimer.self, SystemdCredential.self])
}
