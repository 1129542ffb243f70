import Foundation
import Keyfob
import KeyfobOpenSSL

/// The members in which a stored identity differs from its description.
struct IdentityDrift {
    private let entry: IdentityEntry
    private let stored: StoredIdentity
    private let now: Date
    /// The former names of identities, by the present ones.
    private let formerNames: [String: String]

    init(_ entry: IdentityEntry, _ stored: StoredIdentity, formerNames: [String: String], on now: Date) {
        (self.entry, self.stored, self.formerNames, self.now) = (entry, stored, formerNames, now)
    }

    /// The policy of the next renewal, if it differs from the stored one and the certificate can stay.
    var policy: RenewalPolicy? {
        guard var policy = stored.policy, let issuer = entry.issuer, isIssuer(issuer, policy.issuer) else { return nil }
        policy.issuer = issuer
        if let time = entry.renewalTime { policy.time = time }
        return policy == stored.policy ? nil : policy
    }

    /// The differences of the policy.
    var policyDifferences: [Change.Difference] {
        guard let new = policy, let old = stored.policy else { return [] }
        var found: [Change.Difference] = []
        if new.issuer != old.issuer {
            found.append(.init("issuer", from: old.issuer.description, to: new.issuer.description))
        }
        if new.time != old.time {
            found.append(
                .init("renewal", from: (old.time ?? .usual).description, to: (new.time ?? .usual).description))
        }
        return found
    }

    /// Whether two descriptions are those of one issuer, which may have been renamed.
    private func isIssuer(_ wanted: IssuerDescription, _ stored: IssuerDescription) -> Bool {
        guard wanted != stored else { return true }
        guard case .authority(let name, nil) = wanted, case .authority(let former, nil) = stored else { return false }
        return formerNames[name] == former
    }

    /// The differences; a new certificate ends all of them.
    ///
    /// - Throws: `CryptoError` for a name that cannot be encoded.
    var differences: [Change.Difference] {
        get throws {
            var found: [Change.Difference] = []
            let certificate = stored.certificate
            let isLocal = stored.policy?.issuer.isLocal ?? true
            if let wanted = entry.issuer, !(stored.policy.map { isIssuer(wanted, $0.issuer) } ?? false) {
                found.append(
                    .init("issuer", from: stored.policy?.issuer.description, to: wanted.description))
            }
            let kind = certificate.publicKey.algorithm.description
            if entry.hasKey, kind != entry.key.description {
                found.append(.init("key", from: kind, to: entry.key.description))
            }
            if !entry.contents.isEmpty { found += try nameDifferences(isLocal: isLocal) }
            if let wanted = entry.lifetime, wanted != stored.policy?.lifetime, entry.issuer != nil {
                found.append(
                    .init(
                        "lifetime", from: stored.policy?.lifetime.map { Self.days($0) }, to: Self.days(wanted)))
            }
            let time = entry.renewalTime ?? stored.policy?.time ?? .usual
            let isDue = now >= time.date(for: certificate)
            let planned = (stored.policy?.time ?? .usual).date(for: certificate)
            let isSuggested = stored.renewalDate <= now && stored.renewalDate < planned
            if entry.issuer != nil, isDue || isSuggested {
                let used = try stored.item.lifetimeUsed(on: now)
                found.append(
                    .init(
                        "validity", from: used >= 1 ? "expired" : "\(Int(used * 100))% used",
                        to: isDue ? "renewal at \(time)" : "renewal as the issuer suggests"))
            }
            return found
        }
    }

    /// The differences of names and usages.
    ///
    /// An issuer outside the keychain may add names, and chooses the subject and the usages, so a difference there
    /// would not end with another certificate.
    private func nameDifferences(isLocal: Bool) throws -> [Change.Difference] {
        let certificate = stored.certificate
        let wanted = try entry.extensions(for: certificate.publicKey.algorithm)
        var found: [Change.Difference] = []
        let has = Set(certificate.subjectAlternativeNames)
        let wants = Set(wanted.subjectAlternativeNames)
        let missing = wants.subtracting(has).filter { name in
            // A wildcard of an issuer outside the keychain covers the host.
            guard !isLocal, case .dns(let host) = name else { return true }
            return !certificate.matches(host: host)
        }
        let unwanted = isLocal ? has.subtracting(wants) : []
        if !missing.isEmpty || !unwanted.isEmpty {
            found.append(.init("names", from: Self.list(unwanted), to: Self.list(missing)))
        }
        guard isLocal else { return found }
        let subject = try entry.contents.name()
        // A certificate without a given subject gets one from its names.
        if !subject.isEmpty, subject.canonical != certificate.subject.canonical {
            found.append(.init("subject", from: certificate.subject.description, to: subject.description))
        }
        let isAuthority = wanted.basicConstraints?.isAuthority ?? false
        if certificate.isCA != isAuthority {
            found.append(.init("authority", from: String(certificate.isCA), to: String(isAuthority)))
        } else if isAuthority, certificate.pathLength != entry.contents.pathLength {
            func text(_ length: Int?) -> String { length.map { String($0) } ?? "unlimited" }
            found.append(
                .init("pathLength", from: text(certificate.pathLength), to: text(entry.contents.pathLength)))
        }
        let usages = (Set(certificate.extendedKeyUsage), Set(wanted.extendedKeyUsage))
        if !isAuthority, usages.0 != usages.1 {
            func text(_ usages: Set<ExtendedKeyUsage>) -> String {
                usages.isEmpty ? "any" : usages.map(\.description).sorted().joined(separator: ", ")
            }
            found.append(.init("usages", from: text(usages.0), to: text(usages.1)))
        }
        return found
    }

    private static func days(_ seconds: Double) -> String {
        seconds.truncatingRemainder(dividingBy: 86_400) == 0
            ? Plural.counted(Int(seconds / 86_400), "day") : Plural.counted(Int(seconds), "second")
    }

    private static func list(_ names: Set<GeneralName>) -> String? {
        names.isEmpty ? nil : names.map(\.description).sorted().joined(separator: ", ")
    }
}
