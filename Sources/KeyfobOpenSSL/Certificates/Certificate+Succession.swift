package import Foundation

extension Certificate {
    /// Those of several certificates that no other of them succeeds, in their order.
    ///
    /// A certificate is succeeded by another of the same key: by a valid one where it is not valid itself, and where
    /// both have the same subject and alternative names by the one that is valid from a later moment.
    ///
    /// - Parameter date: The moment at which a certificate is valid or not.
    package static func current(among certificates: [Certificate], on date: Date) -> [Certificate] {
        let groups = Dictionary(grouping: certificates.enumerated(), by: \.element.publicKey)
        return certificates.enumerated().filter { place, certificate in
            !groups[certificate.publicKey, default: []].contains { other in
                other.offset != place && other.element.succeeds(certificate, isFirst: other.offset < place, on: date)
            }
        }.map(\.element)
    }

    /// - Parameter isFirst: Whether this one counts where nothing else tells the two apart.
    private func succeeds(_ other: Certificate, isFirst: Bool, on date: Date) -> Bool {
        guard isValid(on: date) == other.isValid(on: date) else { return isValid(on: date) }
        guard subject == other.subject, subjectAlternativeNames == other.subjectAlternativeNames else { return false }
        let (own, others) = ([notBefore, notAfter], [other.notBefore, other.notAfter])
        return own == others ? isFirst : others.lexicographicallyPrecedes(own)
    }
}
