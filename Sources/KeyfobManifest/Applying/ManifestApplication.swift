import Foundation
package import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// Carries out a plan.
///
/// No step is recorded: after a kill at any moment, the next plan is made from what is there. Each step is whole or
/// absent, and the programs to run are recorded before the changes that they follow.
package struct ManifestApplication: Sendable {
    private let plan: Plan
    private let keychain: Keychain
    private let sources: SecretSources
    private let tools: Tools

    /// What the caller supplies.
    package struct Tools: Sendable {
        /// Returns an issuer, ready to issue.
        let issuer: @Sendable (IssuerDescription) throws -> any CertificateIssuer
        /// Runs a program and returns its exit status; `nil` if it was killed.
        let run: @Sendable (HookEntry) throws -> Int32?
        /// Makes a program get its passwords from Keyfob.
        let install: @Sendable (HelperEntry) throws -> Void
        /// Called after each change, on any thread.
        let report: @Sendable (Change) -> Void
        /// Called with the steps of an issuer, on any thread.
        let step: @Sendable (String) -> Void

        package init(
            issuer: @escaping @Sendable (IssuerDescription) throws -> any CertificateIssuer,
            run: @escaping @Sendable (HookEntry) throws -> Int32?,
            install: @escaping @Sendable (HelperEntry) throws -> Void,
            report: @escaping @Sendable (Change) -> Void, step: @escaping @Sendable (String) -> Void
        ) {
            self.issuer = issuer
            self.run = run
            self.install = install
            self.report = report
            self.step = step
        }
    }

    package init(_ plan: Plan, to keychain: Keychain, _ sources: SecretSources, _ tools: Tools) {
        (self.plan, self.keychain, self.sources, self.tools) = (plan, keychain, sources, tools)
    }

    /// Makes the changes in the order of the plan, independent ones at once, and runs the programs at the end.
    ///
    /// After an error, what was done stays, and the same call with a new plan continues.
    ///
    /// - Throws: The error of the first change that failed; `KeychainError` of a program that failed, after all others
    ///   have run.
    package func run() throws {
        try readSources()
        try requireRoot()
        var record = try ManifestRecord(of: keychain)
        try announce(&record)
        for stage in stages { try perform(stage, &record) }
        try runHooks(&record)
    }

    // MARK: Before the changes

    /// Reads the values to store, so that a missing one stops the work before it begins.
    private func readSources() throws {
        for change in plan.changes {
            switch change.operation {
            case .addSecret(let entry), .updateSecret(let entry, _, replacesValue: true):
                if let source = entry.source { _ = try sources.value(of: entry, from: source) }
            default: break
            }
        }
    }

    /// Refuses other users what only root can do, before the work begins.
    private func requireRoot() throws {
        for change in plan.changes {
            if case .trustForSystem = change.operation, change.action != .none {
                do { try SystemTrustStore.requireRoot(name: change.name) } catch {
                    throw Self.error(error, of: change, in: keychain)
                }
            }
        }
    }

    private func announce(_ record: inout ManifestRecord) throws {
        let before = record
        // Programs of other manifests of the keychain may wait as well.
        record.waiting.formUnion(plan.dueHooks.map(\.owner))
        record.waiting.subtract(plan.ownersWithoutHooks)
        if record != before { try record.write(for: keychain) }
    }

    // MARK: Changes

    /// The changes in groups; those of a group are independent of each other.
    private var stages: [[Change]] {
        var stages: [[Change]] = []
        var issued: Set<String> = []
        for change in plan.changes where change.action != .none {
            guard let last = stages.last, let kind = last.first?.kind, Self.isSame(kind, change.kind) else {
                stages.append([change])
                issued = [change.name]
                continue
            }
            // An identity waits for the authority that issues it.
            if let authority = change.authority, issued.contains(authority) {
                stages.append([change])
                issued = [change.name]
            } else {
                stages[stages.count - 1].append(change)
                issued.insert(change.name)
            }
        }
        return stages
    }

    /// Whether changes of two kinds can be made at once.
    private static func isSame(_ one: Change.Kind, _ other: Change.Kind) -> Bool {
        let independent: Set<Change.Kind> = [.key, .certificate]
        return one == other || independent.contains(one) && independent.contains(other)
    }

    /// Makes changes and records those that were made, also if another one fails.
    private func perform(_ stage: [Change], _ record: inout ManifestRecord) throws {
        let made = Lock<[Change]>([])
        let result = Result {
            try perform(stage) { change in
                made.withLock { $0.append(change) }
                tools.report(change)
            }
        }
        do { try recordOwnership(of: made.withLock { $0 }, &record) } catch {
            // The first error is that of a change.
            try result.get()
            throw error
        }
        try result.get()
    }

    /// Makes changes that are independent of each other. `done` is called after each, on any thread.
    private func perform(_ stage: [Change], _ done: @escaping @Sendable (Change) -> Void) throws {
        let added = stage.compactMap { change -> (Change, SecretEntry)? in
            if case .addSecret(let entry) = change.operation { (change, entry) } else { nil }
        }
        try add(added, done)
        let rest = stage.filter { if case .addSecret = $0.operation { false } else { true } }
        let written = stage.first?.kind == .file ? try WrittenIdentities(keychain) : nil
        try Parallel.forEach(rest) { change in
            do { try perform(change, written) } catch { throw Self.error(error, of: change, in: keychain) }
            done(change)
        }
    }

    /// Adds all new secrets in one transaction for each class.
    private func add(_ added: [(change: Change, entry: SecretEntry)], _ done: (Change) -> Void) throws {
        var generic: [(GenericPassword, SecretBytes?)] = []
        var internet: [(InternetPassword, SecretBytes?)] = []
        for (_, entry) in added {
            let value = try value(of: entry)
            if entry.key.isInternet {
                internet.append((InternetPassword(item: entry.item), value))
            } else {
                generic.append((GenericPassword(item: entry.item), value))
            }
        }
        if !generic.isEmpty { try keychain.add(generic) }
        for (change, entry) in added where !entry.key.isInternet { done(change) }
        if !internet.isEmpty { try keychain.add(internet) }
        for (change, entry) in added where entry.key.isInternet { done(change) }
    }

    private func value(of entry: SecretEntry) throws -> SecretBytes {
        switch entry.value {
        case .generated(let length, let alphabet): try alphabet.text(length: length)
        case .from(let source): try sources.value(of: entry, from: source)
        }
    }

    private func perform(_ change: Change, _ written: WrittenIdentities?) throws {
        if let adjustment = change.adjustment { try adjust(adjustment) }
        switch change.operation {
        case .nothing, .createKeychain, .addSecret: break
        case .updateSecret(let entry, let item, let replacesValue):
            try update(item, to: entry, secret: replacesValue ? value(of: entry) : nil)
        case .removeSecret(let item): try remove(item)
        case .generateKey(let entry, let replaced): try generate(entry, replacing: replaced)
        case .removeKeys(let keys): for key in keys { try remove(key.item) }
        case .createIdentity(let entry):
            guard let issuer = entry.issuer else { break }
            let made = try keychain.identities.create(
                entry.name, entry.specification(), issuer: tools.issuer(issuer), report: tools.step)
            if entry.isProtected { try keychain.setProtection(of: made.identity.item, true) }
        case .renewIdentity(let entry, let identity, let key):
            let isAdjusted = !(change.adjustment?.isEmpty ?? true)
            try renew(isAdjusted ? keychain.only(.identity(label: entry.name)) : identity, entry, key)
        case .importIdentity(let entry, let files): try add(files, as: entry)
        case .addCertificate(let entry):
            let added = try keychain.add(CertificateItem(entry.certificate, label: entry.name))
            if entry.isProtected { try keychain.setProtection(of: added.item, true) }
        case .removeCertificate(let item): try remove(item.item)
        case .trust(let entry): try keychain.trust.add(certificate(of: entry), for: entry.usages)
        case .trustForSystem(let entry):
            try SystemTrustStore.add(certificate(of: entry)) { command in
                try tools.run(HookEntry(arguments: [command]))
            }
        case .distrust(let certificate): try keychain.trust.remove(certificate)
        case .writeSecret(let output, let entry):
            guard let item = try passwords(entry).first, let value = try keychain.secret(of: item) else {
                throw KeychainError(.itemNotFound, "secret \"\(entry.name)\" was removed meanwhile.")
            }
            try write(value, to: output)
        case .writeIdentity(let output, let name):
            guard let written, let identity = written.identities[Data(name.utf8)] else {
                throw KeychainError(.itemNotFound, "identity \"\(name)\" was removed meanwhile.")
            }
            try write(written.contents.bytes(output.content, of: identity), to: output)
        case .installHelper(let entry): try tools.install(entry)
        }
    }

    private func update(_ item: Item, to entry: SecretEntry, secret: SecretBytes?) throws {
        guard let reference = item.reference else { return }
        var changes = ItemAttributes()
        if PasswordKey(item) != entry.key {
            let place: AttributeName = entry.key.isInternet ? .server : .service
            changes[place] = .string(entry.key.place)
            // A label that only repeats the name follows it.
            if item.attributes[.label]?.text == item.attributes[place]?.text { changes[.label] = .string(entry.name) }
        }
        if let label = entry.label { changes[.label] = .string(label) }
        if let comment = entry.comment { changes[.comment] = .string(comment) }
        if entry.isProtected { changes[.isProtectedItem] = .number(1) }
        try keychain.update(
            Criteria(reference), changes, removing: entry.isProtected ? [] : [.isProtectedItem], secret: secret)
    }

    private func generate(_ entry: KeyEntry, replacing replaced: [KeyItem]) throws {
        // The new key first: a kill leaves both, and the next apply destroys the former one.
        let key = try keychain.keys.generate(
            entry.specification, label: entry.name, isExtractable: entry.isExtractable, isLabelUnique: replaced.isEmpty)
        if entry.isProtected { try keychain.setProtection(of: key.item, true) }
        for key in replaced { try remove(key.item) }
    }

    /// Removes an item. The plan has a protected one only if the protection is to end.
    private func remove(_ item: Item) throws {
        guard let reference = item.reference else { return }
        if item.attributes.isProtected { try keychain.setProtection(of: item, false) }
        try keychain.delete(Criteria(reference))
    }

    private func adjust(_ adjustment: Adjustment) throws {
        if let isProtected = adjustment.isProtected { try keychain.setProtection(of: adjustment.item, isProtected) }
        if let policy = adjustment.policy {
            try keychain.identities.setRenewalPolicy(policy, of: Identity(item: adjustment.item))
        }
        guard let name = adjustment.name else { return }
        guard adjustment.item.itemClass == .identity else {
            guard let reference = adjustment.item.reference else { return }
            try keychain.update(Criteria(reference), [.label: .string(name)])
            return
        }
        try keychain.identities.rename(Identity(item: adjustment.item), to: name)
    }

    private func add(_ files: ImportedIdentity, as entry: IdentityEntry) throws {
        let made = try keychain.identities.importKeyPair(
            key: files.key, certificate: files.certificate, chain: files.chain, label: entry.name,
            isExtractable: entry.source?.isExtractable ?? false, isReplacing: true)
        if entry.isProtected != made.identity.isProtected {
            try keychain.setProtection(of: made.identity.item, entry.isProtected)
        }
    }

    private func renew(_ identity: Identity, _ entry: IdentityEntry, _ key: RenewalKey) throws {
        guard let issuer = entry.issuer else { return }
        var algorithm = try identity.certificate().publicKey.algorithm
        if case .new(.some(let specification)) = key {
            algorithm = IdentityEntry.algorithm(of: specification)
        }
        let contents: RenewedContents =
            try entry.contents.isEmpty
            ? .changed(CertificateChanges())
            : .exactly(subject: entry.contents.name(), extensions: entry.extensions(for: algorithm))
        try keychain.identities.renew(
            identity, asking: contents, key: key, lifetime: entry.lifetime, time: entry.renewalTime,
            issuer: tools.issuer(issuer), report: tools.step)
    }

    private func certificate(of entry: TrustEntry) throws -> Certificate {
        try entry.certificate ?? keychain.only(.certificate(label: entry.name)).certificate()
    }

    private func passwords(_ entry: SecretEntry) throws -> [Item] {
        let (itemClass, name): (ItemClass, AttributeName) =
            entry.key.isInternet
            ? (.internetPassword, .server) : (.genericPassword, .service)
        var criteria = Criteria(itemClass, [name: .string(entry.key.place)])
        criteria.includesSynchronizable = true
        return try keychain.findItems(criteria).filter { PasswordKey($0) == entry.key }
    }

    private func write(_ bytes: SecretBytes, to output: OutputEntry) throws {
        // Readers of an unchanged file see no new one.
        guard try output.state(comparedWith: bytes) != .present(differing: []) else { return }
        let (owner, group) = try output.ownership()
        // A killed apply may have left the content, which may be a secret, under a temporary name.
        try PrivateFile.removeUnfinished(URL(fileURLWithPath: output.path))
        try OpenFile.replace(output.path, with: bytes, mode: output.mode, owner: owner, group: group)
    }

    /// The error of a change, with the place of its entry.
    private static func error(_ error: any Error, of change: Change, in keychain: Keychain) -> any Error {
        let known = error as? KeychainError ?? KeychainError(.failed, String(describing: error), cause: error)
        let place = change.position.map { "\($0): " } ?? ""
        return known.with(
            message: "\(place)\(change.kind.rawValue) \"\(change.name)\": \(known.message)",
            details: known.details.merging(["keychain": keychain.name]) { own, _ in own })
    }

    // MARK: After the changes

    /// Records what changes have made, after they are made: a kill before leads to an item too many that stays.
    private func recordOwnership(of changes: [Change], _ record: inout ManifestRecord) throws {
        let before = record
        for change in changes {
            switch change.operation {
            case .addSecret(let entry):
                if let identity = try passwords(entry).first?.reference?.identity { record.secrets.insert(identity) }
            case .removeSecret(let item):
                if let identity = item.reference?.identity { record.secrets.remove(identity) }
            case .addCertificate(let entry): record.certificates.insert(entry.certificate.sha256Fingerprint)
            case .removeCertificate(let item):
                if let certificate = try? item.certificate() {
                    record.certificates.remove(certificate.sha256Fingerprint)
                }
            case .distrust(let certificate): record.trust.remove(certificate.sha256Fingerprint)
            case .trust(let entry) where change.action == .create:
                // A certificate that cannot be found now was removed meanwhile.
                if let certificate = try? certificate(of: entry) {
                    record.trust.insert(certificate.sha256Fingerprint)
                }
            default: break
            }
        }
        if record != before { try record.write(for: keychain) }
    }

    private func runHooks(_ record: inout ManifestRecord) throws {
        var failure: KeychainError?
        var left = plan.dueHooks
        for hook in plan.hooks {
            do {
                let status = try tools.run(hook)
                guard status != 0 else {
                    left.removeAll { $0.runsSame(as: hook) }
                    record.waiting.subtract(Set(plan.dueHooks.map(\.owner)).subtracting(left.map(\.owner)))
                    try record.write(for: keychain)
                    continue
                }
                let name = hook.arguments.first ?? ""
                failure =
                    failure
                    ?? KeychainError(
                        status == nil ? .timedOut : .failed,
                        "everything was changed, but \(name) "
                            + (status.map { "ended with status \($0)." }
                                ?? "did not end within \(Plural.duration(seconds: hook.timeout)) and was killed."),
                        hint: "The next apply runs it again.",
                        details: ["command": hook.arguments.joined(separator: " ")])
            } catch let error as KeychainError { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}

/// The identities that files are written about, read once for all files.
private struct WrittenIdentities: Sendable {
    let contents: OutputContents
    /// The identities by the bytes of their names.
    let identities: [Data: Identity]

    init(_ keychain: Keychain) throws {
        contents = try OutputContents(of: keychain)
        let named = try keychain.find(.identities).compactMap { identity in
            identity.label.map { (Data($0.utf8), identity) }
        }
        identities = Dictionary(named) { first, _ in first }
    }
}

extension Change {
    /// The authority in this keychain that issues the identity.
    fileprivate var authority: String? {
        switch operation {
        case .createIdentity(let entry), .renewIdentity(let entry, _, _):
            if case .authority(let name, nil) = entry.issuer { name } else { nil }
        default: nil
        }
    }
}
