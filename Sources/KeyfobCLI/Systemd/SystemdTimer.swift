import ArgumentParser
import Keyfob

/// `keyfob systemd timer`: the units that renew certificates.
struct SystemdTimer: OutputCommand {
    static let configuration = CommandConfiguration(
        "timer", "Print or install the units that renew certificates.",
        examples: Examples(
            "keyfob systemd timer --install",
            "keyfob systemd timer --exec 'systemctl reload nginx' --encrypted-pin-file /etc/keyfob/pin.cred",
            "keyfob systemd timer --user -o ~/.config/systemd/user"),
        discussion: """
            The timer runs keyfob identity renew --all every hour, which does nothing if nothing is due. The units run \
            as the user of this command, see the file system read-only, and write to that user's keychains only: --write \
            names a directory for the files of --exec, or the document root of a web server for ACME challenges.
            """)

    @Option(help: ArgumentHelp("The command to run after a renewal.", valueName: "command"))
    var exec: String?

    @Option(
        help: ArgumentHelp("When to look for certificates that are due, as in systemd.time(7).", valueName: "times"))
    var schedule = "hourly"

    @Option(
        help: ArgumentHelp("A directory that a renewal or its command writes to; may be repeated.", valueName: "dir"),
        completion: .directory)
    var write: [String] = []

    @OptionGroup(title: "Units") var options: SystemdUnitOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !write.contains("") else { throw ValidationError("--write takes a directory.") }
        guard !schedule.isEmpty, !schedule.contains(where: \.isNewline) else {
            throw ValidationError("--schedule takes times of systemd.time(7), such as hourly or '*-*-* 04:00'.")
        }
    }

    func run(_ output: Output) throws {
        let units = try options.units(global, writable: write)
        try options.emit(
            units.renewal(exec: exec, schedule: schedule), of: units, starting: "keyfob-renew.timer", global, output)
    }
}
