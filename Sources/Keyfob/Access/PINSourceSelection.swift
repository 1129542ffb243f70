import Foundation

/// The PIN source that applies, and the setting that named it.
///
/// The order is: the option of the command or the argument of the call; `pin-source` in the token's URI;
/// `KEYFOB_PIN_SOURCE`; the keychain's configuration; the systemd credential `keyfob.pin` if it exists; the prompt.
public struct PINSourceSelection: Sendable, Hashable {
    /// The setting that named a source, as printed by `status`. Extensible.
    public struct Origin: RawRepresentable, Hashable, Sendable {
        /// A stable name such as `environment`.
        public let rawValue: String

        /// Creates an origin from its name.
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
        /// No setting: the default.
        public static let fallback = Self(rawValue: "default")
    }

    /// The source.
    public let source: PINSource

    /// The setting that named it.
    public let origin: Origin

    /// The name of the systemd credential that is used if no setting names a source.
    public static let credentialName = "keyfob.pin"

    /// Determines the source that applies. Reads no secret.
    ///
    /// - Parameters:
    ///   - option: The source from the command line or the caller.
    ///   - uri: The `pin-source` of the URI, decoded only by the rules of URIs.
    ///   - configured: The source in the keychain's configuration.
    ///   - environment: Gives the directory of the systemd credentials.
    ///   - variables: Replaces the environment variables of this process.
    /// - Throws: `KeychainError` with code `invalidArgument` if the URI's text or `KEYFOB_PIN_SOURCE` is not a source.
    ///   Using the next setting instead could read another PIN than intended.
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
