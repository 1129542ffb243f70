import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// A program that issues certificates, for authorities that Keyfob does not support directly.
///
/// The program runs without a shell. It reads the request, PKCS#10 in PEM, from standard input. It writes the
/// certificate and those above it to standard output, in PEM and in any order, and exits with status 0. Variables that
/// begin with `KEYFOB_` are removed from its environment, because some hold PINs.
public struct CommandIssuer: CertificateIssuer {
    /// How long the program may take. A person may have to review the request.
    public static let timeout: Duration = .seconds(600)

    private let command: [String]
    private let timeout: Duration

    /// Creates an issuer that runs a program with its arguments.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` if `command` is empty, `fileUnavailable` or `refused` if the
    ///   program cannot be started, as far as this can be checked in advance.
    public init(_ command: [String], timeout: Duration = Self.timeout) throws {
        guard let program = command.first, !program.isEmpty else {
            throw KeychainError(.invalidArgument, "there is no program to issue the certificate.")
        }
        // Checked before a key is made.
        let reason = ProgramLookup.failure(of: program)
        guard reason == 0 else {
            throw KeychainError.file("start", program, reason).with(
                remedies: [Remedy("Give the program's path", .change(.issuer("exec:/usr/local/bin/sign")))])
        }
        self.command = command
        self.timeout = timeout
    }

    /// The command.
    public var issuerDescription: IssuerDescription { .command(command) }

    /// Runs the program.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` if it exits with a status other than 0 or prints no certificate for
    ///   the request's key, `timedOut`, `fileUnavailable` if it cannot be started, `cancelled` if the order was stopped
    ///   and the program was killed.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        let name = "the command \"\(command[0])\""
        let result = try ProgramRun.run(
            command, input: Data(order.request.pem.utf8), isUsers: true, deadline: .after(timeout),
            isStopped: order.isStopped)
        guard result.status == 0 else {
            throw KeychainError(
                .issuerFailed, "\(name) ended with status \(result.status).",
                hint: "Run it by hand to see why: it reads the request on standard input.",
                details: ["status": String(result.status)])
        }
        guard !result.output.isEmpty else {
            throw KeychainError(
                .issuerFailed, "\(name) ended without printing a certificate.",
                hint: "It reads the request on standard input, and must print certificates in PEM.")
        }
        let certificates: [Certificate]
        do { certificates = try Certificate.load(result.output) } catch {
            throw KeychainError(
                .issuerFailed, "\(name) printed something that is not a certificate.",
                hint: "It must print PEM, and nothing else but text between the blocks.", cause: error)
        }
        order.report("certificate received")
        return try IssuedCertificate(certificates, for: order.request, by: name)
    }
}
