import Keyfob

/// The files that an identity of a manifest comes from.
package struct ImportEntry: Sendable {
    package let position: Position
    let paths: [String]
    let isPKCS12: Bool
    let passphrase: PINSource?
    let allowsLegacy: Bool
    let isExtractable: Bool

    init(_ record: Record) {
        position = record.position
        isPKCS12 = record.has("pkcs12")
        paths = record.text("pkcs12").map { [$0] } ?? record.texts("pem")
        // The reader has parsed the source, so this never fails.
        passphrase = record.text("passSource").flatMap { try? PINSource(parsing: $0) }
        allowsLegacy = record.flag("allowLegacy")
        isExtractable = record.flag("extractable")
    }
}
