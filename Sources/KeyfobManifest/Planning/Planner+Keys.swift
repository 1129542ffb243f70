import Foundation
import Keyfob
import KeyfobOpenSSL

/// Keys and identities.
extension Planner {
    mutating func change(of entry: KeyEntry) -> Change {
        let wanted = entry.specification.description
        let stored = state.keys(of: entry)
        guard let first = stored.first(where: { $0.isAs(entry) }) ?? stored.first else {
            return Change(
                .key, entry.name, at: entry.position, .create, note: wanted, .generateKey(entry, replacing: []))
        }
        let others = stored.filter { !$0.isAs(entry) }
        let adjustment = Adjustment(first.item.item, name: entry.name, isProtected: entry.isProtected)
        // A rotation that was interrupted has made the new key already. Without rotate, the other key is the user's.
        let isMade = others.count < stored.count
        let isKept = others.isEmpty || isMade && !entry.rotates
        // The key of an identity satisfies an entry that it fits, and is changed with the identity only.
        guard isKept && adjustment.isEmpty || !stored.contains(where: \.hasCertificate) else {
            report(
                "key \"\(entry.name)\" is that of an identity, so it is not changed", at: entry.position,
                hint: "describe it under identities, or choose another name")
            return Change(.key, entry.name, at: entry.position, .none)
        }
        guard let former = others.first, !isKept else {
            return Change(
                .key, entry.name, at: entry.position, adjustment.isEmpty ? .none : .update, adjustment.differences,
                adjustment: adjustment)
        }
        var differences: [Change.Difference] = []
        if former.kind != wanted { differences.append(.init("type", from: former.kind, to: wanted)) }
        if former.item.isExtractable != entry.isExtractable {
            differences.append(
                .init("extractable", from: String(former.item.isExtractable), to: String(entry.isExtractable)))
        }
        if !entry.rotates, let first = differences.first {
            let (from, to) = (first.from ?? "", first.to ?? "")
            report(
                "key \"\(entry.name)\" cannot be changed: \(first.member) is \(from), not \(to)", at: entry.position,
                hint: "rotate: true destroys it and makes another")
        } else if others.contains(where: \.item.isProtected), !unprotects {
            report(
                "key \"\(entry.name)\" is protected, so it is not destroyed", at: entry.position,
                hint: "protect: false ends the protection, in an apply of its own")
        }
        let items = others.map(\.item)
        guard !isMade else {
            return Change(
                .key, entry.name, at: entry.position, .update, adjustment.differences + differences,
                .removeKeys(items), adjustment: adjustment)
        }
        return Change(
            .key, entry.name, at: entry.position, .update, differences, .generateKey(entry, replacing: items))
    }

    // MARK: Identities

    /// The identities, authorities before those that they issue.
    var inOrderOfIssuers: [IdentityEntry] {
        let named = Dictionary(manifest.identities.map { ($0.name, $0) }) { first, _ in first }
        func depth(_ entry: IdentityEntry) -> Int {
            var (depth, current) = (0, entry)
            // Limited, because two authorities can name each other.
            while depth < named.count, case .authority(let name, nil) = current.issuer, let next = named[name] {
                (depth, current) = (depth + 1, next)
            }
            return depth
        }
        return manifest.identities.enumerated().sorted {
            (depth($0.element), $0.offset) < (depth($1.element), $1.offset)
        }.map(\.element)
    }

    mutating func change(of entry: IdentityEntry) -> Change {
        requireIssuer(entry)
        guard let stored = state.identity(of: entry) else { return creation(of: entry) }
        var adjustment = Adjustment(stored.item.item, name: entry.name, isProtected: entry.isProtected)
        let drift = IdentityDrift(entry, stored, formerNames: formerNames, on: now)
        adjustment.policy = drift.policy
        let kept = adjustment.differences + drift.policyDifferences
        let differences: [Change.Difference]
        do { differences = try imported(entry, stored) ?? drift.differences } catch {
            report("the names of identity \"\(entry.name)\" cannot be in a certificate", at: entry.position)
            return Change(.identity, entry.name, at: entry.position, .none)
        }
        guard !differences.isEmpty else {
            return Change(
                .identity, entry.name, at: entry.position, kept.isEmpty ? .none : .update, kept, adjustment: adjustment)
        }
        if let files = state.imports[entry.name] {
            return Change(
                .identity, entry.name, at: entry.position, .update, kept + differences, note: "from files",
                .importIdentity(entry, files), hooks: entry.hooks, adjustment: adjustment)
        }
        if entry.issuer == nil {
            report("identity \"\(entry.name)\" needs another certificate, and has no issuer", at: entry.position)
        }
        let isOtherKey = differences.contains { $0.member == "key" }
        let key: RenewalKey =
            isOtherKey
            ? .new(entry.key) : entry.renewsKey ?? stored.policy?.renewsKey ?? false ? .new(nil) : .same
        return Change(
            .identity, entry.name, at: entry.position, .update, kept + differences,
            note: key == .same ? "new certificate, same key" : "new certificate, new key",
            .renewIdentity(entry, stored.item, key), hooks: entry.hooks, adjustment: adjustment)
    }

    private mutating func creation(of entry: IdentityEntry) -> Change {
        if let source = entry.source {
            guard let files = state.imports[entry.name] else {
                report(
                    "identity \"\(entry.name)\" does not exist, and a file to import is missing", at: source.position)
                return Change(.identity, entry.name, at: entry.position, .create)
            }
            return Change(
                .identity, entry.name, at: entry.position, .create, note: "from files",
                .importIdentity(entry, files), hooks: entry.hooks)
        }
        guard let issuer = entry.issuer else {
            report("identity \"\(entry.name)\" does not exist, and has no issuer", at: entry.position)
            return Change(.identity, entry.name, at: entry.position, .create)
        }
        return Change(
            .identity, entry.name, at: entry.position, .create, note: "\(entry.key), issuer \(issuer)",
            .createIdentity(entry), hooks: entry.hooks)
    }

    /// The differences of an identity from its files; `nil` for an identity that does not come from files.
    ///
    /// The files may be removed after the import, so a missing one counts as unchanged.
    private func imported(_ entry: IdentityEntry, _ stored: StoredIdentity) -> [Change.Difference]? {
        guard entry.source != nil else { return nil }
        guard let files = state.imports[entry.name], files.certificate != stored.certificate else { return [] }
        func shown(_ certificate: Certificate) -> String {
            "sha256:" + certificate.sha256Fingerprint.hexadecimal.prefix(16)
        }
        return [.init("certificate", from: shown(stored.certificate), to: shown(files.certificate))]
    }

    private mutating func requireIssuer(_ entry: IdentityEntry) {
        guard case .authority(let name, nil) = entry.issuer, let position = entry.issuerName?.position else { return }
        if let other = manifest.identities.first(where: { $0.name == name }) {
            guard !other.contents.isAuthority, other.source == nil,
                other.issuer != nil || state.identity(named: name) == nil
            else { return }
            return report("\"\(name)\" is not an authority", at: position, hint: "authority: true")
        }
        guard state.identity(named: name) == nil else { return }
        let known = manifest.identities.filter(\.contents.isAuthority).map(\.name) + ["self"]
        report(
            "there is no issuer \"\(name)\"", at: position,
            hint: EditDistance.nearest(to: name, among: known).map { "did you mean \"\($0)\"?" })
    }
}
