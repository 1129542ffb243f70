import Foundation
public import Keyfob

extension IssuerDescription {
    /// An ACME server.
    public static func acme(_ settings: ACMEIssuer.Settings) -> Self {
        let encoder = JSONEncoder()
        // Equal settings make equal descriptions.
        encoder.outputFormatting = .sortedKeys
        // Text, Booleans and lists of text always have a form in JSON.
        let data = try! encoder.encode(settings)
        return .external(ExternalIssuer(kind: kindOfACME, name: settings.host, settings: data))
    }

    /// The settings of an ACME server.
    ///
    /// They are `nil` for another issuer, and for settings that this version cannot read.
    public var acmeSettings: ACMEIssuer.Settings? {
        guard case .external(let issuer) = self, issuer.kind == Self.kindOfACME else { return nil }
        // A later version may have written them.
        return try? JSONDecoder().decode(ACMEIssuer.Settings.self, from: issuer.settings)
    }

    private static let kindOfACME = "acme"
}
