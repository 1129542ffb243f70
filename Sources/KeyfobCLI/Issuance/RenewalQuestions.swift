import Foundation
import Keyfob
import KeyfobACME

/// Asks the issuers of identities when they want to renew them.
enum RenewalQuestions {
    /// Asks the issuers of identities that are not due yet and whose last answers have expired.
    ///
    /// A server that does not answer, or is busy, is asked once. Failures are reported with `-v` only: the identities
    /// are renewed at the usual time then.
    ///
    /// - Throws: `KeyFileError` if an object on the token is not a certificate.
    static func ask(about identities: [Identity], in keychain: Keychain, _ output: Output, on now: Date) throws {
        var silent: Set<String> = []
        for identity in identities {
            guard let settings = identity.renewalPolicy?.issuer.acmeSettings, !silent.contains(settings.directory),
                try keychain.identities.renewalDate(of: identity) > now
            else { continue }
            do {
                try keychain.identities.askForRenewalWindow(
                    of: identity, issuer: ACMEIssuer(settings, keychain: keychain), on: now)
            } catch let error as KeychainError {
                let status = error.details["status"].flatMap { Int($0) }
                if status.map({ $0 == 429 || $0 >= 500 }) ?? (error.details["curl"] != nil) {
                    silent.insert(settings.directory)
                }
                output.tell(step: "no time of renewal for \(identity.label ?? ""): \(error.message)")
            }
        }
    }
}
