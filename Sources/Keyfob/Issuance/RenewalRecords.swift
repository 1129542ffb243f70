import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives

/// When an issuer wants a certificate to be renewed, as last heard from it.
struct RenewalRecord: Codable {
    /// SHA-256 of the certificate.
    let certificate: Data
    /// The last window; `nil` if there was none.
    let window: RenewalWindow?
    /// The time in the window that was chosen for the renewal.
    let time: Date?
    /// When the issuer may be asked again.
    let nextQuestion: Date

    /// The longest time for which an answer is valid. A clock that was set back must not extend it.
    static let longestValidity: TimeInterval = 86_400
    private static let shortestValidity: TimeInterval = 60
    /// The time after a failure. RFC 9773 4.3.3 asks for six hours if a server fails for long.
    private static let pauseAfterFailure: TimeInterval = 6 * 3600

    /// The record of an answer. A time that was chosen in the same window stays.
    init(_ certificate: Certificate, _ answer: RenewalSuggestion, after last: RenewalRecord?, on now: Date) {
        self.certificate = certificate.sha256Fingerprint
        window = answer.window
        time = answer.window == last?.window ? last?.time : answer.window?.randomTime()
        let validity = answer.validity / .seconds(1)
        nextQuestion = now + min(max(validity, Self.shortestValidity), Self.longestValidity)
    }

    /// The record of a question without an answer. The last window is kept.
    init(_ certificate: Certificate, withoutAnswerAfter last: RenewalRecord?, on now: Date) {
        self.certificate = certificate.sha256Fingerprint
        (window, time) = (last?.window, last?.time)
        nextQuestion = now + Self.pauseAfterFailure
    }

    /// Whether the issuer may be asked.
    func isOld(on now: Date) -> Bool { nextQuestion <= now || nextQuestion > now + Self.longestValidity }
}

/// The renewal times of a keychain, by the names of their identities.
///
/// The records only save questions: one that cannot be read is ignored.
struct RenewalRecords: Sendable {
    private let files: StateFiles

    /// The times of a keychain. Nothing is read or created yet.
    init(_ keychain: Keychain) {
        files = StateFiles(
            StateFiles.renewalTimes, keychain: keychain.configuration.uuid, keychain.directories)
    }

    /// The record for an identity, unless it is about another certificate.
    func time(for name: String, _ certificate: Certificate) -> RenewalRecord? {
        do {
            let time = try files.read(name).map { try JSONDecoder().decode(RenewalRecord.self, from: $0.copyData()) }
            return time?.certificate == certificate.sha256Fingerprint ? time : nil
        } catch {
            return nil
        }
    }

    /// Writes a record.
    ///
    /// - Throws: `KeychainError` if it cannot be written.
    func note(_ time: RenewalRecord, for name: String) throws {
        try files.write(SecretBytes(JSONEncoder().encode(time)), for: name)
    }
}
