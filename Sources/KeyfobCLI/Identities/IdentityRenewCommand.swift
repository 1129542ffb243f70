import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// `keyfob identity renew`: gets the next certificate under the same name.
struct IdentityRenewCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "renew", "Renew the certificate of an identity.",
        examples: Examples(
            """
            keyfob identity renew --all \\
                  --exec 'keyfob uri web --for nginx --write /etc/nginx/tls &&
                      systemctl reload nginx'
            """,
            "keyfob identity renew api",
            "keyfob identity renew api --new-key --force"),
        discussion: """
            A renewal is due after 66% of the lifetime, or earlier at a time that an ACME server suggests. It is also \
            due if the options state another issuer, lifetime, kind of key, subject, name or usage, or --new-key for \
            the first time: --dns, --ip and the others replace all names of their kind. The issuer is the stored one, \
            unless another is given. The previous version is kept as NAME@DAY, and --keep says how many. --all renews \
            every identity that is due and has a known issuer; it names those that are due and have none, and prints \
            nothing if none is due.

            After a renewal, a shell runs the command of --exec once. If it fails, is interrupted or takes too long, \
            the next renew with --exec runs it again. Its environment contains no secrets and no KEYFOB_… variables: \
            select the keychain with -k.
            """)

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName?

    @Flag(help: "Renew every identity that is due and has a known issuer.")
    var all = false

    @Flag(help: "Renew even if it is not due yet.")
    var force = false

    @Flag(help: "Use a new key for this and every later certificate.")
    var newKey = false

    @Flag(help: "Keep the same key for this and every later certificate.")
    var sameKey = false

    @Option(
        help: ArgumentHelp(
            "How many older versions stay after a renewal; the others are destroyed unless they are still needed.",
            valueName: "number"))
    var keep = 2

    @OptionGroup(title: "Changes of the certificate") var wishes: CertificateOptions
    @OptionGroup(title: "Issuer") var issuance: IssuerOptions
    @OptionGroup(title: "The new key") var key: NewKeyOptions

    @Option(
        help: ArgumentHelp(
            """
            The command to run after a renewal, as printed by keyfob uri NAME --for PROGRAM. It is killed after 10 \
            minutes; --timeout can extend this limit, but not shorten it.
            """,
            valueName: "command"))
    var exec: String?

    @OptionGroup var mixedKeys: MixedKeysOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if all, name != nil { throw ValidationError("--all and a name exclude each other.") }
        guard all || name != nil else { throw ValidationError("Name an identity, or give --all.") }
        if newKey || key.isGiven, sameKey { throw ValidationError("--new-key and --same-key exclude each other.") }
        guard keep >= 0 else { throw ValidationError("--keep takes a number of versions, such as 2.") }
        guard !wishes.authority else {
            throw ValidationError("A renewal does not make an authority of an identity: use keyfob identity create.")
        }
        if all, !wishes.isEmpty || !wishes.usage.isEmpty {
            throw ValidationError("--all renews each identity with its own names and usages.")
        }
        if all, issuance.selfSigned || issuance.issuer != nil {
            throw ValidationError("--all renews each identity with its own issuer.")
        }
    }

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let now = Date()
        let identities = try name.map { [try $0.identity(in: keychain)] } ?? Self.renewable(in: keychain)
        var documents: [Members] = []
        var failures: [KeychainError] = []
        // Identities that were renewed now, and identities renewed before whose command still has to run.
        var (renewed, waiting): ([String], [String]) = ([], [])
        // Identities that a dry run would renew.
        var planned: [String] = []
        let pending = PendingHooks(keychain)
        var interruption: KeychainError?
        if !force, !global.dryRun { try RenewalQuestions.ask(about: identities, in: keychain, output, on: now) }
        for identity in identities {
            let label = identity.label ?? ""
            do {
                let (document, outcome) = try renew(identity, keychain, output, now, pending)
                documents.append(document.members)
                switch outcome {
                case .renewed: renewed.append(label)
                case .planned: planned.append(label)
                case .unchanged:
                    // While another process orders a certificate, the pending record belongs to that process.
                    if exec != nil, try pending.contains(label), !keychain.identities.isOrdering(label) {
                        waiting.append(label)
                    }
                case .leftToAnother: break
                }
            } catch let error as KeychainError where all && error.code == .cancelled {
                // Earlier renewals are reported. Their command is left to the next renew.
                interruption = error
                break
            } catch where all {
                // One unavailable issuer must not prevent the other renewals.
                failures.append(Self.error(error, of: label))
                report(failures.last, output)
            }
        }
        if renewed.isEmpty, !waiting.isEmpty, interruption == nil {
            let names = TerminalSafe.text(waiting.joined(separator: ", "))
            try output.say(
                "\(names): renewed before, but the command after it failed; "
                    + (global.dryRun ? "it would be run again" : "running it again"))
        }
        var (status, hookFailure): (Int32?, KeychainError?) = (nil, nil)
        if let exec, !global.dryRun, interruption == nil, !(renewed + waiting).isEmpty {
            (status, hookFailure) = try run(exec, after: renewed + waiting, keychain, output, pending)
        }
        let unmanaged = try all ? Self.unmanaged(in: keychain) : []
        for identity in unmanaged where try now >= identity.renewalDate() {
            let phrase = try IdentityPhrases.unmanaged(identity, keychain, on: now)
            output.warn(phrase)
        }
        if output.format.isMachineReadable {
            let members: Members = [
                "keychain": keychain.name, "identities": documents, "hook_status": status,
                "hook_failure": hookFailure.map { Failure($0).value },
                "failures": all ? failures.map { Failure($0).value } : nil,
                "without_issuer": all ? unmanaged.map { $0.label ?? "" } : nil,
            ]
            let isChange = !(renewed + planned).isEmpty
            try output.emit(Document(global.effect(isChange ? .update : .none), members), sentence: "")
        }
        if let interruption { throw interruption }
        try throwFailure(failures, of: identities.count, hookFailure, output)
    }

    /// The error of the command after the renewal, if it failed or was killed after `span`.
    private static func failure(of exec: String, _ status: Int32?, after span: String) -> KeychainError? {
        guard status != 0 else { return nil }
        let what = "the certificate was renewed, but the command after it "
        let hint = "The next renew with --exec runs it again. By hand: \(exec)"
        guard let status else {
            return KeychainError(
                .timedOut, what + "did not end within \(span) and was killed.",
                hint: "--timeout gives it more time. " + hint, details: ["command": exec])
        }
        return KeychainError(
            .failed, what + "ended with status \(status).", hint: hint, details: ["status": String(status)])
    }

    /// Returns the identities with a known issuer, authorities before the identities that they issue.
    ///
    /// A certificate does not outlive its authority's certificate, and an expired authority issues nothing.
    private static func renewable(in keychain: Keychain) throws -> [Identity] {
        // An identity that several access groups can access is several items but one certificate.
        var seen: Set<Data> = []
        let identities = try keychain.find(.identities.ordered(by: .label)).filter {
            $0.nameOfVersion == nil && $0.renewalPolicy != nil && seen.insert($0.der).inserted
        }
        var authorities: [Data: Data] = [:]
        // Cached by name: many identities have the same authority, and each search reads the whole keychain.
        var known: [String: Data?] = [:]
        for identity in identities {
            guard case .authority(let name, let other) = identity.renewalPolicy?.issuer,
                other == nil || other == keychain.name
            else { continue }
            // An authority that cannot be found is reported when its identity is renewed.
            let authority = known[name] ?? (try? ItemName(name).identity(in: keychain).der)
            known[name] = .some(authority)
            authorities[identity.der] = authority
        }
        func depth(_ identity: Identity) -> Int {
            var (depth, current) = (0, identity.der)
            // Limited, because two authorities can issue each other.
            while depth < identities.count, let next = authorities[current] { (depth, current) = (depth + 1, next) }
            return depth
        }
        let depths = identities.map(depth)
        return identities.indices.sorted { (depths[$0], $0) < (depths[$1], $1) }.map { identities[$0] }
    }

    /// Runs the command after the renewal of these identities. If it fails, records them so that the next renew runs it
    /// again.
    ///
    /// - Returns: The exit status, or `nil` if the command was killed; and the error if it did not succeed.
    private func run(
        _ exec: String, after names: [String], _ keychain: Keychain, _ output: Output, _ pending: PendingHooks
    ) throws -> (Int32?, KeychainError?) {
        let limit = RenewalHook.limit(global.timeout)
        let status = try Waiting.notice("the command after the renewal", isShown: global.showsProgress) {
            try RenewalHook.run(exec, limit: limit)
        }
        let span = Plural.duration(seconds: limit / .seconds(1))
        let end = status.map { $0 == 0 ? "ok" : "status \($0)" } ?? "killed after \(span)"
        try output.say("  ran: \(TerminalSafe.text(exec)) (\(end))")
        let failure = Self.failure(of: exec, status, after: span)
        for name in names {
            if failure != nil {
                // Another process may have removed the record, because its own command succeeded.
                try pending.add(name)
            } else if !keychain.identities.isOrdering(name) {
                // While another process renews the identity, the record belongs to that process.
                try pending.remove(name)
            }
        }
        return (status, failure)
    }

    /// Throws an error if something failed, without repeating what was printed before.
    ///
    /// - Parameter total: The number of identities that were processed.
    /// - Throws: `KeychainError`.
    private func throwFailure(
        _ failures: [KeychainError], of total: Int, _ hookFailure: KeychainError?, _ output: Output
    ) throws {
        guard let first = failures.first else {
            if let hookFailure { throw hookFailure }
            return
        }
        report(hookFailure, output)
        throw KeychainError(
            first.code, "\(failures.count) of \(total) identities could not be renewed.",
            details: ["failed": String(failures.count), "identities": String(total)])
    }

    /// Prints an error at once. With JSON, the document contains it, because standard error has only one error.
    private func report(_ error: KeychainError?, _ output: Output) {
        guard let error, output.format != .json else { return }
        StandardError.write(Failure(error).text(verbose: output.verbosity > 0))
    }

    /// The error of one of several identities, with the name of the identity.
    private static func error(_ error: any Error, of name: String) -> KeychainError {
        let known = error as? KeychainError ?? KeychainError(.failed, String(describing: error), cause: error)
        return KeychainError(
            known.code, "identity \"\(name)\": \(known.message)", remedies: known.remedies,
            details: known.details.merging(["name": name]) { $1 }, cause: known.cause)
    }

    /// The document about an identity that was not renewed. Empty unless it will be printed, because it reads all
    /// certificates of the keychain.
    private func document(
        _ action: Effect.Action, of identity: Identity, _ keychain: Keychain, _ output: Output
    ) throws -> Document {
        guard output.format.isMachineReadable else { return Document([:]) }
        let document = try IdentityPhrases.document(global.effect(action), identity, keychain)
        let retired: [String]? = global.dryRun ? nil : []
        return document.adding(["retired": retired, "retire_failure": Value.null])
    }

    /// The elapsed part of the certificate's lifetime, in whole percent.
    private static func percentUsed(of identity: Identity, on date: Date) throws -> Int {
        Int((try identity.lifetimeUsed(on: date) * 100).rounded(.down))
    }

    /// The changes that the options ask for.
    private func changes(of certificate: Certificate) throws -> CertificateChanges {
        let usages = wishes.usage.isEmpty ? nil : wishes.usage.map(\.usage)
        guard !wishes.isEmpty else { return CertificateChanges(usages: usages) }
        let hasSubject = wishes.cn != nil || wishes.subject != nil
        return CertificateChanges(
            subject: hasSubject ? try wishes.name() : nil,
            names: try wishes.extensions(for: certificate.publicKey.algorithm).subjectAlternativeNames, usages: usages)
    }

    /// The outcome of the renewal of one identity.
    private enum Outcome { case renewed, planned, unchanged, leftToAnother }

    private func renew(
        _ identity: Identity, _ keychain: Keychain, _ output: Output, _ now: Date, _ pending: PendingHooks
    ) throws -> (Document, Outcome) {
        let label = TerminalSafe.text(identity.label ?? "")
        let percent = try Self.percentUsed(of: identity, on: now)
        guard let description = try issuance.description() ?? identity.renewalPolicy?.issuer else {
            throw KeychainError(
                .invalidArgument, "identity \"\(identity.label ?? "")\" has no issuer to renew it.",
                hint: "Give --self-signed or --issuer once; it is stored.", details: ["name": identity.label ?? ""])
        }
        let certificate = try identity.certificate()
        let changes = try self.changes(of: certificate)
        let isChange = try changes.change(certificate) || changesPolicy(of: identity, certificate, keychain)
        let due = try keychain.identities.renewalDate(of: identity)
        let isEarly = try due < identity.renewalDate()
        guard due <= now || force || isChange else {
            // From cron, every line would be mailed.
            if !all {
                let start = isEarly
                    ? "on \(RFC3339.localDay(of: due)), as its issuer suggests"
                    : "at \(identity.renewalPolicy?.time ?? .usual)"
                try output.say(
                    "Nothing to do: \(label) is at \(max(0, percent))% of its lifetime; renewal starts \(start). "
                        + "Use --force to renew now.")
            }
            return (try document(.none, of: identity, keychain, output), .unchanged)
        }
        let wanted: RenewalKey? = newKey || key.isGiven
            ? .new(key.isGiven ? key.specification : nil) : sameKey ? .same : nil
        let renewsKey = try keychain.identities.renewsKey(of: identity, wanted)
        let reason = isEarly && due <= now ? " as its issuer suggests" : ""
        try output.say(
            "\(label): \(max(0, percent))% of its lifetime used, renewing\(reason) (issuer: "
                + "\(TerminalSafe.text(description.description)), new key: \(renewsKey ? "yes" : "no"))")
        if !reason.isEmpty, let page = try keychain.identities.renewalWindow(of: identity)?.explanation {
            try output.say("  the reason: \(TerminalSafe.text(page))")
        }
        // Not needed for a new key of the same kind, because the token has such a key already.
        if renewsKey, key.isGiven, (key.kind == .ed25519) != (identity.key.keyType == .ed25519) {
            try mixedKeys.check(adding: [key.kind == .ed25519], to: keychain)
        }
        guard !global.dryRun else {
            try output.say("  dry run: nothing was done")
            return (try document(.update, of: identity, keychain, output), .planned)
        }
        let issuer = try description.resolved(for: keychain, global, issuance)
        let steps = Lock<[String]>([])
        // Recorded before the certificate is issued, so that a later renew runs the command if this process is killed.
        let isFirst = try exec != nil && !pending.contains(identity.label ?? "")
        if isFirst { try pending.add(identity.label ?? "") }
        let made: IdentityInstallation
        do {
            made = try Waiting.notice("issuer \(description.description)", isShown: global.showsProgress) {
                try keychain.identities.renew(
                    identity, key: wanted, lifetime: issuance.seconds, changes: changes, issuer: issuer
                ) { step in steps.withLock { $0.append(TerminalSafe.text(step)) } }
            }
        } catch {
            let failure = error as? KeychainError
            // The record is removed if the identity was not renewed. It stays if that cannot be determined, or while
            // another process orders a certificate, to which it may belong.
            //
            // Errors of this check are ignored, so that the first error is reported.
            let current = try? keychain.only(.identity(label: identity.label ?? ""))
            if isFirst, current?.der == identity.der, !keychain.identities.isOrdering(identity.label ?? "") {
                try pending.remove(identity.label ?? "")
            }
            // If another process has renewed the identity in the meantime, for example by a second timer, that is not
            // an error. It is one if the identity is still due.
            guard !force, let failure, failure.code == .vaultBusy, let current, current.der != identity.der,
                try keychain.identities.renewalDate(of: current) > now
            else { throw error }
            try output.say("  no longer needed: \(TerminalSafe.text(failure.message))")
            return (try document(.none, of: current, keychain, output), .leftToAnother)
        }
        let end = RFC3339.localDay(of: try made.identity.certificate().notAfter)
        let done = steps.withLock { $0 } + ["certificate valid until \(end)"]
        try output.say("  " + done.joined(separator: ", "))
        let (retired, failure) = retireVersions(after: made, keychain, output)
        let kept = made.kept.filter { !retired.contains($0) }
        try output.say("  installed" + kept.map { "; old certificate kept as \(TerminalSafe.text($0))" }.joined())
        if !retired.isEmpty {
            try output.say("  destroyed \(retired.map { TerminalSafe.text($0) }.joined(separator: ", "))")
        }
        let trust = try keychain.trust.stale(by: made)
        if let trust { try output.say("  " + IdentityPhrases.sentence(trust, keychain)) }
        if case .new = wanted, identity.renewalPolicy?.renewsKey != true {
            try output.say("  from now on, each renewal makes a new key; --same-key ends this")
        }
        return (
            try IdentityPhrases.document(
                global.effect(.update), made.identity, keychain, kept: kept, trust: trust
            ).adding(["retired": retired, "retire_failure": failure?.value]),
            .renewed
        )
    }

    /// Whether the options differ from how the identity is renewed: in the issuer, the lifetime or the key.
    private func changesPolicy(
        of identity: Identity, _ certificate: Certificate, _ keychain: Keychain
    ) throws -> Bool {
        let policy = identity.renewalPolicy
        if let seconds = issuance.seconds, seconds != policy?.lifetime { return true }
        // Once this is stored, each renewal makes a new key, and the option is not a reason for one.
        if newKey, policy?.renewsKey != true { return true }
        if key.isGiven, key.specification.description != certificate.publicKey.algorithm.description { return true }
        guard var issuer = try issuance.description() else { return false }
        // The stored description has the authority's name, which the option may have stated in another way.
        if case .authority = issuer { issuer = try issuer.resolved(for: keychain, global, issuance).issuerDescription }
        return issuer != policy?.issuer
    }

    /// Destroys the older versions beyond `--keep`.
    ///
    /// A failure does not end the command, because the certificate is renewed. The next renewal tries again.
    ///
    /// - Returns: The names of the destroyed versions, and the failure for the document.
    private func retireVersions(
        after made: IdentityInstallation, _ keychain: Keychain, _ output: Output
    ) -> (retired: [String], failure: Failure?) {
        var retired: [String] = []
        var failure: Failure?
        do {
            let result = try keychain.identities.retireVersions(after: made, keeping: keep)
            (retired, failure) = (result.retired, result.failure.map { Failure($0) })
        } catch {
            failure = Failure(error)
        }
        // The document contains the failure.
        if let failure, !output.format.isMachineReadable {
            let reason = failure.text(verbose: false).dropping(prefix: "keyfob: ") ?? ""
            StandardError.write("keyfob: older versions could not be destroyed: \(reason.trimmingBlanks)\n")
        }
        return (retired, failure)
    }

    /// The identities that nothing renews, because they have no known issuer.
    private static func unmanaged(in keychain: Keychain) throws -> [Identity] {
        var seen: Set<Data> = []
        return try keychain.find(.identities.ordered(by: .label)).filter {
            $0.nameOfVersion == nil && $0.renewalPolicy == nil && seen.insert($0.der).inserted
        }
    }
}
