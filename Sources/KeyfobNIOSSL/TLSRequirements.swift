#if NIOSSL
package import Foundation
public import Keyfob
import OpenSSL

/// What an identity must be good for before a server or a client uses it.
///
/// ```swift
/// var requirements = TLSRequirements.server
/// requirements.hostNames = ["www.example.org"]
/// ```
public struct TLSRequirements: Sendable {
    /// What the certificate must allow (RFC 5280 4.2.1.12): `.server` or `.client`.
    public var usage: CertificateUsage
    /// Names or addresses that the certificate must be good for, all of them.
    public var hostNames: [String] = []
    /// Whether a certificate outside of its dates is used all the same.
    public var allowsOutdated = false
    /// Whether the certificate's issuer may be missing from the keychain: right where clients have the issuer
    /// themselves.
    public var allowsUnknownIssuer = false
    /// Whether TLS 1.3 is a must; without, RSA keys of tokens that have RSA PKCS#1 only serve TLS 1.2.
    public var requiresTLS13 = false
    /// Tells the time; the tests' way to another day.
    package var date: @Sendable () -> Date = { Date() }

    /// Requirements of a side of the handshake, and nothing else.
    public init(_ usage: CertificateUsage) { self.usage = usage }

    /// A server's.
    public static let server = TLSRequirements(.server)
    /// A client's.
    public static let client = TLSRequirements(.client)
}

extension TLSRequirements {
    /// Checks everything that certificates alone tell.
    func check(_ candidate: TLSCandidate, chain: CertificateChain) throws(KeychainError) {
        let certificate = candidate.certificate
        try checkDates(candidate, chain: chain)
        for host in hostNames where !certificate.matches(host: host) {
            throw .wrongHost(candidate.name, certificate, host)
        }
        let extended = certificate.extendedKeyUsage
        guard extended.isEmpty || extended.contains(.any) || usage.extendedKeyUsage.map(extended.contains) ?? true,
            // Every handshake with forward secrecy is a signature.
            certificate.keyUsage?.contains(.digitalSignature) ?? true
        else { throw .wrongUsage(candidate.name, certificate, usage) }
        guard allowsUnknownIssuer || chain.isComplete || chain.certificates.count > 1 else {
            throw .noIssuer(candidate.name, certificate)
        }
    }

    /// Checks that the certificate is valid now, and what stands above it and is sent along.
    func checkDates(_ candidate: TLSCandidate, chain: CertificateChain) throws(KeychainError) {
        guard !allowsOutdated else { return }
        let date = date()
        let error = KeychainError.validity(
            of: candidate.certificate, name: candidate.name, on: date, renewal: candidate.item.renewalHint("Renew"))
        if let error { throw error }
        for issuer in presented(chain).dropFirst() {
            let error = KeychainError.validity(
                of: issuer, name: issuer.subjectSummary ?? "(no name)", on: date,
                renewal: "It stands above \"\(candidate.name)\". Add its successor: keyfob cert import FILE")
            if let error { throw error }
        }
    }

    /// What of a chain is sent to the peer: without its root, and without what ends it by the way of an older root,
    /// such as a cross-signed certificate that has expired, for peers know the newer one.
    func presented(_ chain: CertificateChain) -> [OpenSSL.Certificate] {
        let date = date()
        let all = chain.withoutRoot
        // What signed the leaf nobody has as a root, and of a whole chain every link is needed.
        guard !chain.isComplete, let end = all.indices.dropFirst(2).first(where: { !all[$0].isValid(on: date) }) else {
            return all
        }
        return Array(all[..<end])
    }
}
#endif
