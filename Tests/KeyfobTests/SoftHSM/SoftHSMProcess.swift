import Foundation
import TestSupport

@testable import Keyfob

/// A SoftHSM directory that only child processes use, because this process is bound to the one of `TestToken`.
final class SoftHSMProcess: Sendable {
    let temporary: TemporaryDirectory
    let directory: SoftHSMDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = SoftHSMDirectory(directories: Directories(root: URL(fileURLWithPath: temporary.path)))
        try directory.prepare()
    }

    var environment: [String: String] { ["SOFTHSM2_CONF": directory.configuration.path] }

    /// Makes a token with PIN 1234 through SoftHSM's own tool.
    func makeToken(_ label: String) throws -> SoftHSMToken {
        let result = try run(
            "softhsm2-util", ["--init-token", "--free", "--label", label, "--so-pin", "12345678", "--pin", "1234"],
            environment: environment)
        guard result.status == 0, let token = try directory.tokens().first(where: { $0.label == label }) else {
            throw KeychainError(.failed, "softhsm2-util: " + result.stdout + result.stderr)
        }
        return token
    }

    /// Runs pkcs11-tool on a token, logged in.
    func tool(_ label: String, _ arguments: [String]) throws -> RunResult {
        try run(
            "pkcs11-tool",
            ["--module", TestToken.modulePath, "--token-label", label, "--login", "--pin", "1234"] + arguments,
            environment: environment)
    }

    /// Signs with the key 01 of the token and verifies the signature with OpenSSL.
    func keySigns(_ label: String) throws -> Bool {
        // SoftHSM has no ECDSA with a hash, so the message takes the place of a SHA-256 digest.
        let message = try temporary.write("0123456789abcdef0123456789abcdef".utf8, to: "message-\(label)")
        let signature = temporary.file("signature-\(label)")
        let key = temporary.file("key-\(label)")
        let signed = try tool(
            label,
            ["--sign", "--id", "01", "--mechanism", "ECDSA", "--signature-format", "openssl", "-i", message, "-o", signature])
        let read = try tool(label, ["--read-object", "--type", "pubkey", "--id", "01", "-o", key])
        guard signed.status == 0, read.status == 0 else { return false }
        let verified = try run(
            "openssl",
            ["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-sigfile", signature, "-in", message])
        return verified.status == 0
    }

    func makeKey(_ label: String) throws {
        let result = try tool(label, ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "key"])
        guard result.status == 0 else { throw KeychainError(.failed, "pkcs11-tool: " + result.stderr) }
    }

    /// Truncates the token's file, as a kill during a login does.
    func empty(_ token: SoftHSMToken, to count: Int = 0) throws {
        let file = token.directory.appendingPathComponent("token.object")
        let bytes = try Data(contentsOf: file).prefix(count)
        try bytes.write(to: file)
        unsafe chmod(file.path, 0o600)
    }
}
