import Foundation
import Keyfob
import KeyfobPrimitives

/// Attributes in readable form.
extension Item {
    /// Whether an attribute has exactly these bytes. Canonically equivalent names are different names.
    func hasText(_ name: AttributeName, _ text: String) -> Bool {
        self.text(name).isIdentical(to: text)
    }

    /// Whether lists show the item under `name`. Its server and label may differ.
    func isNamed(_ name: String) -> Bool { nameText.isIdentical(to: name) }

    /// The account.
    var userText: String { text(.account) }

    /// Server, account, protocol, port and path of an internet password, as a URL.
    var addressText: String {
        var text = text(.server)
        if !userText.isEmpty { text = userText + "@" + text }
        if let scheme = schemeText { text = scheme + "://" + text }
        return text + placeText
    }

    /// Port and path in URL form.
    private var placeText: String {
        let port = attributes[.port]?.number.map { $0 == 0 ? "" : ":\($0)" } ?? ""
        let path = self.text(.path)
        return port + (path.isEmpty || path.hasPrefix("/") ? path : "/" + path)
    }

    /// The protocol as `--protocol` takes it, or `nil` if there is none. Apple's four-character code "htps" would not
    /// be recognised as https.
    var schemeText: String? {
        let code = text(.protocol)
        return code.isEmpty ? nil : InternetProtocol(rawValue: code).scheme ?? code.trimmingBlanks
    }

    /// The arguments of `keyfob set` for this item. The name alone would denote another item of that name.
    var words: String { words(and: "") }

    /// The arguments of `keyfob set` for this item, followed by `options`, each with a leading space.
    func words(and options: String) -> String {
        func given(_ name: AttributeName) -> String? { text(name).isEmpty ? nil : text(name) }
        var choice = PasswordChoice(user: given(.account))
        if itemClass == .internetPassword {
            choice.kind = .internet
            choice.server = given(.server)
            choice.scheme = schemeText
            choice.port = given(.port).flatMap { Int($0) }.flatMap { $0 == 0 ? nil : $0 }
            choice.path = given(.path)
        }
        return ShellWord.operand(nameText, with: choice.words + options)
    }

    /// `generic` or `internet`.
    var kindText: String { itemClass == .internetPassword ? "internet" : "generic" }

    /// The kind with protocol, port and path, which distinguish passwords of one account at one server. A one-time
    /// password has a kind of its own.
    var distinctKindText: String {
        guard !OneTimePasswordItem.isOne(self) else { return "otp" }
        let details = (schemeText ?? "") + placeText
        return itemClass != .internetPassword || details.isEmpty ? kindText : "\(kindText) \(details)"
    }

    /// The date of the last change.
    var modified: Date? { attributes[.modificationDate]?.date }

    /// The members that describe a password in a document. Both kinds have the same members, including those of lists.
    var members: Members {
        ["name": nameText, "kind": kindText, "user": userText, "server": value(.server)] + placeMembers
            + ["label": text(.label), "created": attributes[.creationDate]?.date, "modified": modified]
    }

    /// The members that distinguish passwords of one account at one server; null for a generic password.
    var placeMembers: Members {
        ["protocol": schemeText, "port": attributes[.port]?.number, "path": value(.path)]
    }

    /// The value of a member for an attribute; null if it is not set. The vault treats absent and empty as equal.
    func value(_ name: AttributeName) -> Value {
        let text = self.text(name)
        return text.isEmpty ? .null : .string(text)
    }

    /// The persistent reference, which identifies the item.
    var referenceMembers: Members { ["reference_b64": reference.map { Value.base64($0.data) }] }
}
