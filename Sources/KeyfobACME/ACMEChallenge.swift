import Foundation
import Glibc
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives
import KeyfobSystem

/// The proof that an authority asks for before it certifies a name (RFC 8555 8).
struct ACMEChallenge {
    /// The name without a wildcard.
    let name: String
    /// Used as a file name and in a path, so it consists of letters, digits, `-` and `_` only.
    let token: String
    /// Proves that the answer comes from the account (RFC 8555 8.1).
    let keyAuthorization: String

    /// - Throws: `KeychainError` with code `issuerFailed` for an invalid token.
    init(name: String, token: String, keyAuthorization: String) throws {
        let isToken = token.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
            default: false
            }
        }
        guard isToken, (16...256).contains(token.utf8.count) else {
            throw KeychainError(.issuerFailed, "the authority sent a challenge with an invalid token (RFC 8555 8.3).")
        }
        self.name = name
        self.token = token
        self.keyAuthorization = keyAuthorization
    }

    /// The path under which an HTTP server answers (RFC 8555 8.3).
    var path: String { "/.well-known/acme-challenge/" + token }

    /// The name of the TXT record that answers (RFC 8555 8.4).
    var recordName: String { "_acme-challenge." + name }

    /// The content of that record.
    var recordValue: String { Base64URL.encode(Digest.sha256(Data(keyAuthorization.utf8))) }
}

/// An answer that the authority can see until it is withdrawn.
protocol ACMEAnswer {
    /// Withdraws the answer. An answer that stays is harmless: it answers one challenge only.
    func withdraw()
}

extension ACMEIssuer.Settings {
    /// The type of challenge that is answered.
    var challengeType: String { dnsCommand != nil ? "dns-01" : tlsListener != nil ? "tls-alpn-01" : "http-01" }

    /// Answers a challenge in the configured way.
    ///
    /// - Throws: `KeychainError`; `fileUnavailable`, `refused` or `issuerFailed` if the answer cannot be given.
    func answer(_ challenge: ACMEChallenge) throws -> any ACMEAnswer {
        if let dnsCommand { return try ACMERecord(challenge, by: dnsCommand) }
        if let tlsListener { return try ACMEListener(tls: challenge, at: tlsListener) }
        if let listener { return try ACMEListener(challenge, at: listener) }
        return try ACMEFile(challenge, root: webRoot ?? "")
    }

    /// The address that the authority must reach, for the hint of an error.
    func expectation(for name: String) -> String {
        if dnsCommand != nil { return "It must find the TXT record _acme-challenge.\(name)." }
        if let tlsListener {
            return "It must reach port 443 of \(name), which must lead to this machine, \(Self.place(tlsListener))."
        }
        let url = "http://\(name)/.well-known/acme-challenge/…"
        if let listener {
            return "It must reach \(url), which must lead to this machine, \(Self.place(listener))."
        }
        return "It must find \(url) in \(webRoot ?? "")."
    }

    private static func place(_ listener: String) -> String { listener.contains(":") ? listener : "port " + listener }
}

/// The file in which a web server of the host answers an HTTP-01 challenge.
struct ACMEFile: ACMEAnswer {
    private let file: URL

    /// Writes the answer, readable by every user.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    init(_ challenge: ACMEChallenge, root: String) throws {
        file = URL(fileURLWithPath: root, isDirectory: true).appendingPathComponent(String(challenge.path.dropFirst()))
        do {
            try PublicDirectory.make(at: file.deletingLastPathComponent())
            // The web server's user may own the directory and can replace the file with a link at any time. Once the
            // file exists, nothing is done to it by its name.
            try OpenFile.replace(file.filePath, with: SecretBytes(utf8: challenge.keyAuthorization), mode: 0o644)
        } catch {
            throw KeychainError(
                .fileUnavailable, "cannot write \(file.path).",
                hint: "Is the directory the web server's document root, and may you write there?",
                details: ["path": file.path], cause: error)
        }
    }

    // Another user with write access to the directory may have replaced the file. unlink(2) follows no link and removes
    // no directory.
    func withdraw() { unsafe unlink(file.filePath) }
}

/// A DNS record that answers a DNS-01 challenge, made and removed by a command of the user.
///
/// The command runs without a shell and gets three more arguments: `add` or `remove`, the name of the record, and the
/// content of its TXT record. When `add` exits with status 0, the authority must be able to see the record. `remove`
/// also follows a failed `add`, when there may be no record.
struct ACMERecord: ACMEAnswer {
    private static let timeout: Duration = .seconds(300)

    private let command: [String]
    private let challenge: ACMEChallenge

    /// Makes the record.
    ///
    /// - Throws: `KeychainError`; `issuerFailed`, `timedOut`, `fileUnavailable`.
    init(_ challenge: ACMEChallenge, by command: [String]) throws {
        self.command = command
        self.challenge = challenge
        do {
            let status = try run("add")
            guard status == 0 else {
                throw KeychainError(
                    .issuerFailed, "the command that makes DNS records ended with status \(status).",
                    hint: "Run it by hand: \(command.joined(separator: " ")) add \(challenge.recordName) test",
                    details: ["status": String(status), "record": challenge.recordName])
            }
        } catch {
            // The command may have made the record and failed while waiting for it. Each attempt would leave another
            // record.
            withdraw()
            throw error
        }
    }

    func withdraw() { do { _ = try run("remove") } catch {} }

    private func run(_ verb: String) throws -> Int32 {
        try ProgramRun.run(
            command + [verb, challenge.recordName, challenge.recordValue], isUsers: true,
            deadline: .after(Self.timeout)
        ).status
    }
}
