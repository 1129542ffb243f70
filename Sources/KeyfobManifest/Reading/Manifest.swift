package import Keyfob
import KeyfobOpenSSL

/// The description of a keychain: everything that it should hold.
package struct Manifest: Sendable {
    package let keychain: String
    package let position: Position
    /// Whether a new keychain keeps its PIN in a file.
    package let isUnattended: Bool
    package let pinSource: PINSource?
    package let recoveryFile: String?
    /// The label or URI of an existing token.
    package let token: String?
    package let secrets: [SecretEntry]
    package let keys: [KeyEntry]
    package let identities: [IdentityEntry]
    package let certificates: [CertificateEntry]
    package let trust: [TrustEntry]
    package let helpers: [HelperEntry]
    /// Whether what an earlier apply made and the manifest no longer has is removed.
    package let prunes: Bool

    /// A file of a manifest.
    package struct Text: Sendable {
        /// The name for messages.
        let name: String
        /// The directory at which relative paths start.
        let directory: String
        let text: String

        package init(name: String, directory: String, text: String) {
            self.name = name
            self.directory = directory
            self.text = text
        }
    }

    /// Reads a manifest of one or several files.
    ///
    /// Reads no secret; it does read files with certificates.
    ///
    /// - Throws: `ManifestError` with all errors of all files.
    package init(_ texts: [Text]) throws(ManifestError) {
        var problems: [ManifestProblem] = []
        var whole: Record?
        for text in texts {
            var reader = NodeReader(file: text.name, directory: text.directory)
            let record = reader.read(text.text, as: ManifestForms.manifest)
            problems += reader.problems
            guard let record else { continue }
            whole = whole.map { Self.merged($0, record, &problems) } ?? record
        }
        if let whole { problems += NodeReader.problems(of: whole) }
        guard let whole else {
            throw ManifestError(
                problems.isEmpty
                    ? [ManifestProblem("there is no manifest", at: Position(file: "-", line: 1, column: 1))] : problems)
        }
        let manifest = Manifest(whole, &problems)
        guard problems.isEmpty else { throw ManifestError(problems.sortedByFile(texts.map(\.name))) }
        self = manifest
    }

    private init(_ record: Record, _ problems: inout [ManifestProblem]) {
        keychain = record.text("keychain") ?? ""
        position = record.position(of: "keychain")
        do { try Keychains.validate(keychain) } catch {
            if !keychain.isEmpty {
                problems.append(ManifestProblem("this cannot be the name of a keychain", at: position))
            }
        }
        isUnattended = record.flag("unattended")
        // The reader has parsed the source, so this never fails.
        pinSource = record.text("pinSource").flatMap { try? PINSource(parsing: $0) }
        recoveryFile = record.text("recoveryFile")
        token = record.text("token")
        secrets = record.records("secrets").map { SecretEntry($0, &problems) }
        let defaults = ManifestDefaults(record.record("defaults"))
        if let kind = defaults.kind(nil) { _ = KeyEntry.specification(kind, &problems) }
        keys = record.records("keys").map { KeyEntry($0, defaults, &problems) }
        certificates = record.records("certificates").compactMap { CertificateEntry($0, &problems) }
        let certificates = self.certificates
        trust = record.records("trust").map { record in
            var entry = TrustEntry(record)
            entry.certificate = certificates.first { $0.name == entry.name }?.certificate
            return entry
        }
        helpers = HelperEntry.all(record.record("helpers"), &problems)
        prunes = record.flag("prune")
        let issuers = record.map("issuers").map { IssuerEntry($0.name, $0.record, &problems) }
        let named = Dictionary(issuers.map { ($0.name, $0.description) }) { first, _ in first }
        identities = record.records("identities").map { record in
            var entry = IdentityEntry(record, defaults, &problems)
            entry.issuer = entry.issuerName.map { name in
                name.value == "self" ? .itself : named[name.value] ?? .authority(name.value, keychain: nil)
            }
            return entry
        }
        // A wrong default is the same problem for each key.
        var distinct: [ManifestProblem] = []
        for problem in problems where !distinct.contains(problem) { distinct.append(problem) }
        problems = distinct + duplicates + former
    }

    // MARK: Several files

    /// The record of two files: lists are joined, and other members must agree.
    private static func merged(_ first: Record, _ second: Record, _ problems: inout [ManifestProblem]) -> Record {
        var merged = first
        merged.given.formUnion(second.given)
        for (name, value) in second.values.sorted(by: { $0.key < $1.key }) {
            guard let known = first.values[name] else {
                merged.set(name, value)
                continue
            }
            switch (known.content, value.content) {
            case (.list(let left), .list(let right)):
                merged.set(name, ReadValue(content: .list(left + right), position: known.position))
            case (.map(let left), .map(let right)):
                for entry in right {
                    guard let other = left.first(where: { $0.name == entry.name }) else { continue }
                    problems.append(
                        ManifestProblem(
                            "\"\(entry.name)\" is there already, at \(other.record.position)", at: entry.record.position
                        ))
                }
                merged.set(name, ReadValue(content: .map(left + right), position: known.position))
            default:
                guard !ReadValue.isSame(known, value) else { continue }
                problems.append(
                    ManifestProblem("\"\(name)\" has another value at \(known.position)", at: value.position))
            }
        }
        return merged
    }

    // MARK: Duplicates

    private var duplicates: [ManifestProblem] {
        var found: [ManifestProblem] = []
        func check<Key: Hashable>(_ entries: [(key: Key, position: Position)], _ what: String) {
            var seen: [Key: Position] = [:]
            for entry in entries {
                if let other = seen[entry.key] {
                    found.append(ManifestProblem("\(what) is there already, at \(other)", at: entry.position))
                } else {
                    seen[entry.key] = entry.position
                }
            }
        }
        check(secrets.map { ($0.key, $0.position) }, "this secret")
        check(
            keys.map { ($0.name, $0.position) } + identities.map { ($0.name, $0.position) },
            "a key or identity of this name")
        check(formerNames.map { ($0.former, $0.position) }, "a key or identity of this former name")
        check(formerKeys.map { ($0.former, $0.position) }, "a secret of this former name")
        check(certificates.map { ($0.name, $0.position) }, "a certificate of this name")
        check(certificates.map { ($0.certificate.der, $0.position) }, "this certificate")
        check(trust.map { ("\($0.isForSystem) \($0.name)", $0.position) }, "the trust of this certificate")
        check(outputs.map { ($0.path, $0.position) }, "this file")
        return found
    }

    private var formerNames: [(former: String, position: Position)] {
        keys.compactMap { entry in entry.formerName.map { ($0, entry.position) } }
            + identities.compactMap { entry in entry.formerName.map { ($0, entry.position) } }
    }

    private var formerKeys: [(former: PasswordKey, position: Position)] {
        secrets.compactMap { entry in entry.formerKey.map { ($0, entry.position) } }
    }

    /// The former names that other entries have, so that it is not clear which one is meant by what is stored.
    private var former: [ManifestProblem] {
        let names = Set(keys.map(\.name) + identities.map(\.name))
        let taken = Set(secrets.map(\.key))
        let places = formerNames.filter { names.contains($0.former) }.map(\.position)
            + formerKeys.filter { taken.contains($0.former) }.map(\.position)
        return places.map {
            ManifestProblem(
                "the former name is that of another entry", at: $0,
                hint: "leave \"renamedFrom\" out once it is applied")
        }
    }

    /// All files that the manifest describes.
    package var outputs: [OutputEntry] { secrets.flatMap(\.outputs) + identities.flatMap(\.outputs) }
}

extension [ManifestProblem] {
    /// The problems in the order of the files, and of their places in each.
    fileprivate func sortedByFile(_ names: [String]) -> [ManifestProblem] {
        func rank(_ problem: ManifestProblem) -> (Int, Int, Int) {
            (names.firstIndex(of: problem.position.file) ?? 0, problem.position.line, problem.position.column)
        }
        return sorted { rank($0) < rank($1) }
    }
}
