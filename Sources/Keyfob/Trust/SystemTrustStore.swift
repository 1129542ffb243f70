import Foundation
import Glibc
import KeyfobPrimitives
package import KeyfobOpenSSL

/// The certificate authorities that all programs on the machine trust, in Debian's layout (update-ca-certificates(8)).
package enum SystemTrustStore {
    private static let folder = "/usr/local/share/ca-certificates"
    /// The file that update-ca-certificates makes.
    private static let bundle = "/etc/ssl/certs/ca-certificates.crt"

    /// Refuses users other than root.
    ///
    /// - Throws: `KeychainError.refused`.
    package static func requireRoot(name: String) throws(KeychainError) {
        guard geteuid() == 0 else {
            throw KeychainError(
                .refused, "cannot write the system trust store: needs root.",
                remedies: [
                    Remedy("Run it with sudo, or trust it only in your keychain", .trust(name, isForUser: true))
                ])
        }
    }

    /// The file for a certificate.
    package static func path(of certificate: Certificate) -> String {
        "\(folder)/keyfob-\(certificate.sha256Fingerprint.hexadecimal.prefix(16)).crt"
    }

    /// Whether the certificate was added. A killed addition may have written its file, but not the bundle.
    package static func contains(_ certificate: Certificate) -> Bool {
        let pem = Data(certificate.pem.utf8)
        return FileManager.default.contents(atPath: path(of: certificate)) == pem
            && FileManager.default.contents(atPath: bundle)?.firstRange(of: pem) != nil
    }

    /// Adds a certificate, updates the bundle, and returns the path of the certificate file.
    ///
    /// If the bundle cannot be updated, the file is removed again, so that another call repeats both.
    ///
    /// - Parameter run: Runs a program and returns its exit status; `nil` if it did not end in time and was killed.
    /// - Throws: `KeychainError.fileUnavailable` if the file cannot be written; `failed` or `timedOut` if the bundle
    ///   cannot be updated. The errors of `run`.
    @discardableResult
    package static func add(_ certificate: Certificate, run: (String) throws -> Int32?) throws -> String {
        let path = Self.path(of: certificate)
        try OpenFile.replace(path, with: SecretBytes(utf8: certificate.pem), mode: 0o644)
        do { try update(run) } catch {
            unsafe unlink(path)
            throw error
        }
        return path
    }

    private static func update(_ run: (String) throws -> Int32?) throws {
        let what = "the certificate was not added, because update-ca-certificates "
        guard let status = try run("update-ca-certificates") else {
            throw KeychainError(
                .timedOut, what + "did not end in time and was killed.",
                hint: "Run it by hand to see why: sudo update-ca-certificates")
        }
        guard status == 0 else {
            throw KeychainError(
                .failed, what + "ended with status \(status).", hint: "Is the package ca-certificates installed?")
        }
    }
}
