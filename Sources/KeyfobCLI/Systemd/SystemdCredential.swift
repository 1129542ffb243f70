import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob systemd credential`: answers one connection of systemd with a secret.
struct SystemdCredential: OutputCommand {
    static let configuration = CommandConfiguration(
        "credential", "Answer a connection of systemd with the secret for a service.",
        examples: Examples(
            "keyfob systemd credential --map /etc/keyfob/credentials",
            "keyfob systemd credential --serve nginx.service/db-password=db/prod",
            "keyfob systemd credential --serve 'backup@.service/key=keyfob://backup?keychain=site'"),
        discussion: """
            A socket unit with Accept=yes starts this for each connection; keyfob systemd unit prints the units. The \
            service that needs the secret says LoadCredential=db-password:/run/keyfob/credentials.sock, and finds it in \
            the file $CREDENTIALS_DIRECTORY/db-password.

            A service gets only the credentials that are named for it, and only root and the user of the command may \
            ask. For a request that is refused or fails, systemd sees an empty credential; the reason is in the journal.
            """)

    @OptionGroup(title: "Credentials") var served: ServedOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        try served.check()
        let map = try CredentialMap(served.serve, file: served.map, waiting: global.timeout)
        let peer = try CredentialPeer.accepted()
        guard let item = map.item(of: peer.credential, for: peer.unit) else {
            throw KeychainError(
                .refused, "\"\(peer.unit)\" asks for the credential \"\(peer.credential)\", which is not named for it.",
                hint: "To serve it: \(peer.unit)/\(peer.credential)=ITEM",
                details: ["unit": peer.unit, "credential": peer.credential])
        }
        let reference = try SecretReference(argument: item)
        var reader = try SecretReader(for: [reference], global)
        let secret = try reader.value(of: reference)
        if !global.dryRun { try peer.send(secret) }
        try output.emit(
            Document(
                global.effect(.none),
                ["unit": peer.unit, "credential": peer.credential, "item": reference.name]),
            sentence: "\(TerminalSafe.text(peer.unit)) got \(TerminalSafe.text(peer.credential)).")
    }
}

/// The options that name credentials.
struct ServedOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A credential of a unit and its item, or a keyfob:// reference; may be repeated. The name of a template, such \
            as app@.service, is for all its instances.
            """,
            valueName: "unit/credential=item"))
    var serve: [ServedCredential] = []

    @Option(help: ArgumentHelp("A file with such lines, which only you and root may change.", valueName: "file"))
    var map: FileArgument?

    /// - Throws: `UsageError` if no credential is named.
    func check() throws {
        guard serve.isEmpty, map == nil else { return }
        throw UsageError(
            "no credentials are named.", hint: "Name some: --serve UNIT/CREDENTIAL=ITEM, or --map FILE with such lines")
    }
}
