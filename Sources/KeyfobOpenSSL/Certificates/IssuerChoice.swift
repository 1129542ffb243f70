import COpenSSL
import Foundation

/// Selects the issuer among several certificates with the same name while libcrypto builds a chain.
///
/// X509_verify_cert(3) finds an issuer by names and key identifiers and takes the first that is valid. It does not try
/// another one if that issuer's key did not make the signature, or if its chain ends at no anchor. If several
/// candidates fit, this class therefore offers only those that signed, and among them those that lead to an anchor. A
/// single candidate is always offered, so that a bad signature is reported as such.
///
/// Used by one thread, for one verification.
final class IssuerChoice {
    /// A certificate that libcrypto was given.
    private struct Candidate {
        let certificate: Certificate
        let handle: OwnedPointer
        /// The address of the X509: libcrypto returns the objects it was given.
        let address: UInt
        let isAnchor: Bool

        /// Returns `nil` for a certificate that libcrypto cannot read.
        init?(_ certificate: Certificate, isAnchor: Bool) {
            guard let handle = certificate.usableHandle else { return nil }
            self.certificate = certificate
            self.handle = handle
            self.isAnchor = isAnchor
            address = unsafe handle.withPointer { UInt(bitPattern: $0) }
        }
    }

    /// The best anchor that a certificate's chain leads to.
    private enum Reach: Int {
        case nobody, anchor, validAnchor
    }

    /// Certificates that are accepted at any date.
    let undated: Set<Certificate>
    private let leaf: Candidate?
    private let candidates: [Candidate]
    private let date: Date
    /// The addresses of the issuers that libcrypto may use, by the address of the issued certificate.
    private var chosen: [UInt: Set<UInt>] = [:]
    /// Limits the signature checks, whose number could be quadratic in the number of certificates.
    private var budget = 1000
    private lazy var reaches: [Certificate: Reach] = reachesOfAncestors()

    /// Creates a choice among exactly the certificates that libcrypto is given.
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

    /// Whether libcrypto may use one X509 as the issuer of another.
    func allows(_ issuer: OpaquePointer?, above subject: OpaquePointer?) -> Bool {
        guard unsafe Self.fits(issuer, above: subject) else { return false }
        let above = UInt(bitPattern: issuer)
        let below = UInt(bitPattern: subject)
        // For a certificate and itself, libcrypto asks whether the chain ends there.
        return above == below || issuers(of: below)?.contains(above) ?? true
    }

    /// Whether names, key identifiers and algorithms match, which is libcrypto's own criterion.
    static func fits(_ issuer: OpaquePointer?, above subject: OpaquePointer?) -> Bool {
        // X509_check_issued(3) checks the key usage last, and libcrypto reports that as a separate failure.
        let result = unsafe X509_check_issued(issuer, subject)
        return [X509_V_OK, X509_V_ERR_KEYUSAGE_NO_CERTSIGN, X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE].contains(result)
    }

    private func fits(_ issuer: Candidate, above subject: Candidate) -> Bool {
        unsafe issuer.handle.withPointer { above in
            unsafe subject.handle.withPointer { unsafe Self.fits(above, above: $0) }
        }
    }

    /// Returns the addresses of the allowed issuers; `nil` for a certificate that is not a candidate.
    private func issuers(of address: UInt) -> Set<UInt>? {
        if let known = chosen[address] { return known }
        let given = leaf?.address == address ? leaf : candidates.first { $0.address == address }
        guard let subject = given else { return nil }
        let fitting = candidates.filter { fits($0, above: subject) }
        var best = fitting
        if fitting.count > 1 {
            let grades = fitting.map { grade($0, above: subject) }
            let highest = grades.max() ?? 0
            // If the budget runs out before all are checked, libcrypto chooses.
            if budget > 0 { best = zip(fitting, grades).filter { $0.1 == highest }.map { $0.0 } }
        }
        let addresses = Set(best.map(\.address))
        chosen[address] = addresses
        return addresses
    }

    /// The grade of a valid signature, which outranks any anchor.
    private static let signed = Reach.validAnchor.rawValue + 1

    private func grade(_ issuer: Candidate, above subject: Candidate) -> Int {
        (isSigned(subject, by: issuer) ? Self.signed : 0) + (reaches[issuer.certificate] ?? .nobody).rawValue
    }

    private func isSigned(_ subject: Candidate, by issuer: Candidate) -> Bool {
        guard budget > 0 else { return false }
        budget -= 1
        return subject.certificate.hasSignature(of: issuer.certificate)
    }

    /// Returns the best anchor for each possible ancestor of the leaf, computed from the anchors downwards.
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

    /// Returns the candidates that are ancestors of the leaf by names and key identifiers.
    private func ancestors() -> [Candidate] {
        var found: [Candidate] = []
        var addresses: Set<UInt> = []
        var next = leaf
        var position = 0
        while let subject = next {
            for candidate in candidates where fits(candidate, above: subject) {
                if addresses.insert(candidate.address).inserted { found.append(candidate) }
            }
            // Real certificates do not have so many ancestors, and the comparisons are quadratic.
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
