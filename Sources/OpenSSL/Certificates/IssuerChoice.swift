import COpenSSL
import Foundation

/// Which of several certificates of one name stands above another while libcrypto builds a chain.
///
/// X509_verify_cert(3) looks at names and key identifiers to find an issuer, takes the first that is valid, and never
/// comes back to it when its key turns out not to have made the signature, or when it leads to nobody trusted. Where
/// more than one fits, those that signed are left to it here, and of these the ones that lead to an anchor. One that
/// fits alone it gets in any case, so that a broken signature is reported as one.
///
/// Used by one thread, for one verification.
final class IssuerChoice {
    /// A certificate that libcrypto has been given.
    private struct Candidate {
        let certificate: Certificate
        let handle: OwnedPointer
        /// Where the X509 is: libcrypto hands out the objects that it was given.
        let address: UInt
        let isAnchor: Bool

        /// `nil` for one that libcrypto cannot read.
        init?(_ certificate: Certificate, isAnchor: Bool) {
            guard let handle = certificate.usableHandle else { return nil }
            self.certificate = certificate
            self.handle = handle
            self.isAnchor = isAnchor
            address = unsafe handle.withPointer { UInt(bitPattern: $0) }
        }
    }

    /// How good the way up from a certificate is, to the best of the anchors.
    private enum Reach: Int {
        case nobody, anchor, validAnchor
    }

    /// Certificates that are accepted at any date.
    let undated: Set<Certificate>
    private let leaf: Candidate?
    private let candidates: [Candidate]
    private let date: Date
    /// The addresses of the issuers that libcrypto may take, by that of the certificate below.
    private var chosen: [UInt: Set<UInt>] = [:]
    /// Bounds the signature checks, whose number could be the square of that of the certificates.
    private var budget = 1000
    private lazy var reaches: [Certificate: Reach] = reachesOfAncestors()

    /// A choice among the certificates that libcrypto is given, and no others.
    init(
        leaf: Certificate, intermediates: [Certificate], anchors: [Certificate], on date: Date,
        undated: Set<Certificate>
    ) {
        self.leaf = Candidate(leaf, isAnchor: false)
        candidates = anchors.compactMap { Candidate($0, isAnchor: true) }
            + intermediates.compactMap { Candidate($0, isAnchor: false) }
        self.date = date
        self.undated = undated
    }

    /// Whether libcrypto may take one X509 for the issuer of another.
    func allows(_ issuer: OpaquePointer?, above subject: OpaquePointer?) -> Bool {
        guard unsafe Self.fits(issuer, above: subject) else { return false }
        let above = UInt(bitPattern: issuer)
        let below = UInt(bitPattern: subject)
        // Asked about one and the same, libcrypto wants to know whether the chain ends there.
        return above == below || issuers(of: below)?.contains(above) ?? true
    }

    /// Whether names, key identifiers and algorithms fit, which is what libcrypto asks by itself.
    static func fits(_ issuer: OpaquePointer?, above subject: OpaquePointer?) -> Bool {
        // X509_check_issued(3) looks at the key usage as well, but last, and to libcrypto that is a fault of its own.
        let result = unsafe X509_check_issued(issuer, subject)
        return [X509_V_OK, X509_V_ERR_KEYUSAGE_NO_CERTSIGN, X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE].contains(result)
    }

    private func fits(_ issuer: Candidate, above subject: Candidate) -> Bool {
        unsafe issuer.handle.withPointer { above in
            unsafe subject.handle.withPointer { unsafe Self.fits(above, above: $0) }
        }
    }

    /// The addresses of the issuers to take; `nil` for a certificate that nobody gave.
    private func issuers(of address: UInt) -> Set<UInt>? {
        if let known = chosen[address] { return known }
        let given = leaf?.address == address ? leaf : candidates.first { $0.address == address }
        guard let subject = given else { return nil }
        let fitting = candidates.filter { fits($0, above: subject) }
        var best = fitting
        if fitting.count > 1 {
            let grades = fitting.map { grade($0, above: subject) }
            let highest = grades.max() ?? 0
            // Without the answer of all, the choice is libcrypto's.
            if budget > 0 { best = zip(fitting, grades).filter { $0.1 == highest }.map { $0.0 } }
        }
        let addresses = Set(best.map(\.address))
        chosen[address] = addresses
        return addresses
    }

    /// What a signature counts: more than any way up.
    private static let signed = Reach.validAnchor.rawValue + 1

    private func grade(_ issuer: Candidate, above subject: Candidate) -> Int {
        (isSigned(subject, by: issuer) ? Self.signed : 0) + (reaches[issuer.certificate] ?? .nobody).rawValue
    }

    private func isSigned(_ subject: Candidate, by issuer: Candidate) -> Bool {
        guard budget > 0 else { return false }
        budget -= 1
        return subject.certificate.hasSignature(of: issuer.certificate)
    }

    /// Whom the certificates that may stand above the leaf lead to, found from the anchors downwards.
    private func reachesOfAncestors() -> [Certificate: Reach] {
        let ancestors = ancestors()
        var found: [Certificate: Reach] = [:]
        var open = ancestors.filter(\.isAnchor)
        for anchor in open { found[anchor.certificate] = isValid(anchor) ? .validAnchor : .anchor }
        while budget > 0, let above = open.popLast() {
            let reach = found[above.certificate] ?? .nobody
            for below in ancestors where !below.isAnchor && fits(above, above: below) {
                let own = isValid(below) ? reach : .anchor
                let known = found[below.certificate] ?? .nobody
                guard known.rawValue < own.rawValue, isSigned(below, by: above) else { continue }
                found[below.certificate] = own
                open.append(below)
            }
        }
        return found
    }

    /// The candidates that names and key identifiers put above the leaf, at any height.
    private func ancestors() -> [Candidate] {
        var found: [Candidate] = []
        var addresses: Set<UInt> = []
        var next = leaf
        var position = 0
        while let subject = next {
            for candidate in candidates where fits(candidate, above: subject) {
                if addresses.insert(candidate.address).inserted { found.append(candidate) }
            }
            // So many stand above no certificate that anybody has issued in earnest, and each is compared with each.
            guard found.count <= Self.mostAncestors else {
                budget = 0
                return []
            }
            next = position < found.count ? found[position] : nil
            position += 1
        }
        return found
    }

    private static let mostAncestors = 200

    private func isValid(_ candidate: Candidate) -> Bool {
        candidate.certificate.isValid(on: date) || undated.contains(candidate.certificate)
    }
}
