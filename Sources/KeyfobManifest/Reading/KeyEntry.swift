package import Keyfob

/// A key of a manifest.
package struct KeyEntry: Sendable {
    package let name: String
    package let position: Position
    package let specification: KeySpecification
    package let isExtractable: Bool
    /// Whether a stored key of another kind is destroyed and made anew.
    package let rotates: Bool
    package let formerName: String?
    /// Whether no removal removes the key.
    package let isProtected: Bool

    init(_ record: Record, _ defaults: ManifestDefaults, _ problems: inout [ManifestProblem]) {
        name = record.text("name") ?? ""
        position = record.position
        specification = Self.specification(defaults.kind(record), &problems)
        isExtractable =
            record.has("extractable") ? record.flag("extractable") : defaults.key?.flag("extractable") ?? false
        rotates = record.flag("rotate")
        formerName = record.text("renamedFrom")
        isProtected = record.flag("protect")
    }

    /// The kind of a key; EC P-256 without a record.
    static func specification(_ record: Record?, _ problems: inout [ManifestProblem]) -> KeySpecification {
        guard let record else { return .p256 }
        let type = record.text("type") ?? "ec"
        let size = record.integer("size")
        if record.has("curve"), type != "ec" {
            problems.append(ManifestProblem("only an EC key has a curve", at: record.position(of: "curve")))
        }
        if record.has("size"), !["rsa", "aes"].contains(type) {
            problems.append(
                ManifestProblem(
                    "the size of an EC key is its curve", at: record.position(of: "size"), hint: "curve: p256"))
        }
        let specification: KeySpecification =
            switch (type, record.text("curve") ?? "p256") {
            case ("rsa", _): .rsa(bits: size ?? 3072)
            case ("aes", _): .aes(bits: size ?? 256)
            case ("ed25519", _): .ed25519
            case (_, "p384"): .p384
            case (_, "p521"): .p521
            default: .p256
            }
        do { try specification.validate() } catch {
            problems.append(
                ManifestProblem(
                    "there are no \(specification) keys", at: record.position(of: "size"),
                    hint: "RSA 2048 to 4096, AES 128, 192 or 256"))
        }
        return specification
    }
}
