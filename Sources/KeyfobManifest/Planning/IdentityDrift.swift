import Foundation
import Keyfob
import KeyfobOpenSSL

/// The members in which a stored identity differs from its description.
struct IdentityDrift {
    private let entry: IdentityEntry
    private let stored: StoredIdentity
    private let now: Date

    init(_ entry: IdentityEntry, _ stored: StoredIdentity, on now: Date) {
        (self.entry, self.stored, self.now) = (entry, stored, now)
    }

    /// The differences; a new certificate ends all of them.
    ///
    /// - Throws: `CryptoError` for a name that cannot be encoded.
    var differences: [Change.Difference] {
        get throws {
            var found: [Change.Difference] = []
            let certificate = stored.certificate
            let isLocal = stored.policy?.issuer.isLocal ?? true
            if let wanted = entry.issuer, wanted != stored.policy?.issuer {
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
            let used = try stored.item.lifetimeUsed(on: now)
            if entry.issuer != nil, used >= RenewalPolicy.dueAfter {
                found.append(
                    .init(
                        "validity", from: used >= 1 ? "expired" : "\(Int(used * 100))% used",
                        to: "renewal after \(Int(RenewalPolicy.dueAfter * 100))%"))
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
