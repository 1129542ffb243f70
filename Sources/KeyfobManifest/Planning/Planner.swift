package import Foundation
import Keyfob
import KeyfobOpenSSL

/// Compares a manifest with the state of its keychain. Reads and changes nothing.
package struct Planner {
    let manifest: Manifest
    let state: KeychainState
    let now: Date
    private var problems: [ManifestProblem] = []

    /// The plan for a manifest and a state.
    ///
    /// - Throws: `ManifestError` if the manifest describes something that cannot be made.
    package static func plan(
        _ manifest: Manifest, for state: KeychainState, on now: Date = Date()
    ) throws(ManifestError) -> Plan {
        var planner = Planner(manifest: manifest, state: state, now: now)
        let plan = planner.plan()
        guard planner.problems.isEmpty else { throw ManifestError(planner.problems) }
        return plan
    }

    private init(manifest: Manifest, state: KeychainState, now: Date) {
        (self.manifest, self.state, self.now) = (manifest, state, now)
    }

    private mutating func plan() -> Plan {
        var plan = Plan()
        if !state.exists {
            if manifest.token == nil, !manifest.isUnattended, manifest.pinSource == nil {
                report(
                    "keychain \"\(manifest.keychain)\" does not exist, and nothing says how its PIN is kept",
                    at: manifest.position, hint: "unattended: true, or pinSource: SOURCE")
            }
            if manifest.token == nil, manifest.pinSource != nil, manifest.recoveryFile == nil {
                report(
                    "keychain \"\(manifest.keychain)\" does not exist, and nothing says where its recovery code goes",
                    at: manifest.position, hint: "recoveryFile: PATH")
            }
            plan.changes.append(
                Change(
                    .keychain, manifest.keychain, at: manifest.position, .create,
                    note: manifest.token.map { "on token \"\($0)\"" } ?? "on a new software token", .createKeychain))
        }
        let secrets = manifest.secrets.map(change(of:))
        let identities = inOrderOfIssuers.map { change(of: $0) }
        plan.changes += secrets
        plan.changes += manifest.keys.map { change(of: $0) }
        plan.changes += manifest.certificates.map(change(of:))
        plan.changes += identities
        plan.changes += manifest.trust.map { trust in change(of: trust, identities) }
        if manifest.prunes { plan.changes += removals }
        plan.changes += files(secrets, identities)
        // The order of the changes is that of the programs.
        let described = manifest.secrets.flatMap(\.hooks) + manifest.identities.flatMap(\.hooks)
        plan.dueHooks = plan.changes.filter { $0.action != .none }.flatMap(\.hooks)
            + described.filter { state.record.waiting.contains($0.owner) }
        return plan
    }

    private mutating func report(_ message: String, at position: Position, hint: String? = nil) {
        problems.append(ManifestProblem(message, at: position, hint: hint))
    }

    // MARK: Secrets

    private func change(of entry: SecretEntry) -> Change {
        guard let stored = state.passwords[entry.key] else {
            let note =
                switch entry.value {
                case .generated(let length, let alphabet): "generate \(length) characters (\(alphabet.rawValue))"
                case .from(let source): "from \(Self.shown(source))"
                }
            return Change(
                .secret, entry.name, at: entry.position, .create, note: note, .addSecret(entry), hooks: entry.hooks)
        }
        var differences: [Change.Difference] = []
        for (name, member, wanted) in [
            (AttributeName.label, "label", entry.label), (.comment, "comment", entry.comment),
        ] {
            let found = stored.item.attributes[name]?.text
            if let wanted, wanted != found ?? "" {
                differences.append(.init(member, from: found, to: wanted))
            }
        }
        var replacesValue = false
        if stored.isSame == false {
            differences.append(.init("value"))
            replacesValue = true
        } else if let lifetime = entry.lifetime, let age = age(of: stored.item), age >= lifetime {
            differences.append(.init("age", from: Self.days(age), to: "at most \(Self.days(lifetime))"))
            replacesValue = true
        }
        guard !differences.isEmpty else { return Change(.secret, entry.name, at: entry.position, .none) }
        return Change(
            .secret, entry.name, at: entry.position, .update, differences,
            .updateSecret(entry, stored.item, replacesValue: replacesValue), hooks: entry.hooks)
    }

    /// The seconds since the value was stored. A change of another attribute counts as well.
    private func age(of item: Item) -> Double? {
        let date = item.attributes[.modificationDate]?.date ?? item.attributes[.creationDate]?.date
        return date.map { now.timeIntervalSince($0) }
    }

    /// The source without the text of a command, in which people write secrets.
    private static func shown(_ source: PINSource) -> String {
        let text = source.description
        return text.hasPrefix("cmd:") ? "a command" : text
    }

    private static func days(_ seconds: Double) -> String { Plural.duration(seconds: seconds) }

    // MARK: Keys and certificates

    private mutating func change(of entry: KeyEntry) -> Change {
        let wanted = entry.specification.description
        let stored = state.keys[entry.name] ?? []
        guard let former = stored.first(where: { !$0.isAs(entry) }) else {
            guard stored.isEmpty else { return Change(.key, entry.name, at: entry.position, .none) }
            return Change(
                .key, entry.name, at: entry.position, .create, note: wanted, .generateKey(entry, replacing: []))
        }
        // A rotation that was interrupted has made the new key already. Without rotate, the other key is the user's.
        let isMade = stored.contains { $0.isAs(entry) }
        guard !isMade || entry.rotates else { return Change(.key, entry.name, at: entry.position, .none) }
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
        }
        return Change(
            .key, entry.name, at: entry.position, .update, differences,
            isMade
                ? .removeKeys(stored.filter { !$0.isAs(entry) }.map(\.item))
                : .generateKey(entry, replacing: stored.map(\.item)))
    }

    private func change(of entry: CertificateEntry) -> Change {
        // A certificate that is there under another name stays as it is; the name is only for this manifest.
        guard !state.certificates.contains(where: { $0.certificate == entry.certificate }) else {
            return Change(.certificate, entry.name, at: entry.position, .none)
        }
        return Change(
            .certificate, entry.name, at: entry.position, .create,
            note: entry.certificate.subject.description, .addCertificate(entry))
    }

    // MARK: Identities

    /// The identities, authorities before those that they issue.
    private var inOrderOfIssuers: [IdentityEntry] {
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

    private mutating func change(of entry: IdentityEntry) -> Change {
        requireIssuer(entry)
        guard let stored = state.identities[entry.name] else {
            guard let issuer = entry.issuer else {
                report("identity \"\(entry.name)\" does not exist, and has no issuer", at: entry.position)
                return Change(.identity, entry.name, at: entry.position, .create)
            }
            return Change(
                .identity, entry.name, at: entry.position, .create, note: "\(entry.key), issuer \(issuer)",
                .createIdentity(entry), hooks: entry.hooks)
        }
        var differences: [Change.Difference]
        do { differences = try IdentityDrift(entry, stored, on: now).differences } catch {
            report("the names of identity \"\(entry.name)\" cannot be in a certificate", at: entry.position)
            differences = []
        }
        guard !differences.isEmpty else { return Change(.identity, entry.name, at: entry.position, .none) }
        if entry.issuer == nil {
            report("identity \"\(entry.name)\" needs another certificate, and has no issuer", at: entry.position)
        }
        let isOtherKey = differences.contains { $0.member == "key" }
        let key: RenewalKey =
            isOtherKey
            ? .new(entry.key) : entry.renewsKey ?? stored.policy?.renewsKey ?? false ? .new(nil) : .same
        return Change(
            .identity, entry.name, at: entry.position, .update, differences,
            note: key == .same ? "new certificate, same key" : "new certificate, new key",
            .renewIdentity(entry, stored.item, key), hooks: entry.hooks)
    }

    private mutating func requireIssuer(_ entry: IdentityEntry) {
        guard case .authority(let name, nil) = entry.issuer, let position = entry.issuerName?.position else { return }
        if let other = manifest.identities.first(where: { $0.name == name }) {
            guard !other.contents.isAuthority, other.issuer != nil || state.identities[name] == nil else { return }
            return report("\"\(name)\" is not an authority", at: position, hint: "authority: true")
        }
        guard state.identities[name] == nil else { return }
        let known = manifest.identities.filter(\.contents.isAuthority).map(\.name) + ["self"]
        report(
            "there is no issuer \"\(name)\"", at: position,
            hint: EditDistance.nearest(to: name, among: known).map { "did you mean \"\($0)\"?" })
    }

    // MARK: Trust

    private mutating func change(of entry: TrustEntry, _ identities: [Change]) -> Change {
        let usages = entry.usages.map(\.rawValue).joined(separator: ", ")
        let identity = identities.first { $0.name == entry.name }
        let stored =
            entry.certificate.map { own in state.certificates.first { $0.certificate == own } }
            ?? state.certificate(named: entry.name)
        guard entry.certificate != nil || identity != nil || stored != nil else {
            report("there is no certificate \"\(entry.name)\"", at: entry.position)
            return Change(.trust, entry.name, at: entry.position, .create)
        }
        let hasNewCertificate = identity.map { $0.action != .none } ?? false
        let found = hasNewCertificate ? [] : stored?.usages ?? []
        guard Set(found) != Set(entry.usages) else { return Change(.trust, entry.name, at: entry.position, .none) }
        let shown = found.map(\.rawValue).joined(separator: ", ")
        return Change(
            .trust, entry.name, at: entry.position, found.isEmpty ? .create : .update,
            found.isEmpty ? [] : [.init("for", from: shown, to: usages)], note: "for \(usages)", .trust(entry))
    }

    // MARK: Removals

    private var removals: [Change] {
        let secrets = Set(manifest.secrets.map(\.key))
        var found = state.passwords.filter { !secrets.contains($0.key) && state.record.hasMade($0.value.item) }
            .map { Change(.secret, $0.value.item.title, at: nil, .delete, [], .removeSecret($0.value.item)) }
        let trusted = Set(manifest.trust.map(\.name))
        let described = Set(manifest.certificates.map(\.certificate.der))
        for stored in state.certificates {
            let fingerprint = stored.certificate.sha256Fingerprint
            let name = stored.name ?? "sha256:" + fingerprint.hexadecimal.prefix(16)
            let isDescribed = described.contains(stored.certificate.der)
            let entryName = manifest.certificates.first { $0.certificate == stored.certificate }?.name
            if state.record.trust.contains(fingerprint), !stored.usages.isEmpty, !trusted.contains(name),
                !(entryName.map { trusted.contains($0) } ?? false)
            {
                found.append(Change(.trust, name, at: nil, .delete, [], .distrust(stored.certificate)))
            }
            // The certificate of an identity belongs to its key, which stays.
            if state.record.certificates.contains(fingerprint), !isDescribed, state.identities[name] == nil {
                found.append(Change(.certificate, name, at: nil, .delete, [], .removeCertificate(stored.item)))
            }
        }
        return found.sorted { ($0.kind.rawValue, $0.name) < ($1.kind.rawValue, $1.name) }
    }

    // MARK: Files

    private func files(_ secrets: [Change], _ identities: [Change]) -> [Change] {
        let changed = Dictionary(identities.filter { $0.action != .none }.map { ($0.name, $0) }) { first, _ in first }
        var files: [Change] = []
        for entry in inOrderOfIssuers {
            for output in entry.outputs {
                let hasNewContent =
                    switch output.content {
                    case .chain: changed[entry.name] != nil || issuers(of: entry).contains { changed[$0] != nil }
                    case .keyURI: changed[entry.name]?.makesKey ?? false
                    case .certificate, .value: changed[entry.name] != nil
                    }
                files.append(
                    change(
                        of: output, hasNewContent: hasNewContent, hooks: entry.hooks,
                        .writeIdentity(output, identity: entry.name)))
            }
        }
        for (entry, change) in zip(manifest.secrets, secrets) {
            let hasNewValue =
                change.action == .create || change.differences.contains { ["value", "age"].contains($0.member) }
            for output in entry.outputs {
                files.append(
                    self.change(
                        of: output, hasNewContent: hasNewValue, hooks: entry.hooks, .writeSecret(output, entry)))
            }
        }
        return files
    }

    /// The names of the authorities whose certificates are in the chain of an identity: all but the root.
    private func issuers(of entry: IdentityEntry) -> [String] {
        var (names, current): ([String], IdentityEntry) = ([], entry)
        while case .authority(let name, nil) = current.issuer, !names.contains(name),
            let next = manifest.identities.first(where: { $0.name == name }), next.issuer != .itself
        {
            names.append(name)
            current = next
        }
        return names
    }

    private func change(
        of output: OutputEntry, hasNewContent: Bool, hooks: [HookEntry], _ operation: Change.Operation
    ) -> Change {
        guard case .present(var differing) = state.files[output.path] ?? .missing else {
            return Change(.file, output.path, at: output.position, .create, [], operation, hooks: hooks)
        }
        if hasNewContent, !differing.contains("content") { differing.insert("content", at: 0) }
        return Change(
            .file, output.path, at: output.position, differing.isEmpty ? .none : .update,
            differing.map { .init($0) }, operation, hooks: hooks)
    }
}

extension Item {
    /// The name that lists show.
    var title: String {
        let name = attributes[itemClass == .internetPassword ? .label : .service]?.text ?? ""
        return name.isEmpty ? attributes[.label]?.text ?? "" : name
    }
}
