import Foundation

/// The use for which an identity or certificate is preferred: a service, a person, or any other name.
package struct Preference: Hashable, Sendable {
    /// `identity` for a certificate with its key, `certificate` for one without; the two are independent.
    let itemClass: ItemClass
    /// A URL, a URL prefix, a host, an address or any other name, in comparable form.
    let name: String
    /// The required key usages, such as ``AttributeName/canSign``; empty for any.
    let usages: Set<AttributeName>

    package init(_ itemClass: ItemClass, _ name: String, usages: Set<AttributeName> = []) {
        self.itemClass = itemClass
        self.name = Self.comparable(name)
        self.usages = usages
    }

    /// The comparable form of a name: scheme and host are case-insensitive, the rest is not.
    private static func comparable(_ name: String) -> String {
        guard let end = name.firstRange(of: "://")?.upperBound else {
            let isHost = name.contains(".") && name.wholeMatch(of: /[A-Za-z0-9.*-]+/) != nil
            return isHost ? name.lowercased() : name
        }
        let host = name[end...].prefix { !"/?#".contains($0) }
        return name[..<host.endIndex].lowercased() + name[host.endIndex...]
    }

    /// How well the preference matches; `nil` if it is for something else.
    func rank(for wanted: Preference) -> Rank? {
        guard itemClass == wanted.itemClass, let usages = rankOfUsages(for: wanted.usages),
            let name = rankOfName(for: wanted.name)
        else { return nil }
        return Rank(usages: usages, name: name)
    }

    /// The quality of a match: compared by usages first, then by name.
    struct Rank: Comparable {
        let usages: Int
        let name: Int

        static func < (left: Self, right: Self) -> Bool { (left.usages, left.name) < (right.usages, right.name) }
    }

    private func rankOfUsages(for wanted: Set<AttributeName>) -> Int? {
        if usages == wanted { return 3 }
        // A request without usages accepts any.
        if wanted.isEmpty { return 1 }
        return usages.isEmpty ? 1 : usages.isSuperset(of: wanted) ? 2 : nil
    }

    /// Higher if more of the name matches.
    private func rankOfName(for wanted: String) -> Int? {
        if wanted == name { return .max }
        guard itemClass == .identity, let start = wanted.firstRange(of: "://")?.upperBound else { return nil }
        if name.contains("://") {
            let isAbove = name.hasSuffix("/") || wanted.dropFirst(name.count).first.map { "/?#".contains($0) } ?? false
            return wanted.hasPrefix(name) && isAbove ? name.count : nil
        }
        let host = wanted[start...].prefix { !"/:?#".contains($0) }
        if host == name { return 0 }
        guard name.hasPrefix("*."), host.hasSuffix(name.dropFirst()) else { return nil }
        return name.count - .max
    }
}

extension ItemAttributes {
    /// The preferences of a certificate and of the identity that it is part of.
    var preferences: [Preference] {
        get {
            let services = self[.preferredServices]?.text?.split(separator: "\n") ?? []
            let entries = self[.preferences]?.bytes.flatMap { data in
                // Entries written by a later version cannot be decoded and are ignored.
                try? JSONDecoder().decode([PreferenceEntry].self, from: data)
            }
            return services.map { Preference(.identity, String($0)) } + (entries ?? []).map(\.preference)
        }
        set {
            // Preferences that earlier versions support stay in the attribute that these read.
            let services = newValue.filter(\.isService)
            self[.preferredServices] = services.isEmpty ? nil : .string(services.map(\.name).joined(separator: "\n"))
            let entries = newValue.filter { !$0.isService }.map { PreferenceEntry($0) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Strings can always be encoded.
            self[.preferences] = entries.isEmpty ? nil : (try? encoder.encode(entries)).map { .data($0) }
        }
    }
}

extension Preference {
    /// Whether it prefers an identity for a service, for any use of the key, with a name on one line.
    fileprivate var isService: Bool { itemClass == .identity && usages.isEmpty && !name.contains(where: \.isNewline) }
}

/// The stored form of a preference.
private struct PreferenceEntry: Codable {
    let itemClass: ItemClass
    let name: String
    let usages: [String]

    enum CodingKeys: String, CodingKey {
        case itemClass = "class"
        case name, usages
    }

    init(_ preference: Preference) {
        itemClass = preference.itemClass
        name = preference.name
        usages = preference.usages.map(\.rawValue).sorted()
    }

    var preference: Preference {
        Preference(itemClass, name, usages: Set(usages.map { AttributeName(rawValue: $0) }))
    }
}
