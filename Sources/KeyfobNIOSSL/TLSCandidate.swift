#if NIOSSL
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// An identity that matches the query, before it is tested.
struct TLSCandidate {
    let item: Identity
    let certificate: KeyfobOpenSSL.Certificate

    init(_ item: Identity) throws {
        self.item = item
        certificate = try item.certificate()
    }

    /// The name for messages.
    var name: String { item.label ?? certificate.subjectSummary ?? "identity" }

    /// Finds the one identity that a query names, on a date.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous`.
    static func choose(_ query: Query<Identity>, in keychain: Keychain, on date: Date) throws -> TLSCandidate {
        let all = try keychain.find(query).map { try TLSCandidate($0) }
        let names = all.compactMap(\.item.label)
        let found = all.filter { !$0.isRetiring(among: names) }
        // A version prepared for tomorrow must not displace today's.
        let sorted = found.sorted { $0.rank(on: date) > $1.rank(on: date) }
        guard let best = sorted.first else { throw KeychainError.noIdentity(query, keychain: keychain.name) }
        let others = sorted.dropFirst().filter { $0.certificate != best.certificate }
        guard others.allSatisfy({ $0.isVersion(of: best) && $0.rank(on: date) < best.rank(on: date) }) else {
            let names = ([best] + others).prefix(5).map(\.name).joined(separator: ", ")
            throw KeychainError(
                .ambiguous,
                "the query matches \(others.count + 1) identities: \(names)\(others.count > 4 ? ", …" : "").",
                hint: "Use the full name, or the reference of one of them.")
        }
        return best
    }

    /// Whether this identity's label is another's name followed by a date, which is how a renewal labels the version it
    /// replaces.
    private func isRetiring(among names: [String]) -> Bool {
        guard let name = item.nameOfVersion else { return false }
        return names.contains { $0.isIdentical(to: name) }
    }

    /// Whether both are versions of the same identity.
    private func isVersion(of other: TLSCandidate) -> Bool {
        if let label = item.label, !label.isEmpty, other.item.label?.isIdentical(to: label) ?? false { return true }
        return certificate.subject == other.certificate.subject
            && Set(certificate.subjectAlternativeNames) == Set(other.certificate.subjectAlternativeNames)
    }

    /// Orders valid certificates first, then by the latest start, then by the latest end.
    private func rank(on date: Date) -> (Int, Date, Date) {
        (certificate.isValid(on: date) ? 1 : 0, certificate.notBefore, certificate.notAfter)
    }
}
#endif
