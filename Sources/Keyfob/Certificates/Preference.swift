import Foundation

/// What an identity or a certificate is preferred for: a service, a person, or whatever a program calls it by.
package struct Preference: Hashable, Sendable {
    /// `identity` for a certificate with its key, `certificate` for one without: the two know nothing of each other.
    let itemClass: ItemClass
    /// A URL, the beginning of one, a host, an address or any other name, in the form in which names are compared.
    let name: String
    /// What the key is to do, such as ``AttributeName/canSign``; empty for whatever it is.
    let usages: Set<AttributeName>

    package init(_ itemClass: ItemClass, _ name: String, usages: Set<AttributeName> = []) {
        self.itemClass = itemClass
        self.name = Self.comparable(name)
        self.usages = usages
    }

    /// A name as it is compared: of a scheme and a host the case says nothing, of everything else it does.
    private static func comparable(_ name: String) -> String {
        guard let end = name.firstRange(of: "://")?.upperBound else {
            let isHost = name.contains(".") && name.wholeMatch(of: /[A-Za-z0-9.*-]+/) != nil
            return isHost ? name.lowercased() : name
        }
        let host = name[end...].prefix { !"/?#".contains($0) }
        return name[..<host.endIndex].lowercased() + name[host.endIndex...]
    }

    /// How well the preference answers what is asked for; `nil` where it is for something else.
    func rank(for wanted: Preference) -> Rank? {
        guard itemClass == wanted.itemClass, let usages = rankOfUsages(for: wanted.usages),
            let name = rankOfName(for: wanted.name)
        else { return nil }
        return Rank(usages: usages, name: name)
    }

    /// How well a preference answers: first by what the key is to do, then by the name.
    struct Rank: Comparable {
        let usages: Int
        let name: Int

        static func < (left: Self, right: Self) -> Bool { (left.usages, left.name) < (right.usages, right.name) }
    }

    private func rankOfUsages(for wanted: Set<AttributeName>) -> Int? {
        if usages == wanted { return 3 }
        // Who says nothing of it takes what there is.
        if wanted.isEmpty { return 1 }
        return usages.isEmpty ? 1 : usages.isSuperset(of: wanted) ? 2 : nil
    }

    /// More where more of the name is the same.
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
    /// What a certificate, and the identity that it is part of, is preferred for.
    var preferences: [Preference] {
        get {
            let services = self[.preferredServices]?.text?.split(separator: "\n") ?? []
            let entries = self[.preferences]?.bytes.flatMap { data in
                // What a later version has written there says nothing to this one.
                try? JSONDecoder().decode([PreferenceEntry].self, from: data)
            }
            return services.map { Preference(.identity, String($0)) } + (entries ?? []).map(\.preference)
        }
        set {
            // Those that earlier versions know stay where those look for them.
            let services = newValue.filter(\.isService)
            self[.preferredServices] = services.isEmpty ? nil : .string(services.map(\.name).joined(separator: "\n"))
            let entries = newValue.filter { !$0.isService }.map { PreferenceEntry($0) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Strings alone can always be encoded.
            self[.preferences] = entries.isEmpty ? nil : (try? encoder.encode(entries)).map { .data($0) }
        }
    }
}

extension Preference {
    /// Whether it is one of an identity for a service, for any use of the key, and on one line.
    fileprivate var isService: Bool { itemClass == .identity && usages.isEmpty && !name.contains(where: \.isNewline) }
}

/// A preference as it is written down.
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
