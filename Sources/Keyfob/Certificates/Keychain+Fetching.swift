import Foundation
import KeyfobPrimitives
public import OpenSSL

/// How much is done for a certificate that names places: whoever made it chose them, and their number.
private enum Bounds {
    /// How many places of one certificate are asked; two are common.
    static let places = 4
    /// How many certificates are fetched.
    static let issuers = 8
    /// For how long requests are begun.
    static let patience: Duration = .seconds(120)
}

extension Certificate {
    /// The places it names where its issuer's certificate is, as far as they can be asked.
    var issuerPlaces: [String] {
        issuerLocations.filter { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
    }
}

extension Keychain {
    /// Fetches the certificates that are missing above one, from the places that the certificates themselves name
    /// (authority information access, RFC 5280 4.2.2.1), and stores them.
    ///
    /// Blocks for the network, up to three minutes. Of each certificate the first four places are asked. Stops at an
    /// authority that the system or the keychain trusts. A root is not stored: nobody is trusted because a certificate
    /// says where to find him.
    ///
    /// - Returns: What was fetched; empty where nothing was missing, or nobody says where it is.
    /// - Throws: `KeychainError`; `issuerFailed` where a place does not answer, `timedOut` where the places together
    ///   have not answered within two minutes, and as for adding certificates. What was fetched before is stored then.
    @available(*, noasync, message: "use the asynchronous form")
    public func fetchIssuers(of certificate: Certificate, with further: [Certificate] = []) throws -> [Certificate] {
        try fetchIssuers(of: certificate, with: further, until: .after(Bounds.patience))
    }

    /// - Parameters:
    ///   - deadline: After which no request is begun.
    ///   - isStopped: Whether to begin none any more.
    func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], until deadline: Deadline,
        isStopped: () -> Bool = { false }
    ) throws -> [Certificate] {
        var fetched: [Certificate] = []
        let anchors = try trustAnchors().map(\.certificate) + SystemRoots.load()
        do {
            while fetched.count < Bounds.issuers {
                let chain = try chain(of: certificate, with: further + fetched)
                guard let last = chain.certificates.last, !last.isSelfSigned,
                    !anchors.contains(where: { last == $0 || last.isIssued(by: $0) }),
                    let issuer = try issuer(of: last, until: deadline, isStopped)
                else { break }
                fetched.append(issuer)
            }
        } catch {
            // The first error is the one to report.
            try? keep(fetched)
            throw error
        }
        try keep(fetched)
        return fetched
    }

    /// Stores what is not there yet, but no root.
    private func keep(_ fetched: [Certificate]) throws {
        let new = try fetched.filter { !$0.isSelfSigned }.filter { try storedItems(of: $0).isEmpty }
        try add(contentsOf: new.map { CertificateItem($0) })
    }

    private func issuer(
        of certificate: Certificate, until deadline: Deadline, _ isStopped: () -> Bool
    ) throws -> Certificate? {
        var failure: (any Error)?
        for url in certificate.issuerPlaces.prefix(Bounds.places) {
            guard !isStopped() else { throw KeychainError.stopped }
            guard !deadline.hasPassed else {
                throw KeychainError(
                    .timedOut, "the places where the missing issuers are said to be take too long.",
                    hint: "Ask the authority for its certificate, and: keyfob cert import FILE", details: ["url": url],
                    cause: failure)
            }
            do {
                let response = try HTTPRequest(url: url, allowsPlain: true).send()
                guard response.status == 200 else { continue }
                if let found = try Certificate.load(response.body).first(where: { certificate.isIssued(by: $0) }) {
                    return found
                }
            } catch let error as KeyFileError {
                failure = KeychainError(
                    .issuerFailed, "\(url) answered with something that is no certificate.",
                    hint: "Ask the authority for its certificate, and: keyfob cert import FILE", details: ["url": url],
                    cause: error)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return nil
    }

    /// Fetches the certificates that are missing above one. Where the task is cancelled no other place is asked.
    ///
    /// - Throws: As the blocking form; `cancelled`.
    public func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = []
    ) async throws -> [Certificate] {
        try await runPatiently {
            try self.fetchIssuers(of: certificate, with: further, until: .after(Bounds.patience), isStopped: $0)
        }
    }
}
