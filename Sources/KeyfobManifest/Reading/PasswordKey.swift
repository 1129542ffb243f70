package import Keyfob
import KeyfobPrimitives

/// The attributes by which a keychain tells passwords apart. Texts are the same if their bytes are.
package struct PasswordKey: Sendable {
    package var isInternet: Bool
    /// The service, or the server of an internet password.
    package var place: String
    package var account: String
    /// The code of the protocol; empty for none.
    package var protocolCode: String
    package var port: Int
    package var path: String
    /// The values that no entry of a manifest can have: an access group, a security domain, an authentication type, and
    /// names that are not text.
    private var others: [AttributeName: AttributeValue] = [:]

    package init(
        isInternet: Bool, place: String, account: String, protocolCode: String = "", port: Int = 0, path: String = ""
    ) {
        (self.isInternet, self.place, self.account) = (isInternet, place, account)
        (self.protocolCode, self.port, self.path) = (protocolCode, port, path)
    }
}

extension PasswordKey: Hashable {
    package static func == (one: PasswordKey, other: PasswordKey) -> Bool {
        one.words == other.words && one.others == other.others
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(words) }

    private var words: [[UInt8]] {
        [isInternet ? "internet" : "generic", place, account, protocolCode, String(port), path].map { Array($0.utf8) }
    }
}

extension PasswordKey {
    /// Whether an entry of a manifest can name the password.
    package var isDescribable: Bool { !place.isEmpty && others.isEmpty }

    /// The key of a stored password.
    package init(_ item: Item) {
        let isInternet = item.itemClass == .internetPassword
        let place: AttributeName = isInternet ? .server : .service
        func text(_ name: AttributeName) -> String { item.attributes[name]?.text ?? "" }
        self.init(
            isInternet: isInternet, place: text(place), account: text(.account),
            protocolCode: text(.protocol), port: item.attributes[.port]?.number.flatMap { Int(exactly: $0) } ?? 0,
            path: text(.path))
        let unnamed: [AttributeName] = [.accessGroup, .securityDomain, .authenticationType]
        let named: [AttributeName] = [place, .account, .protocol, .path]
        let schema = ClassSchema.of(item.itemClass)
        for name in unnamed + named.filter({ item.attributes[$0]?.text == nil }) {
            guard let value = item.attributes[name] else { continue }
            // For a keychain, an empty value is the same as none.
            let isEmpty = schema.emptyValue(ofPrimaryKey: name)?.matches(value) ?? false
            if !isEmpty { others[name] = value }
        }
    }
}
