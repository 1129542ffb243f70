import Foundation
package import Keyfob
package import KeyfobOpenSSL

/// A certificate of a manifest.
package struct CertificateEntry: Sendable {
    package let name: String
    package let position: Position
    package let certificate: Certificate

    init?(_ record: Record, _ problems: inout [ManifestProblem]) {
        name = record.text("name") ?? ""
        position = record.position
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
        // Whatever makes it unreadable, the message is the same.
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

/// A trusted certificate of a manifest.
package struct TrustEntry: Sendable {
    /// The name of the certificate.
    package let name: String
    package let position: Position
    /// The certificate, if the manifest contains it.
    package internal(set) var certificate: Certificate?
    /// The usages, sorted; `any` alone for all.
    package let usages: [CertificateUsage]

    init(_ record: Record) {
        name = record.text("certificate") ?? ""
        position = record.position
        let given = Set(record.texts("for"))
        let isAny = given.isEmpty || given.contains(CertificateUsage.any.rawValue)
        usages = isAny ? [.any] : given.sorted().map { CertificateUsage(rawValue: $0) }
    }
}
