#if NIOSSL
package import Foundation
public import Keyfob
import KeyfobOpenSSL

/// The requirements that an identity must meet before a server or a client uses it.
///
/// ```swift
/// var requirements = TLSRequirements.server
/// requirements.hostNames = ["www.example.org"]
/// ```
public struct TLSRequirements: Sendable {
    /// The usage that the certificate must allow (RFC 5280 4.2.1.12): `.server` or `.client`.
    public var usage: CertificateUsage
    /// Names or addresses, all of which the certificate must match.
    public var hostNames: [String] = []
    /// Whether a certificate outside its dates may be used.
    public var allowsOutdated = false
    /// Whether the certificate's issuer may be missing from the keychain. Set this if clients have the issuer
    /// themselves.
    public var allowsUnknownIssuer = false
    /// Whether TLS 1.3 is required. If not, RSA keys of tokens that only have RSA PKCS#1 serve TLS 1.2.
    public var requiresTLS13 = false
    /// Returns the current date; tests replace it.
    package var date: @Sendable () -> Date = { Date() }

    /// Creates the requirements of one side of the handshake, without any others.
    public init(_ usage: CertificateUsage) { self.usage = usage }

    /// The default requirements of a server.
    public static let server = TLSRequirements(.server)
    /// The default requirements of a client.
    public static let client = TLSRequirements(.client)
}

extension TLSRequirements {
    /// Checks everything that follows from the certificates alone.
    func check(_ candidate: TLSCandidate, chain: CertificateChain) throws(KeychainError) {
        let certificate = candidate.certificate
        try checkDates(candidate, chain: chain)
        for host in hostNames where !certificate.matches(host: host) {
            throw .wrongHost(candidate.name, certificate, host)
        }
        let extended = certificate.extendedKeyUsage
        guard extended.isEmpty || extended.contains(.any) || usage.extendedKeyUsage.map(extended.contains) ?? true,
            // Every handshake with forward secrecy needs a signature.
            certificate.keyUsage?.contains(.digitalSignature) ?? true
        else { throw .wrongUsage(candidate.name, certificate, usage) }
        guard allowsUnknownIssuer || chain.isComplete || chain.certificates.count > 1 else {
            throw .noIssuer(candidate.name, certificate)
        }
    }

    /// Checks the dates of the certificate and of the issuers that are sent along.
    func checkDates(_ candidate: TLSCandidate, chain: CertificateChain) throws(KeychainError) {
        guard !allowsOutdated else { return }
        let date = date()
        let error = KeychainError.validity(
            of: candidate.certificate, name: candidate.name, on: date, renewal: candidate.item.renewalRemedies("Renew"))
        if let error { throw error }
        for issuer in presented(chain).dropFirst() {
            let error = KeychainError.validity(
                of: issuer, name: issuer.subjectSummary ?? "(no name)", on: date,
                renewal: [
                    Remedy("It is above \"\(candidate.name)\". Add its successor", .importCertificate)
                ])
            if let error { throw error }
        }
    }

    /// Returns the certificates of a chain that are sent to the peer.
    ///
    /// The root is left out. An incomplete chain is also cut off before an expired certificate, such as a cross-signed
    /// one that leads to an older root. Peers know the newer root.
    func presented(_ chain: CertificateChain) -> [KeyfobOpenSSL.Certificate] {
        let date = date()
        let all = chain.withoutRoot
        // The leaf's issuer is always sent, because peers do not have it as a root. A complete chain is sent whole,
        // because every link is needed.
        guard !chain.isComplete, let end = all.indices.dropFirst(2).first(where: { !all[$0].isValid(on: date) }) else {
            return all
        }
        return Array(all[..<end])
    }
}
#endif
