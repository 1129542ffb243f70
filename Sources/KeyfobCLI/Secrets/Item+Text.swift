import Foundation
import Keyfob
import KeyfobPrimitives

/// Attributes as people read them.
extension Item {
    /// An attribute as text: itself, a number's digits, or the hexadecimal digits of bytes that are no text.
    func text(_ name: AttributeName) -> String {
        switch attributes[name] {
        case .string(let text)?: text
        case .data(let data)?:
            String(validating: data, as: UTF8.self)
                ?? "0x" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .number(let number)?: String(number)
        case .date(let date)?: RFC3339.string(from: date)
        case nil: ""
        }
    }

    /// Whether an attribute has just these bytes; names that only look alike are different names.
    func hasText(_ name: AttributeName, _ text: String) -> Bool {
        self.text(name).isIdentical(to: text)
    }

    /// The name by which lists show the item and commands find it.
    var nameText: String {
        let names: [AttributeName] = itemClass == .internetPassword ? [.label, .server] : [.service, .label]
        return names.lazy.map { text($0) }.first { !$0.isEmpty } ?? ""
    }

    /// Whether lists show the item under a name; its server and label may be others.
    func isNamed(_ name: String) -> Bool { nameText.isIdentical(to: name) }

    /// The account.
    var userText: String { text(.account) }

    /// Where an internet password is for, and whose it is, in the form of a URL.
    var addressText: String {
        var text = text(.server)
        if !userText.isEmpty { text = userText + "@" + text }
        if let scheme = schemeText { text = scheme + "://" + text }
        return text + placeText
    }

    /// Port and path as a URL has them.
    private var placeText: String {
        let port = attributes[.port]?.number.map { $0 == 0 ? "" : ":\($0)" } ?? ""
        let path = self.text(.path)
        return port + (path.isEmpty || path.hasPrefix("/") ? path : "/" + path)
    }

    /// The protocol as --protocol takes it: of Apple's four characters "htps" nobody sees that it is https. `nil` where
    /// there is none.
    private var schemeText: String? {
        let code = text(.protocol)
        return code.isEmpty ? nil : InternetProtocol(rawValue: code).scheme ?? code.trimmingBlanks
    }

    /// What stands behind `keyfob set` for this item: with the name alone it would be another one of that name.
    var words: String { words(and: "") }

    /// The same with further options, each with a space before it.
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

    /// The kind with protocol, port and path, by which passwords of one account at one server are told apart.
    var distinctKindText: String {
        let details = (schemeText ?? "") + placeText
        return itemClass != .internetPassword || details.isEmpty ? kindText : "\(kindText) \(details)"
    }

    /// When the item was changed last.
    var modified: Date? { attributes[.modificationDate]?.date }

    /// The members by which a document describes a password: the same for both kinds, and those that lists have.
    var members: [Value.Member] {
        var members: [Value.Member] = [
            .init("name", .string(nameText)), .init("kind", .string(kindText)), .init("user", .string(userText)),
            .init("server", value(.server)),
        ]
        members += placeMembers
        members.append(.init("label", .string(text(.label))))
        members.append(.init("created", .time(attributes[.creationDate]?.date)))
        members.append(.init("modified", .time(modified)))
        return members
    }

    /// What tells passwords of one account at one server apart; null for a generic password.
    var placeMembers: [Value.Member] {
        [
            .init("protocol", .optional(schemeText)),
            .init("port", attributes[.port]?.number.map { .integer($0) } ?? .null), .init("path", value(.path)),
        ]
    }

    /// The value of a member for an attribute; null where it is not set. Absent and empty are the same to the vault.
    func value(_ name: AttributeName) -> Value {
        let text = self.text(name)
        return text.isEmpty ? .null : .string(text)
    }

    /// The persistent reference, which no other item has.
    var referenceMembers: [Value.Member] { reference.map { [.init("reference_b64", .base64($0.data))] } ?? [] }
}
