public import Foundation

/// The period in which an issuer wants a certificate to be renewed (RFC 9773 4.2).
public struct RenewalWindow: Codable, Hashable, Sendable {
    /// The beginning.
    public let start: Date
    /// The end, after the beginning.
    public let end: Date
    /// The URL of a page that explains the period, such as a planned revocation.
    public let explanation: String?

    /// Creates a window; `nil` unless the end is after the beginning.
    public init?(start: Date, end: Date, explanation: String? = nil) {
        guard start < end else { return nil }
        (self.start, self.end, self.explanation) = (start, end, explanation)
    }

    /// A random time in the window, so that the renewals of many clients are spread over it.
    func randomTime() -> Date { start + .random(in: 0...end.timeIntervalSince(start)) }
}

/// The answer of an issuer to the question when a certificate should be renewed.
public struct RenewalSuggestion: Sendable {
    /// The period for the renewal; `nil` if the issuer has none.
    public let window: RenewalWindow?
    /// How long the answer is valid. The issuer does not want to be asked again before.
    public let validity: Duration

    /// Creates an answer.
    public init(window: RenewalWindow?, validity: Duration) { (self.window, self.validity) = (window, validity) }
}
