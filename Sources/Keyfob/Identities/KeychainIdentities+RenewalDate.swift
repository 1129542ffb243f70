public import Foundation
import KeyfobOpenSSL

/// When identities are renewed.
extension KeychainIdentities {
    /// The time from which a renewal is due.
    ///
    /// That is the time of the policy, usually after 66% of the lifetime. If the issuer has suggested a period (RFC
    /// 9773), it is a random time in that period, unless that is later. The issuer is not asked; `askForRenewalWindow`
    /// asks it.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func renewalDate(of identity: Identity) throws -> Date {
        let date = try identity.renewalDate()
        return try renewalRecord(of: identity)?.time.map { min($0, date) } ?? date
    }

    /// The period that the issuer has suggested for a renewal; `nil` if it has suggested none.
    ///
    /// - Throws: `KeyFileError` if the object on the token is not a certificate.
    public func renewalWindow(of identity: Identity) throws -> RenewalWindow? {
        try renewalRecord(of: identity)?.window
    }

    /// Asks the issuer when the certificate should be renewed, unless its last answer is still valid.
    ///
    /// Without an answer, the last one stays, and the issuer is not asked for six hours.
    ///
    /// - Returns: Whether the issuer was asked.
    /// - Throws: `KeychainError`; the errors of the issuer, and an error if the answer cannot be stored. Neither
    ///   prevents a renewal.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func askForRenewalWindow(
        of identity: Identity, issuer: any CertificateIssuer, on now: Date = Date()
    ) throws -> Bool {
        guard let name = identity.label else { return false }
        let (times, certificate) = (RenewalRecords(keychain), try identity.certificate())
        let last = times.time(for: name, certificate)
        guard last?.isOld(on: now) ?? true else { return false }
        do {
            guard let answer = try issuer.renewalSuggestion(for: certificate) else { return false }
            try times.note(RenewalRecord(certificate, answer, after: last, on: now), for: name)
            return true
        } catch {
            try times.note(RenewalRecord(certificate, withoutAnswerAfter: last, on: now), for: name)
            throw error
        }
    }

    /// Asks the issuer when the certificate should be renewed, unless its last answer is still valid.
    ///
    /// - Throws: `KeychainError`; the errors of the blocking form, and `cancelled`.
    @discardableResult
    public func askForRenewalWindow(
        of identity: Identity, issuer: any CertificateIssuer, on now: Date = Date()
    ) async throws -> Bool {
        try await keychain.runPatiently { _ in try self.askForRenewalWindow(of: identity, issuer: issuer, on: now) }
    }

    private func renewalRecord(of identity: Identity) throws -> RenewalRecord? {
        guard let name = identity.label, identity.nameOfVersion == nil else { return nil }
        return RenewalRecords(keychain).time(for: name, try identity.certificate())
    }
}
