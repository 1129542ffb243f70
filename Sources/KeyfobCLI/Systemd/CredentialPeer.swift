import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The connection of a service manager that loads a credential (systemd.exec(5), `LoadCredential=`).
///
/// systemd connects to the socket, and has bound its end to an abstract address that names the unit and the credential:
/// a zero byte, a random number, `/unit/`, the name of the unit, `/`, and the name of the credential. It reads until
/// the end of the connection.
struct CredentialPeer: ~Copyable {
    /// How long systemd may take to read.
    private static let limit: Duration = .seconds(30)

    let unit: String
    let credential: String
    private let connection: OpenFile

    /// Takes the connection that systemd has accepted for this process.
    ///
    /// - Throws: `KeychainError`; `refused` if the peer is another user than root and this one, or if it does not name
    ///   unit and credential; `fileUnavailable`. `UsageError` if there is no connection.
    static func accepted() throws -> CredentialPeer {
        guard let descriptor = try InheritedSocket.descriptor() else {
            throw UsageError(
                "systemd has passed no connection to this process.",
                hint: "Units that start it for each connection: keyfob systemd unit")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // The deadline of a write needs this.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        var user: uid_t = 0
        var bytes = [UInt8](repeating: 0, count: Int(KEYFOB_LOCAL_ADDRESS_SIZE))
        let count = unsafe keyfob_peer_address(descriptor, &bytes)
        guard count >= 0, unsafe keyfob_peer_user(descriptor, &user) == 0 else {
            throw UsageError(
                "descriptor \(descriptor) is not a connection: \(unsafe String(cString: strerror(errno))).",
                hint: "The socket unit needs Accept=yes; a right one: keyfob systemd unit")
        }
        guard user == 0 || user == geteuid() else {
            throw KeychainError(
                .refused, "user \(user) asks for a credential; only root and this user may.",
                details: ["user": String(user)])
        }
        guard let (unit, credential) = names(Array(bytes.prefix(Int(count)))) else {
            throw KeychainError(
                .refused, "the client does not name its unit and a credential.",
                hint: "Only systemd may ask: LoadCredential=NAME:SOCKET in a unit.")
        }
        return CredentialPeer(
            unit: unit, credential: credential,
            connection: OpenFile(adopting: descriptor, path: "the connection of systemd"))
    }

    private init(unit: String, credential: String, connection: consuming OpenFile) {
        (self.unit, self.credential) = (unit, credential)
        self.connection = connection
    }

    /// The unit and the credential that an address names; `nil` for an address of another form.
    static func names(_ address: [UInt8]) -> (unit: String, credential: String)? {
        guard address.first == 0, let text = String(validating: address.dropFirst(), as: UTF8.self) else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[1] == "unit", parts.allSatisfy({ !$0.isEmpty && !$0.contains("\0") }) else {
            return nil
        }
        return (parts[2], parts[3])
    }

    /// Sends the credential, and nothing else.
    ///
    /// - Throws: `KeychainError`; `timedOut` if systemd does not read it, `fileUnavailable`.
    func send(_ secret: SecretBytes) throws { try connection.write(secret, by: .after(Self.limit)) }
}
