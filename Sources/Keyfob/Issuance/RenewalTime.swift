public import Foundation
package import KeyfobOpenSSL

/// When the renewal of a certificate is due.
public enum RenewalTime: Codable, Hashable, Sendable, CustomStringConvertible {
    /// After this fraction of the lifetime.
    case after(fraction: Double)
    /// This many seconds before the end.
    case beforeEnd(TimeInterval)

    /// The time for identities whose policy has none.
    public static let usual = RenewalTime.after(fraction: RenewalPolicy.dueAfter)

    /// The text, such as `66% of the lifetime`.
    public var description: String {
        switch self {
        case .after(let fraction): "\(Int((fraction * 100).rounded()))% of the lifetime"
        case .beforeEnd(let seconds): Plural.duration(seconds: seconds) + " before the end"
        }
    }

    /// The date from which the renewal of a certificate is due.
    ///
    /// A certificate that lives no longer than the time before its end would always be due, so the usual time counts
    /// for it. An issuer may shorten the lifetime.
    package func date(for certificate: Certificate) -> Date {
        let lifetime = max(0, certificate.notAfter.timeIntervalSince(certificate.notBefore))
        switch self {
        case .after(let fraction): return certificate.notBefore + lifetime * fraction
        case .beforeEnd(let seconds) where seconds < lifetime: return certificate.notAfter - seconds
        case .beforeEnd: return certificate.notBefore + lifetime * RenewalPolicy.dueAfter
        }
    }
}
