package import Keyfob
import KeyfobPrimitives

/// A secret of a manifest.
package struct SecretEntry: Sendable {
    /// The origin of the value.
    package enum Value: Sendable {
        case generated(length: Int, Alphabet)
        case from(PINSource)
    }

    package let name: String
    package let position: Position
    package let key: PasswordKey
    /// The former key; `nil` if the secret was not renamed, or its name is only its label.
    package let formerKey: PasswordKey?
    /// Whether no removal removes the secret.
    package let isProtected: Bool
    /// The label, if the manifest gives one, or a server makes the name the label.
    package let label: String?
    package let comment: String?
    package let value: Value
    /// The age in seconds at which a generated value is replaced.
    package let lifetime: Double?
    /// Whether a stored value stays that differs from the source.
    package let keepsStoredValue: Bool
    package let outputs: [OutputEntry]
    package let hooks: [HookEntry]

    /// The source of the value; `nil` for a generated one.
    package var source: PINSource? {
        guard case .from(let source) = value else { return nil }
        return source
    }

    init(_ record: Record, _ problems: inout [ManifestProblem]) {
        name = record.text("name") ?? ""
        position = record.position
        let onlyOfServers = ["server", "protocol", "port", "path"].filter { record.has($0) }
        let isInternet = record.text("kind").map { $0 == "internet" } ?? !onlyOfServers.isEmpty
        if !isInternet, let first = onlyOfServers.first {
            problems.append(
                ManifestProblem(
                    "a generic password has no \(first)", at: record.position(of: first), hint: "kind: internet"))
        }
        let server = isInternet ? record.text("server") : nil
        let scheme = record.text("protocol").flatMap { InternetProtocol(scheme: $0) }
        key = PasswordKey(
            isInternet: isInternet, place: server ?? name, account: record.text("user") ?? "",
            protocolCode: scheme?.rawValue ?? "", port: record.integer("port") ?? 0, path: record.text("path") ?? "")
        formerKey = record.text("renamedFrom").flatMap { [key] former in
            var formerKey = key
            if server == nil { formerKey.place = former }
            return formerKey == key ? nil : formerKey
        }
        isProtected = record.flag("protect")
        label = record.text("label") ?? server.map { [name] _ in name }
        if let given = record.text("label"), server != nil, !given.isIdentical(to: name) {
            problems.append(
                ManifestProblem(
                    "the name of a password with a server is its label", at: record.position(of: "label"),
                    hint: "leave \"label\" out"))
        }
        comment = record.text("comment")
        if let text = record.text("valueFrom"), let source = try? PINSource(parsing: text) {
            // The reader has parsed the source, so this never fails.
            value = .from(source)
        } else {
            let generation = record.record("generate")
            value = .generated(
                length: generation?.integer("length") ?? 32,
                generation?.text("charset").flatMap { Alphabet(rawValue: $0) } ?? .alnum)
        }
        lifetime = record.seconds("rotateEvery")
        keepsStoredValue = record.text("onConflict") == "keep"
        outputs = record.records("outputs").flatMap { OutputEntry.all($0, [("value", .value)], defaultMode: 0o600) }
        hooks = HookEntry.all(record, of: HookEntry.owner("secrets", name))
    }
}

extension SecretEntry {
    /// The item to store.
    package var item: Item {
        var item: Item
        if key.isInternet {
            item =
                InternetPassword(
                    server: key.place, account: key.account,
                    protocol: key.protocolCode.isEmpty ? nil : InternetProtocol(rawValue: key.protocolCode),
                    port: key.port == 0 ? nil : key.port, path: key.path, label: label ?? name
                ).item
        } else {
            item = GenericPassword(service: key.place, account: key.account, label: label ?? name).item
        }
        if let comment { item.attributes[.comment] = .string(comment) }
        if isProtected { item.attributes[.isProtectedItem] = .number(1) }
        return item
    }
}
