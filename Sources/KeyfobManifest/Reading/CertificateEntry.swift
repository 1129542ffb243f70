import Foundation
import Keyfob
package import KeyfobOpenSSL

/// A certificate of a manifest.
package struct CertificateEntry: Sendable {
    package let name: String
    package let position: Position
    package let certificate: Certificate
    /// Whether no removal removes the certificate.
    package let isProtected: Bool

    init?(_ record: Record, _ problems: inout [ManifestProblem]) {
        name = record.text("name") ?? ""
        position = record.position
        isProtected = record.flag("protect")
        let member = record.has("pem") ? "pem" : "file"
        func report(_ message: String) {
            problems.append(ManifestProblem(message, at: record.position(of: member)))
        }
        let data: Data
        if let text = record.text("pem") {
            data = Data(text.utf8)
        } else {
            guard let path = record.text("file") else { return nil }
            guard let file = OpenFile(path: path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK),
                // Any failure means the same: the file cannot be read.
                let bytes = try? file.read(limit: Certificate.maximumSize)
            else {
                report("the file cannot be read")
                return nil
            }
            data = bytes.copyData()
        }
        // Every error means that the file has no certificate.
        let found = (try? Certificate.load(data)) ?? []
        guard found.count == 1, let certificate = found.first else {
            report(
                found.isEmpty
                    ? "there is no certificate in it" : "it contains \(found.count) certificates instead of one")
            return nil
        }
        self.certificate = certificate
    }
}
