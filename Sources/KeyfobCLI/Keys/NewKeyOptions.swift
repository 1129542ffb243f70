import ArgumentParser
import Keyfob
import KeyfobOpenSSL

/// The options for a new key.
struct NewKeyOptions: ParsableArguments {
    // `--type` is the name of this option in `keyfob key generate`.
    @Option(
        name: [.customLong("key"), .customLong("type")], help: "The kind of key: rsa, ec (the default) or ed25519.")
    var kind: Kind?

    @Option(help: "The size of an RSA key in bits, 2048 to 4096; 3072 by default.")
    var size: Int?

    @Option(help: "The curve of an EC key: p256 (the default), p384 or p521.")
    var curve: KeyGenerateCommand.Curve?

    /// The kinds of keys that certificates support.
    enum Kind: String, CaseIterable, ExpressibleByArgument { case rsa, ec, ed25519 }

    func validate() throws {
        if size != nil, kind != .rsa { throw ValidationError("--size requires --key rsa.") }
        if curve != nil, kind == .rsa || kind == .ed25519 { throw ValidationError("--curve requires --key ec.") }
    }

    /// Whether a kind or a curve was given.
    var isGiven: Bool { kind != nil || curve != nil }

    /// The specification of the key.
    var specification: KeySpecification {
        switch (kind ?? .ec, curve ?? .p256) {
        case (.rsa, _): .rsa(bits: size ?? 3072)
        case (.ed25519, _): .ed25519
        case (.ec, .p256): .p256
        case (.ec, .p384): .p384
        case (.ec, .p521): .p521
        }
    }

    /// The key algorithm, for choosing extensions.
    var algorithm: KeyAlgorithm {
        switch kind ?? .ec {
        case .rsa: .rsa(bits: size ?? 3072)
        case .ed25519: .ed25519
        case .ec: .ec(.p256)
        }
    }
}
