import Foundation
import KeyfobPrimitives
import OpenSSL

/// A program that issues certificates: the way to any authority that Keyfob does not know.
///
/// The program reads the request, PKCS#10 in PEM, on its standard input, writes the certificate and those above it,
/// in PEM and in any order, to its standard output, and ends with status 0. It is run without a shell. Variables that
/// begin with `KEYFOB_` are taken out of its environment, for some hold PINs.
public struct CommandIssuer: CertificateIssuer {
    /// How long it may take: a person may have to look at the request.
    public static let patience: Duration = .seconds(600)

    private let command: [String]
    private let patience: Duration

    /// A program with its arguments.
    ///
    /// - Throws: `KeychainError`; `invalidArgument` where there is none, `fileUnavailable` or `refused` for one that
    ///   cannot be started, as far as that can be told before.
    public init(_ command: [String], patience: Duration = Self.patience) throws {
        guard let program = command.first, !program.isEmpty else {
            throw KeychainError(.invalidArgument, "there is no program to issue the certificate.")
        }
        // Before a key is made for it.
        let reason = ProgramLookup.failure(of: program)
        guard reason == 0 else {
            let error = KeychainError.file("start", program, reason)
            throw KeychainError(
                error.code, error.message, hint: "Give the program's path, as in --issuer exec:/usr/local/bin/sign",
                details: error.details)
        }
        self.command = command
        self.patience = patience
    }

    /// The command.
    public var issuerDescription: IssuerDescription { .command(command) }

    /// Runs the program.
    ///
    /// - Throws: `KeychainError`; `issuerFailed` where it ends with another status than 0 or gives nothing that is a
    ///   certificate for the request's key, `timedOut`, `fileUnavailable` where it cannot be started, `cancelled` where
    ///   the order was stopped: the program was killed then.
    public func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
        let name = "the command \"\(command[0])\""
        let result = try ProgramRun.run(
            command, input: Data(order.request.pem.utf8), isUsers: true, deadline: .after(patience),
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
