package import Foundation
import Keyfob
import KeyfobOpenSSL

/// Compares a manifest with the state of its keychain. Reads and changes nothing.
package struct Planner {
    let manifest: Manifest
    let state: KeychainState
    let now: Date
    /// Whether protected items may be removed.
    let unprotects: Bool
    /// The former names of identities, by the present ones.
    let formerNames: [String: String]
    private var problems: [ManifestProblem] = []

    /// The plan for a manifest and a state.
    ///
    /// - Parameter unprotects: Whether protected items may be removed.
    /// - Throws: `ManifestError` if the manifest describes something that cannot be made.
    package static func plan(
        _ manifest: Manifest, for state: KeychainState, on now: Date = Date(), unprotects: Bool = false
    ) throws(ManifestError) -> Plan {
        var planner = Planner(manifest: manifest, state: state, now: now, unprotects: unprotects)
        let plan = planner.plan()
        guard planner.problems.isEmpty else { throw ManifestError(planner.problems) }
        return plan
    }

    private init(manifest: Manifest, state: KeychainState, now: Date, unprotects: Bool) {
        (self.manifest, self.state, self.now, self.unprotects) = (manifest, state, now, unprotects)
        let renamed = manifest.identities.compactMap { entry in entry.formerName.map { (entry.name, $0) } }
        formerNames = Dictionary(renamed) { first, _ in first }
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
        let secrets = manifest.secrets.map { change(of: $0) }
        let identities = inOrderOfIssuers.map { change(of: $0) }
        plan.changes += secrets
        plan.changes += manifest.keys.map { change(of: $0) }
        plan.changes += manifest.certificates.map(change(of:))
        plan.changes += identities
        plan.changes += manifest.trust.map { trust in change(of: trust, identities) }
        if manifest.prunes { plan.changes += removals(besides: identities) }
        plan.changes += files(secrets, identities)
        plan.changes += manifest.helpers.map(change(of:))
        // The order of the changes is that of the programs.
        let described = manifest.secrets.flatMap(\.hooks) + manifest.identities.flatMap(\.hooks)
        plan.dueHooks = plan.changes.filter { $0.action != .none }.flatMap(\.hooks)
            + described.filter { state.record.waiting.contains($0.owner) }
        let silent = manifest.secrets.filter(\.hooks.isEmpty).map { HookEntry.owner("secrets", $0.name) }
            + manifest.identities.filter(\.hooks.isEmpty).map { HookEntry.owner("identities", $0.name) }
        // Two secrets of different users may have one name.
        plan.ownersWithoutHooks = Set(silent).subtracting(described.map(\.owner))
        return plan
    }

    mutating func report(_ message: String, at position: Position, hint: String? = nil) {
        problems.append(ManifestProblem(message, at: position, hint: hint))
    }

    // MARK: Secrets

    private mutating func change(of entry: SecretEntry) -> Change {
        if state.ambiguousPasswords.contains(state.key(of: entry)) {
            report(
                "several passwords match secret \"\(entry.name)\"", at: entry.position,
                hint: "remove all but one")
        }
        guard let stored = state.password(of: entry) else {
            let note =
                switch entry.value {
                case .generated(let length, let alphabet): "generate \(length) characters (\(alphabet.rawValue))"
                case .from(let source): "from \(Self.shown(source))"
                }
            return Change(
                .secret, entry.name, at: entry.position, .create, note: note, .addSecret(entry), hooks: entry.hooks)
        }
        var differences: [Change.Difference] = []
        if state.passwords[entry.key] == nil {
            differences.append(.init("name", from: stored.item.title, to: entry.name))
        }
        if stored.item.attributes.isProtected != entry.isProtected {
            differences.append(
                .init("protect", from: String(!entry.isProtected), to: String(entry.isProtected)))
        }
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

    // MARK: Certificates

    private func change(of entry: CertificateEntry) -> Change {
        // A certificate that is there under another name stays as it is; the name is only for this manifest.
        guard let stored = state.certificates.first(where: { $0.certificate == entry.certificate }) else {
            return Change(
                .certificate, entry.name, at: entry.position, .create,
                note: entry.certificate.subject.description, .addCertificate(entry))
        }
        // Whether the certificate of an identity is protected is up to the identity.
        let isOfIdentity = state.identities.values.contains { $0.certificate == entry.certificate }
        let adjustment = Adjustment(
            stored.item.item, name: stored.name ?? "",
            isProtected: entry.isProtected || isOfIdentity && stored.item.isProtected)
        return Change(
            .certificate, entry.name, at: entry.position, adjustment.isEmpty ? .none : .update, adjustment.differences,
            adjustment: adjustment)
    }

    // MARK: Trust

    private mutating func change(of entry: TrustEntry, _ identities: [Change]) -> Change {
        let identity = identities.first { $0.name == entry.name }
        let stored = state.certificate(of: entry, manifest.identities)
        guard let certificate = entry.certificate ?? stored?.certificate else {
            if identity == nil { report("there is no certificate \"\(entry.name)\"", at: entry.position) }
            return change(of: entry, found: [])
        }
        guard !(identity?.makesCertificate ?? false) else { return change(of: entry, found: []) }
        guard !entry.isForSystem else {
            return change(of: entry, found: state.systemAnchors.contains(certificate.der) ? [.any] : [])
        }
        return change(of: entry, found: stored?.usages ?? [])
    }

    private func change(of entry: TrustEntry, found: [CertificateUsage]) -> Change {
        guard Set(found) != Set(entry.usages) else { return Change(.trust, entry.name, at: entry.position, .none) }
        guard !entry.isForSystem else {
            return Change(
                .trust, entry.name, at: entry.position, .create, note: "for all programs of the machine",
                .trustForSystem(entry))
        }
        let (shown, usages) = (Self.shown(found), Self.shown(entry.usages))
        return Change(
            .trust, entry.name, at: entry.position, found.isEmpty ? .create : .update,
            found.isEmpty ? [] : [.init("for", from: shown, to: usages)], note: "for \(usages)", .trust(entry))
    }

    private static func shown(_ usages: [CertificateUsage]) -> String {
        usages.map(\.rawValue).joined(separator: ", ")
    }

    // MARK: Removals

    private func removals(besides identities: [Change]) -> [Change] {
        let secrets = Set(manifest.secrets.map { state.key(of: $0) })
        var found = state.passwords.filter { !secrets.contains($0.key) && state.record.hasMade($0.value.item) }
            .map { removal(.secret, $0.value.item.title, $0.value.item, .removeSecret($0.value.item)) }
        // Certificates are compared, and not their names: a renewal gives the name to another certificate.
        let renewed = Set(identities.filter(\.makesCertificate).map(\.name))
        let trusted = Set(
            manifest.trust.filter { !$0.isForSystem && ($0.certificate != nil || !renewed.contains($0.name)) }
                .compactMap { state.certificate(of: $0, manifest.identities)?.certificate.der })
        let described = Set(manifest.certificates.map(\.certificate.der))
        for stored in state.certificates {
            let fingerprint = stored.certificate.sha256Fingerprint
            let name = stored.name ?? "sha256:" + fingerprint.hexadecimal.prefix(16)
            let isDescribed = described.contains(stored.certificate.der)
            let isTrusted = trusted.contains(stored.certificate.der)
            if state.record.trust.contains(fingerprint), !stored.usages.isEmpty, !isTrusted {
                found.append(Change(.trust, name, at: nil, .delete, [], .distrust(stored.certificate)))
            }
            // The certificate of an identity belongs to its key, which stays.
            if state.record.certificates.contains(fingerprint), !isDescribed, state.identity(named: name) == nil {
                found.append(removal(.certificate, name, stored.item.item, .removeCertificate(stored.item)))
            }
        }
        return found.sorted { ($0.kind.rawValue, $0.name) < ($1.kind.rawValue, $1.name) }
    }

    /// The removal of an item, or its staying if it is protected.
    private func removal(_ kind: Change.Kind, _ name: String, _ item: Item, _ operation: Change.Operation) -> Change {
        guard !item.attributes.isProtected || unprotects else {
            return Change(kind, name, at: nil, .none, note: "protected, so it stays")
        }
        return Change(kind, name, at: nil, .delete, [], operation)
    }

    // MARK: Helpers

    private func change(of entry: HelperEntry) -> Change {
        let missing = state.missingOfHelpers[entry] ?? []
        return Change(
            .helper, entry.name, at: entry.position, missing.isEmpty ? .none : .create,
            missing.map { .init($0, to: "keyfob") },
            note: entry.registries.isEmpty ? nil : entry.registries.joined(separator: ", "), .installHelper(entry))
    }

    // MARK: Files

    private func files(_ secrets: [Change], _ identities: [Change]) -> [Change] {
        let changed = Dictionary(identities.filter(\.makesCertificate).map { ($0.name, $0) }) { first, _ in first }
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
