import Keyfob
import KeyfobPrimitives

/// A credential in git's format: lines of `key=value` up to an empty line.
///
/// Unknown keys are ignored, including the lists `capability[]` and `wwwauth[]`. The last value of a repeated key
/// counts, as in git.
struct GitCredential {
    private(set) var scheme: String?
    /// Host name and port.
    private(set) var host: String?
    private(set) var path: String?
    private(set) var user: String?
    private(set) var secret = GitSecret()
    /// Whether the credential is valid for a short time only and must not be stored.
    private(set) var isEphemeral = false

    /// Reads a credential.
    ///
    /// - Throws: `UsageError` for a line without `=`, for NUL and CR, and for text that is not UTF-8. The errors of
    ///   `HelperInput.line()`.
    init(reading input: inout HelperInput) throws {
        while let line = try input.line(), !line.isEmpty {
            guard let end = line.firstIndex(of: UInt8(ascii: "=")) else {
                throw Self.malformed("a line has no \"=\"")
            }
            guard line.firstIndex(of: 0) == nil else { throw Self.malformed("a line contains a NUL") }
            // A helper of another system may take a CR as the end of a line (CVE-2024-52006).
            guard line.firstIndex(of: 0x0D) == nil else { throw Self.malformed("a line contains a carriage return") }
            let value = line.suffix(from: end + 1)
            switch line.prefix(end).copyString() {
            case "protocol": scheme = try Self.text(value)
            case "host": host = try Self.text(value)
            case "path": path = try Self.text(value)
            case "username": user = try Self.text(value)
            case "password": secret.password = value
            case "password_expiry_utc": secret.expiry = try Self.number(value)
            case "oauth_refresh_token": secret.refreshToken = value
            case "ephemeral": isEphemeral = ["1", "true"].contains(value.copyString())
            default: break
            }
        }
    }

    /// The address; git sends the path only if `credential.useHttpPath` is set.
    ///
    /// - Throws: `UsageError` if the protocol or both host and path are missing. `KeychainError.invalidArgument`.
    func address() throws -> CredentialAddress {
        guard let scheme else { throw Self.malformed("the line \"protocol=…\" is missing") }
        guard host != nil || path != nil else { throw Self.malformed("the line \"host=…\" is missing") }
        return try CredentialAddress(scheme: scheme, host: host ?? "", path: path ?? "")
    }

    /// The paths to search.
    var paths: KeychainCredentials.Paths { (path ?? "").isEmpty ? .all : .same }

    private static func text(_ value: SecretBytes) throws -> String {
        guard let text = value.copyString() else { throw malformed("a value is not UTF-8") }
        return text
    }

    private static func number(_ value: SecretBytes) throws -> String? {
        let text = try text(value)
        guard !text.isEmpty else { return nil }
        guard text.utf8.count < 20, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw malformed("password_expiry_utc is not a number")
        }
        return text
    }

    static func malformed(_ what: String) -> UsageError {
        UsageError(
            "the request of git cannot be read: \(what); nothing was changed.",
            hint: "git-credential(1) describes the format.")
    }
}

/// A password with what belongs to it in git's protocol.
///
/// A password alone is stored as it is, so that all programs can use it. An expiry date and a refresh token follow it
/// in lines of their own, as git's helper for the keychain of macOS stores them. Both are part of the secret, because a
/// refresh token is as confidential as a password.
struct GitSecret {
    var password: SecretBytes?
    /// Seconds since 1970, in decimal.
    var expiry: String?
    var refreshToken: SecretBytes?

    init() {}

    /// Splits a stored secret.
    ///
    /// - Throws: `KeychainError.unsupportedFormat` for other lines after the first, and for CR and NUL.
    init(stored secret: SecretBytes) throws {
        var rest = secret
        password = Self.nextLine(of: &rest)
        try HelperAnswer.requireOneLine(password ?? rest, "password")
        while !rest.isEmpty {
            let line = Self.nextLine(of: &rest)
            let end = line.firstIndex(of: UInt8(ascii: "=")) ?? 0
            switch line.prefix(end).copyString() {
            case "password_expiry_utc": expiry = line.suffix(from: end + 1).copyString()
            case "oauth_refresh_token": refreshToken = line.suffix(from: end + 1)
            default: try HelperAnswer.requireOneLine(secret, "password")
            }
            try HelperAnswer.requireOneLine(line, "password")
        }
    }

    /// The bytes to store; `nil` without a password.
    var stored: SecretBytes? {
        guard let password else { return nil }
        return SecretBytes(joining: [password] + further.flatMap { [SecretBytes(utf8: "\n\($0)="), $1] })
    }

    /// The lines that git reads.
    var lines: SecretBytes {
        let all = (password.map { [("password", $0)] } ?? []) + further
        return SecretBytes(joining: all.flatMap { [SecretBytes(utf8: $0 + "="), $1, SecretBytes(utf8: "\n")] })
    }

    private var further: [(String, SecretBytes)] {
        (expiry.map { [("password_expiry_utc", SecretBytes(utf8: $0))] } ?? [])
            + (refreshToken.map { [("oauth_refresh_token", $0)] } ?? [])
    }

    private static func nextLine(of rest: inout SecretBytes) -> SecretBytes {
        let end = rest.firstIndex(of: 0x0A) ?? rest.count
        defer { rest = rest.suffix(from: min(end + 1, rest.count)) }
        return rest.prefix(end)
    }
}
