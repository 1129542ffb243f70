package import Keyfob
package import KeyfobOpenSSL

/// A trusted certificate of a manifest.
package struct TrustEntry: Sendable {
    /// The name of the certificate.
    package let name: String
    package let position: Position
    /// Whether all programs of the machine trust it, and not only the keychain.
    package let isForSystem: Bool
    /// The certificate, if the manifest contains it.
    package internal(set) var certificate: Certificate?
    /// The usages, sorted; `any` alone for all.
    package let usages: [CertificateUsage]

    init(_ record: Record) {
        name = record.text("certificate") ?? ""
        position = record.position
        isForSystem = record.text("scope") == "system"
        let given = Set(record.texts("for"))
        let isAny = given.isEmpty || given.contains(CertificateUsage.any.rawValue)
        usages = isAny ? [.any] : given.sorted().map { CertificateUsage(rawValue: $0) }
    }
}
