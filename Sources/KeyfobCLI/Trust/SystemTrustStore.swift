import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// The certificate authorities that all programs on the machine trust, in Debian's layout (update-ca-certificates(8)).
enum SystemTrustStore {
    private static let folder = "/usr/local/share/ca-certificates"

    /// Refuses users other than root.
    ///
    /// - Throws: `KeychainError.refused`.
    static func requireRoot(name: String) throws {
        guard geteuid() == 0 else {
            throw KeychainError(
                .refused, "cannot write the system trust store: needs root.",
                remedies: [
                    Remedy("Run it with sudo, or trust it only in your keychain", .trust(name, isForUser: true))
                ])
        }
    }

    /// The file for a certificate.
    static func path(of certificate: Certificate) -> String {
        "\(folder)/keyfob-\(certificate.sha256Fingerprint.hexadecimal.prefix(16)).crt"
    }

    /// Adds a certificate, updates the bundle, and returns the path of the certificate file.
    ///
    /// - Parameter timeout: The value of `--timeout`, if given.
    /// - Throws: `KeychainError.fileUnavailable` if the file cannot be written; `failed` or `timedOut` if the bundle
    ///   cannot be updated.
    static func add(_ certificate: Certificate, timeout: TimeSpan?) throws -> String {
        let path = Self.path(of: certificate)
        try FileDestination(path: path, mode: 0o644, timeout: timeout).write(SecretBytes(utf8: certificate.pem))
        let what = "the certificate was written to \(path), but update-ca-certificates "
        let limit = RenewalHook.limit(timeout)
        guard let status = try RenewalHook.run("update-ca-certificates", limit: limit) else {
            throw KeychainError(
                .timedOut,
                what + "did not end within \(Plural.duration(seconds: limit / .seconds(1))) and was killed.",
                hint: "Run it by hand to see why: sudo update-ca-certificates")
        }
        guard status == 0 else {
            throw KeychainError(
                .failed, what + "ended with status \(status).", hint: "Is the package ca-certificates installed?")
        }
        return path
    }
}
