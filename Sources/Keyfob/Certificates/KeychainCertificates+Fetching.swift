import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL

/// The limits of fetching for one certificate, whose author chose the URLs and their number.
private enum Bounds {
    /// How many URLs of one certificate are tried; two are common.
    static let places = 4
    /// The maximum number of certificates to fetch.
    static let issuers = 8
    /// The total time, unless the caller sets a shorter one.
    static let longestWait: Duration = .seconds(120)
}

extension Certificate {
    /// The HTTP and HTTPS URLs of the issuer's certificate that the certificate names.
    var issuerPlaces: [String] {
        issuerLocations.filter { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
    }
}

extension KeychainCertificates {
    /// Fetches and stores the missing certificates above a certificate, from the URLs that the certificates name
    /// (authority information access, RFC 5280 4.2.2.1).
    ///
    /// Blocks for the network, up to two minutes. The first four URLs of each certificate are tried. Stops at an
    /// authority that the system or the keychain trusts. A root is not stored: naming a URL must not create trust.
    ///
    /// - Parameter timeout: The total time to wait, if less than two minutes; with zero or less, nothing is requested.
    /// - Returns: The fetched certificates; empty if none was missing, or no certificate names a URL.
    /// - Throws: `KeychainError`; `issuerFailed` if a server does not answer, `timedOut` if the servers together take
    ///   too long, and the errors of adding certificates. Certificates fetched before the error are stored.
    @available(*, noasync, message: "use the asynchronous form")
    public func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], timeout: Duration? = nil
    ) throws -> [Certificate] {
        try fetchIssuers(of: certificate, with: further, until: Self.fetchingDeadline(timeout))
    }

    private static func fetchingDeadline(_ timeout: Duration?) -> Deadline {
        .after(min(timeout ?? Bounds.longestWait, Bounds.longestWait))
    }

    /// - Parameters:
    ///   - deadline: When to stop waiting and requesting.
    ///   - isStopped: Whether to start no further request.
    func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], until deadline: Deadline,
        isStopped: () -> Bool = { false }
    ) throws -> [Certificate] {
        var fetched: [Certificate] = []
        let anchors = try keychain.trust.anchors().map(\.certificate) + SystemRoots.known()
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

    /// Stores the certificates that are not in the keychain yet, except roots.
    private func keep(_ fetched: [Certificate]) throws {
        let new = try fetched.filter { !$0.isSelfSigned }.filter { try keychain.trust.storedItems(of: $0).isEmpty }
        try add(contentsOf: new.map { CertificateItem($0) })
    }

    private func issuer(
        of certificate: Certificate, until deadline: Deadline, _ isStopped: () -> Bool
    ) throws -> Certificate? {
        var failure: (any Error)?
        func overdue(_ url: String) -> KeychainError {
            KeychainError(
                .timedOut, "the places where the missing issuers are said to be take too long.",
                remedies: [Remedy("Ask the authority for its certificate and import it", .importCertificate)],
                details: ["url": url], cause: failure)
        }
        let places = certificate.issuerPlaces.prefix(Bounds.places)
        for (index, url) in places.enumerated() {
            guard !isStopped() else { throw KeychainError.stopped }
            guard !deadline.hasPassed else { throw overdue(url) }
            do {
                // Each URL gets an equal share of the remaining time.
                let share = deadline.remaining.map { Deadline.after($0 / (places.count - index)) } ?? .never
                let response = try HTTPRequest(url: url, allowsPlain: true).send(by: share)
                guard response.status == 200 else { continue }
                if let found = try Certificate.load(response.body).first(where: { certificate.isIssued(by: $0) }) {
                    return found
                }
            } catch let error as KeyFileError {
                failure = KeychainError(
                    .issuerFailed, "\(url) answered with something that is not a certificate.",
                    remedies: [Remedy("Ask the authority for its certificate and import it", .importCertificate)],
                    details: ["url": url], cause: error)
            } catch {
                failure = error
                // Also for the last URL: it did not get the time that it may need.
                if deadline.hasPassed { throw overdue(url) }
            }
        }
        if let failure { throw failure }
        return nil
    }

    /// Fetches the missing certificates above a certificate. If the task is cancelled, no further request is started.
    ///
    /// - Parameter timeout: The total time to wait, if less than two minutes; with zero or less, nothing is requested.
    /// - Throws: `KeychainError`; the errors of the blocking form, and `cancelled`.
    public func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], timeout: Duration? = nil
    ) async throws -> [Certificate] {
        try await keychain.runPatiently {
            try self.fetchIssuers(
                of: certificate, with: further, until: Self.fetchingDeadline(timeout), isStopped: $0)
        }
    }
}
