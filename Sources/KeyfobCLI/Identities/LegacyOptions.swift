import ArgumentParser

/// The options for commands that read PKCS#12 files with old algorithms.
struct LegacyOptions: ParsableArguments {
    /// Whether PKCS#12 files with RC2, RC4, DES or 3DES are accepted.
    enum Legacy: String, EnumerableFlag {
        case allowLegacy, noLegacy

        static func help(for value: Legacy) -> ArgumentHelp? {
            switch value {
            case .allowLegacy: "Read PKCS#12 files that use RC2, RC4, DES or 3DES."
            case .noLegacy: "Refuse such files; the default."
            }
        }
    }

    @Flag private var legacy: Legacy = .noLegacy

    /// Whether `--allow-legacy` was given.
    var allowsLegacy: Bool { legacy == .allowLegacy }
}
