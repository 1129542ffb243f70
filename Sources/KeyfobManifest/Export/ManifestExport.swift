import Foundation
package import Keyfob
import KeyfobACME
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// Writes the manifest of a keychain that was made by hand. Its plan is empty.
package struct ManifestExport {
    private let keychain: Keychain
    private var yaml = YAMLText()
    /// The variables of the values so far.
    private var variables: Set<String> = []
    private var issuers: [(name: String, settings: ACMEIssuer.Settings?, command: [String])] = []

    /// The manifest of a keychain. Contains no secret: a value comes from a variable of the environment, and a stored
    /// one stays as it is.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be unlocked or the token cannot be read.
    package static func text(of keychain: Keychain) throws -> String {
        var export = ManifestExport(keychain: keychain)
        return try export.text()
    }

    private init(keychain: Keychain) { self.keychain = keychain }

    private mutating func text() throws -> String {
        yaml.member(0, "apiVersion", "keyfob/v1")
        yaml.member(0, "keychain", keychain.name)
        let configuration = keychain.configuration
        if configuration.module != .softHSM {
            if PKCS11URI.seemsToHoldPIN(configuration.token) {
                yaml.line(0, "# token: a URI with a PIN, which is not exported")
            } else {
                yaml.member(0, "token", configuration.token)
            }
        } else if configuration.sealedPIN == nil {
            yaml.line(0, "unattended: true")
        }
        if let source = configuration.pinSource, configuration.module != .softHSM || configuration.sealedPIN != nil {
            // A command may contain a secret.
            if source.hasPrefix("cmd:") || source.hasPrefix("|") {
                yaml.line(0, "# pinSource: a command, which is not exported")
            } else {
                yaml.member(0, "pinSource", source)
            }
        }
        try writeSecrets()
        let identities = try keychain.find(.identities.ordered(by: .label)).filter { $0.nameOfVersion == nil }
        try writeKeys(besides: Set(keychain.find(.identities).compactMap(\.key.publicKeyHash)))
        try writeIdentities(identities)
        try writeCertificates(identities)
        return yaml.text
    }

    // MARK: Lists

    /// An element of a list of the manifest.
    private struct Entry {
        let name: String
        let text: YAMLText
    }

    /// Writes a list, and a remark for each entry that the reader would refuse: it would refuse the whole manifest.
    private mutating func write(_ entries: [Entry], to list: String, remark: String? = nil) {
        var isFirst = true
        for entry in entries {
            if let refusal = Self.refusal(of: entry, in: list) {
                yaml.line(0, "# Left out of \(list): \(YAMLText.scalar(entry.name)) (\(refusal))")
                continue
            }
            if isFirst {
                if let remark { yaml.line(0, "# " + remark) }
                yaml.line(0, "\(list):")
            }
            isFirst = false
            yaml.append(entry.text)
        }
    }

    /// The message of the reader about an entry; `nil` for a right one.
    private static func refusal(of entry: Entry, in list: String) -> String? {
        var yaml = YAMLText()
        yaml.line(0, "apiVersion: keyfob/v1")
        yaml.line(0, "keychain: export")
        yaml.line(0, "\(list):")
        yaml.append(entry.text)
        do throws(ManifestError) {
            _ = try Manifest([Manifest.Text(name: list, directory: "/", text: yaml.text)])
            return nil
        } catch {
            return error.problems.map(\.message).joined(separator: "; ")
        }
    }

    // MARK: Secrets

    private mutating func writeSecrets() throws {
        var items: [Item] = []
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            var criteria = Criteria(itemClass)
            criteria.includesSynchronizable = true
            items += try keychain.findItems(criteria)
        }
        var seen: Set<PasswordKey> = []
        var entries: [Entry] = []
        for item in items {
            let key = PasswordKey(item)
            guard key.isDescribable, seen.insert(key).inserted else {
                yaml.line(
                    0, "# Left out: a password without a name, of a security domain, or of another access group.")
                continue
            }
            entries.append(entry(item, key))
        }
        write(
            entries, to: "secrets",
            remark: "Values are not exported. Each comes from its variable if the secret is missing.")
    }

    private mutating func entry(_ item: Item, _ key: PasswordKey) -> Entry {
        let label = item.attributes[.label]?.text ?? ""
        let name = key.isInternet && !label.isEmpty ? label : key.place
        var yaml = YAMLText()
        yaml.line(2, "- name: \(YAMLText.scalar(name))")
        yaml.member(4, "user", key.account)
        if key.isInternet {
            yaml.line(4, "kind: internet")
            if !key.place.isIdentical(to: name) { yaml.member(4, "server", key.place) }
            yaml.member(4, "protocol", InternetProtocol(rawValue: key.protocolCode).scheme)
            if key.port != 0 { yaml.line(4, "port: \(key.port)") }
            yaml.member(4, "path", key.path)
        } else if label != name {
            yaml.member(4, "label", label)
        }
        yaml.member(4, "comment", item.attributes[.comment]?.text)
        if item.attributes.isProtected { yaml.line(4, "protect: true") }
        yaml.line(4, "valueFrom: env:\(variable(name, key.account))")
        yaml.line(4, "onConflict: keep")
        return Entry(name: name, text: yaml)
    }

    /// A variable for the value of a secret, such as `KEYFOB_SECRET_DB_PROD_APP`.
    ///
    /// Another secret whose name has the same letters gets another variable, with a number at its end.
    private mutating func variable(_ name: String, _ account: String) -> String {
        let text = account.isEmpty ? name : name + "_" + account
        let word = String(
            text.uppercased().unicodeScalars.map { scalar -> Character in
                switch scalar {
                case "A"..."Z", "0"..."9": Character(scalar)
                default: "_"
                }
            })
        let first = "KEYFOB_SECRET_" + word
        var (variable, number) = (first, 1)
        while !variables.insert(variable).inserted {
            number += 1
            variable = "\(first)_\(number)"
        }
        return variable
    }

    // MARK: Keys and identities

    private mutating func writeKeys(besides certified: Set<Data>) throws {
        var names: Set<String> = []
        var entries: [Entry] = []
        let wrappingKeys = Set(try keychain.objects.wrappingKeyNames())
        for key in try keychain.find(.keys) where key.keyClass != .public {
            let members = Self.members(of: StoredKey.kind(of: key))
            guard let name = key.label, !name.isEmpty, !wrappingKeys.contains(name), !members.isEmpty,
                !(key.publicKeyHash.map { certified.contains($0) } ?? false)
            else { continue }
            guard names.insert(name).inserted else { continue }
            var yaml = YAMLText()
            yaml.line(2, "- name: \(YAMLText.scalar(name))")
            for line in members { yaml.line(4, line) }
            if key.isExtractable { yaml.line(4, "extractable: true") }
            if key.isProtected { yaml.line(4, "protect: true") }
            entries.append(Entry(name: name, text: yaml))
        }
        write(entries, to: "keys")
    }

    /// The members that describe a kind of key, such as `type: rsa` and `size: 3072`.
    private static func members(of kind: String) -> [String] {
        let number = kind.split { !$0.isNumber }.last.map(String.init) ?? ""
        switch kind {
        case KeySpecification.ed25519.description: return ["type: ed25519"]
        case KeySpecification.p256.description, KeySpecification.p384.description, KeySpecification.p521.description:
            return ["type: ec", "curve: p\(number)"]
        default:
            guard kind.hasPrefix("RSA ") || kind.hasPrefix("AES-") else { return [] }
            return ["type: \(kind.prefix(3).lowercased())", "size: \(number)"]
        }
    }

    private mutating func writeIdentities(_ identities: [Identity]) throws {
        var seen: Set<String> = []
        var entries: [Entry] = []
        for identity in identities {
            guard let name = identity.label, !name.isEmpty, seen.insert(name).inserted else { continue }
            var text = YAMLText()
            try write(identity, name, to: &text)
            entries.append(Entry(name: name, text: text))
        }
        writeIssuers()
        write(entries, to: "identities")
    }

    private mutating func write(_ identity: Identity, _ name: String, to yaml: inout YAMLText) throws {
        yaml.line(2, "- name: \(YAMLText.scalar(name))")
        if identity.isProtected { yaml.line(4, "protect: true") }
        guard let policy = identity.renewalPolicy, let issuer = issuer(policy.issuer) else {
            return yaml.line(4, "# Its certificate comes from elsewhere, so it has to exist already.")
        }
        let certificate = try identity.certificate()
        writeNames(of: certificate, to: &yaml)
        if certificate.isCA {
            yaml.line(4, "authority: true")
            if let length = certificate.pathLength { yaml.line(4, "pathLength: \(length)") }
        } else {
            let usages = CertificateUsage.known.filter { usage in
                usage.extendedKeyUsage.map { certificate.extendedKeyUsage.contains($0) } ?? false
            }
            yaml.member(4, "usages", usages.isEmpty ? ["any"] : usages.map(\.rawValue))
        }
        if let lifetime = policy.lifetime { yaml.line(4, "lifetime: \(Int(lifetime))s") }
        switch policy.time {
        case .after(let fraction)?: yaml.line(4, "renewAt: \(Int((fraction * 100).rounded()))%")
        case .beforeEnd(let seconds)?: yaml.line(4, "renewBefore: \(Int(seconds))s")
        case nil: break
        }
        let key = Self.members(of: certificate.publicKey.algorithm.description)
        if !key.isEmpty || policy.renewsKey { yaml.line(4, "key:") }
        for line in key { yaml.line(6, line) }
        if policy.renewsKey { yaml.line(6, "rotationPolicy: always") }
        yaml.member(4, "issuer", issuer)
    }

    private func writeNames(of certificate: Certificate, to yaml: inout YAMLText) {
        var (hosts, addresses, emails, uris): ([String], [String], [String], [String]) = ([], [], [], [])
        for name in certificate.subjectAlternativeNames {
            switch name {
            case .dns(let host): hosts.append(host)
            case .ip: addresses += [name.ipText].compactMap(\.self)
            case .email(let address): emails.append(address)
            case .uri(let uri): uris.append(uri)
            case .other: yaml.line(4, "# Left out: a name of another kind.")
            }
        }
        let subject = certificate.subject.description
        // A subject that is more than its text cannot be in a manifest, and is not compared then.
        if !subject.isEmpty, (try? DistinguishedName(parsing: subject))?.canonical == certificate.subject.canonical {
            yaml.member(4, "subject", subject)
        }
        yaml.member(4, "dnsNames", hosts)
        yaml.member(4, "ips", addresses)
        yaml.member(4, "emails", emails)
        yaml.member(4, "uris", uris)
    }

    /// The name of an issuer in the manifest.
    private mutating func issuer(_ description: IssuerDescription) -> String? {
        switch description {
        case .itself: return "self"
        case .authority(let name, nil): return name
        // An authority in another keychain has no form in a manifest.
        case .authority: return nil
        case .command(let words): return named(nil, words)
        case .external: return description.acmeSettings.map { named($0, []) }
        }
    }

    private mutating func named(_ settings: ACMEIssuer.Settings?, _ command: [String]) -> String {
        if let known = issuers.first(where: { $0.settings == settings && $0.command == command }) { return known.name }
        let name = "issuer-\(issuers.count + 1)"
        issuers.append((name, settings, command))
        return name
    }

    private mutating func writeIssuers() {
        if !issuers.isEmpty { yaml.line(0, "issuers:") }
        for issuer in issuers {
            yaml.line(2, "\(issuer.name):")
            guard let settings = issuer.settings else {
                yaml.line(4, "type: exec")
                // Unlike the source of a PIN, it cannot be left out: the plan would order other certificates.
                yaml.line(4, "# The stored command. Make sure that it contains no secret.")
                yaml.member(4, "command", issuer.command)
                continue
            }
            yaml.line(4, "type: acme")
            yaml.member(4, "directory", settings.directory)
            yaml.member(4, "profile", settings.profile)
            yaml.member(4, "contacts", settings.contacts)
            if settings.agreesToTerms { yaml.line(4, "agreeToTerms: true") }
            yaml.member(4, "webRoot", settings.webRoot)
            yaml.member(4, "listen", settings.listener)
            yaml.member(4, "listenTLS", settings.tlsListener)
            yaml.member(4, "dnsHook", settings.dnsCommand ?? [])
            yaml.member(4, "authorityFile", settings.authorityFile)
        }
    }

    // MARK: Certificates

    private mutating func writeCertificates(_ identities: [Identity]) throws {
        let own = Set(try keychain.find(.identities).map(\.der))
        let anchors = try keychain.trust.anchors()
        var names: [Data: String] = [:]
        var taken = Set(identities.compactMap(\.label))
        var entries: [Entry] = []
        for item in try keychain.find(.certificates) where !own.contains(item.der) && names[item.der] == nil {
            // An object that is not a certificate cannot be in a manifest.
            guard let certificate = try? item.certificate() else { continue }
            let stem =
                item.label.flatMap { $0.isEmpty ? nil : $0 }
                ?? "certificate-\(certificate.sha256Fingerprint.hexadecimal.prefix(8))"
            let name =
                taken.contains(stem)
                ? stem + "-" + certificate.sha256Fingerprint.hexadecimal.prefix(8) : stem
            taken.insert(name)
            names[item.der] = name
            var yaml = YAMLText()
            yaml.line(2, "- name: \(YAMLText.scalar(name))")
            if item.isProtected { yaml.line(4, "protect: true") }
            yaml.line(4, "pem: |")
            for line in certificate.pem.split(separator: "\n") { yaml.line(6, String(line)) }
            entries.append(Entry(name: name, text: yaml))
        }
        write(entries, to: "certificates")
        for identity in identities { names[identity.der] = identity.label }
        entries = []
        for anchor in anchors {
            guard let name = names[anchor.certificate.der] else { continue }
            var yaml = YAMLText()
            yaml.line(2, "- certificate: \(YAMLText.scalar(name))")
            yaml.member(4, "for", anchor.usages.map(\.rawValue))
            entries.append(Entry(name: name, text: yaml))
        }
        write(entries, to: "trust")
    }
}
