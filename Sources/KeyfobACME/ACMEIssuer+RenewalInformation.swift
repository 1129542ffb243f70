import Foundation
public import Keyfob
public import KeyfobOpenSSL
import KeyfobPrimitives
import KeyfobSystem

/// When the authority wants a certificate to be renewed (ACME Renewal Information, RFC 9773).
extension ACMEIssuer {
    /// How long to wait for an answer, which only a renewal's time depends on.
    private static let answerTime: Duration = .seconds(15)
    /// How long an answer is valid that does not say so (RFC 9773 4.3).
    private static let usualValidity: Duration = .seconds(6 * 3600)

    /// Asks the authority when a certificate should be renewed.
    ///
    /// - Returns: An answer without a window if the authority does not have this service.
    /// - Throws: `KeychainError` with code `issuerFailed`.
    public func renewalSuggestion(for certificate: Certificate) throws -> RenewalSuggestion? {
        let deadline = Deadline.after(Self.answerTime)
        let directory = try answer(from: settings.directory, by: deadline)
        guard let place = directory.text("renewalInfo"), let identifier = certificate.renewalIdentifier else {
            return RenewalSuggestion(window: nil, validity: .seconds(86_400))
        }
        let answer = try answer(from: place + (place.hasSuffix("/") ? "" : "/") + identifier, by: deadline)
        let suggested = answer.object["suggestedWindow"] as? [String: Any] ?? [:]
        let dates = ["start", "end"].compactMap { suggested[$0] as? String }.compactMap(Self.date)
        guard dates.count == 2,
            let window = RenewalWindow(start: dates[0], end: dates[1], explanation: answer.text("explanationURL"))
        else {
            throw KeychainError(
                .issuerFailed, "\(settings.host) suggests a time of renewal that is not valid (RFC 9773 4.2).")
        }
        let validity = answer.response.header("retry-after").flatMap { RetryAfter.pause($0, on: Date()) }
        return RenewalSuggestion(window: window, validity: validity ?? Self.usualValidity)
    }

    private func answer(from url: String, by deadline: Deadline) throws -> ACMESession.Answer {
        let response = try settings.request(url: url).send(by: deadline)
        guard response.status < 400 else {
            throw ACMESession.refusal(response, ACMESession.problem(response), settings)
        }
        return try ACMESession.object(response, settings.host)
    }

    /// A time as in RFC 3339, whose letters may be small, with or without a fraction of a second.
    private static func date(_ text: String) -> Date? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = text.contains(".")
            ? [.withInternetDateTime, .withFractionalSeconds] : .withInternetDateTime
        return formatter.date(from: text.uppercased())
    }
}

extension Certificate {
    /// The identifier of the certificate in renewal information and orders (RFC 9773 4.1); `nil` if the certificate
    /// does not name its authority's key.
    var renewalIdentifier: String? {
        authorityKeyIdentifier.map { Base64URL.encode($0) + "." + Base64URL.encode(serialNumber) }
    }
}
