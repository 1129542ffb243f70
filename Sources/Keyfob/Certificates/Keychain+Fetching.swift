import Foundation
import KeyfobPrimitives
public import OpenSSL

/// How much is done for a certificate that names places: whoever made it chose them, and their number.
private enum Bounds {
    /// How many places of one certificate are asked; two are common.
    static let places = 4
    /// How many certificates are fetched.
    static let issuers = 8
    /// For how long they are asked altogether, unless the caller has less time.
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
    /// Blocks for the network, up to two minutes. Of each certificate the first four places are asked. Stops at an
    /// authority that the system or the keychain trusts. A root is not stored: nobody is trusted because a certificate
    /// says where to find him.
    ///
    /// - Parameter timeout: How long the places together are waited for, where that is less than two minutes; with
    ///   none, or less, nobody is asked.
    /// - Returns: What was fetched; empty where nothing was missing, or nobody says where it is.
    /// - Throws: `KeychainError`; `issuerFailed` where a place does not answer, `timedOut` where the places together
    ///   have not answered in time, and as for adding certificates. What was fetched before is stored then.
    @available(*, noasync, message: "use the asynchronous form")
    public func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], timeout: Duration? = nil
    ) throws -> [Certificate] {
        try fetchIssuers(of: certificate, with: further, until: Self.fetchingDeadline(timeout))
    }

    private static func fetchingDeadline(_ timeout: Duration?) -> Deadline {
        .after(min(timeout ?? Bounds.patience, Bounds.patience))
    }

    /// - Parameters:
    ///   - deadline: When no place is asked any more, and none waited for.
    ///   - isStopped: Whether to begin none any more.
    func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], until deadline: Deadline,
        isStopped: () -> Bool = { false }
    ) throws -> [Certificate] {
        var fetched: [Certificate] = []
        let anchors = try trustAnchors().map(\.certificate) + SystemRoots.known()
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
        func overdue(_ url: String) -> KeychainError {
            KeychainError(
                .timedOut, "the places where the missing issuers are said to be take too long.",
                hint: "Ask the authority for its certificate, and: keyfob cert import FILE", details: ["url": url],
                cause: failure)
        }
        let places = certificate.issuerPlaces.prefix(Bounds.places)
        for (index, url) in places.enumerated() {
            guard !isStopped() else { throw KeychainError.stopped }
            guard !deadline.hasPassed else { throw overdue(url) }
            do {
                // None takes the time of those behind it.
                let share = deadline.remaining.map { Deadline.after($0 / (places.count - index)) } ?? .never
                let response = try HTTPRequest(url: url, allowsPlain: true).send(by: share)
                guard response.status == 200 else { continue }
                if let found = try Certificate.load(response.body).first(where: { certificate.isIssued(by: $0) }) {
                    return found
                }
            } catch let error as KeyFileError {
                failure = KeychainError(
                    .issuerFailed, "\(url) answered with something that is no certificate.",
                    hint: "Ask the authority for its certificate, and: keyfob cert import FILE", details: ["url": url],
                    cause: error)
            } catch {
                failure = error
                // The last one, too: it was not given the time that it may need.
                if deadline.hasPassed { throw overdue(url) }
            }
        }
        if let failure { throw failure }
        return nil
    }

    /// Fetches the certificates that are missing above one. Where the task is cancelled no other place is asked.
    ///
    /// - Parameter timeout: As for the blocking form.
    /// - Throws: As the blocking form; `cancelled`.
    public func fetchIssuers(
        of certificate: Certificate, with further: [Certificate] = [], timeout: Duration? = nil
    ) async throws -> [Certificate] {
        try await runPatiently {
            try self.fetchIssuers(
                of: certificate, with: further, until: Self.fetchingDeadline(timeout), isStopped: $0)
        }
    }
}
