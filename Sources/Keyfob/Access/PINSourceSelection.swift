import Foundation

/// Which PIN source applies, and who said so.
///
/// The order is: the option of the command or the argument of the call; `pin-source` in the token's
/// URI; `KEYFOB_PIN_SOURCE`; what the keychain is configured with; the systemd credential `keyfob.pin`
/// where there is one; the prompt.
public struct PINSourceSelection: Sendable, Hashable {
    /// Who named a source; open, for it is printed by `status`.
    public struct Origin: RawRepresentable, Hashable, Sendable {
        /// A stable name such as `environment`.
        public let rawValue: String

        /// An origin by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An option of the command, or an argument of the call.
        public static let option = Self(rawValue: "option")
        /// The `pin-source` attribute of the token's URI.
        public static let uri = Self(rawValue: "uri")
        /// The variable `KEYFOB_PIN_SOURCE`.
        public static let environment = Self(rawValue: "environment")
        /// The keychain's configuration.
        public static let configuration = Self(rawValue: "configuration")
        /// The systemd credential `keyfob.pin`.
        public static let credential = Self(rawValue: "credential")
        /// Nobody: the default.
        public static let fallback = Self(rawValue: "default")
    }

    /// The source.
    public let source: PINSource

    /// Who named it.
    public let origin: Origin

    /// The name of the systemd credential that is used where nothing else is said.
    public static let credentialName = "keyfob.pin"

    /// Finds the source that applies. Reads no secret.
    ///
    /// - Parameters:
    ///   - option: from the command line or the caller.
    ///   - uri: the URI's `pin-source`, undecoded otherwise than by the URI's own rules.
    ///   - configured: the keychain's own.
    ///   - environment: says where the systemd credentials are.
    ///   - variables: stands in for the environment of this process.
    /// - Throws: `invalidArgument` when the URI's text or `KEYFOB_PIN_SOURCE` is not a source. Falling
    ///   through to the next one would read another PIN than was meant.
    public init(
        option: PINSource? = nil, uri: String? = nil, configured: PINSource? = nil, environment: PINEnvironment,
        variables: [String: String]? = nil
    ) throws(KeychainError) {
        if let option {
            (source, origin) = (option, .option)
        } else if let uri {
            (source, origin) = (try Self.parse(uri, "the pin-source of the token's URI"), .uri)
        } else if let text = (variables ?? ProcessInfo.processInfo.environment)["KEYFOB_PIN_SOURCE"], !text.isEmpty {
            (source, origin) = (try Self.parse(text, "KEYFOB_PIN_SOURCE"), .environment)
        } else if let configured {
            (source, origin) = (configured, .configuration)
        } else if let directory = environment.credentialsDirectory, !directory.isEmpty,
            FileManager.default.fileExists(atPath: directory + "/" + Self.credentialName)
        {
            (source, origin) = (.credential(Self.credentialName), .credential)
        } else {
            (source, origin) = (.prompt, .fallback)
        }
    }

    private static func parse(_ text: String, _ place: String) throws(KeychainError) -> PINSource {
        do throws(KeychainError) {
            return try PINSource(parsing: text)
        } catch {
            throw KeychainError(error.code, "\(place) is not a PIN source.", remedies: error.remedies, cause: error)
        }
    }
}
