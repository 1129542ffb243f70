import ArgumentParser
import Foundation
import Keyfob

/// `keyfob systemd unit`: the units that serve credentials.
struct SystemdUnit: OutputCommand {
    static let configuration = CommandConfiguration(
        "unit", "Print or install the units that give secrets to services.",
        examples: Examples(
            "keyfob systemd unit --serve nginx.service/db-password=db/prod --install",
            "keyfob systemd unit --map /etc/keyfob/credentials -o /etc/systemd/system",
            "keyfob systemd unit --user --serve sync.service/token=sync"),
        discussion: """
            The units run as the user of this command and use that user's keychain. A service asks for its secret with \
            LoadCredential=NAME:/run/keyfob/credentials.sock in its unit. An unattended keychain needs nothing else; \
            another one needs a source of its PIN, such as --encrypted-pin-file.
            """)

    @OptionGroup(title: "Credentials") var served: ServedOptions

    @OptionGroup(title: "Units") var options: SystemdUnitOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        try served.check()
        guard served.map?.path != "-" else {
            throw UsageError("the service cannot read the map from this input.", hint: "Name its file: --map FILE")
        }
        let units = try options.units(global)
        // The file may be written later; its errors are found now if it exists.
        if let map = served.map, FileManager.default.fileExists(atPath: map.path) {
            _ = try CredentialMap(served.serve, file: map, waiting: global.timeout)
        } else {
            _ = try CredentialMap(served.serve, file: nil, waiting: nil)
        }
        try options.emit(
            units.credentials(served), of: units, starting: "keyfob-credentials.socket",
            notes: ["In the unit of a service: LoadCredential=NAME:\(units.socket)"], global, output)
    }
}
