import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// The options that say which password a command is about, as `PasswordChoice` takes it.
struct SecretSelection: ParsableArguments {
    @Option(name: [.customShort("u"), .long], help: ArgumentHelp("The account.", valueName: "account"))
    var user: String?

    @Option(help: ArgumentHelp("generic, or internet for a password of a server.", valueName: "kind"))
    var kind: PasswordChoice.Kind?

    @Option(
        help: ArgumentHelp("The server of an internet password; a new one's is NAME otherwise.", valueName: "host"))
    var server: String?

    @Option(
        name: .customLong("protocol"), help: ArgumentHelp("Its protocol, such as https or ssh.", valueName: "scheme"))
    var scheme: String?

    @Option(help: ArgumentHelp("Its port.", valueName: "number"))
    var port: Int?

    @Option(help: ArgumentHelp("Its path.", valueName: "path"))
    var path: String?

    /// Whether nothing is said, so that every password is meant.
    var isEmpty: Bool { user == nil && kind == nil && server == nil && scheme == nil && port == nil && path == nil }

    /// What the options say.
    var choice: PasswordChoice {
        PasswordChoice(user: user, kind: kind, server: server, scheme: scheme, port: port, path: path)
    }

    /// Refuses what contradicts itself.
    ///
    /// - Throws: `UsageError`.
    func check(name: String) throws {
        guard !name.isEmpty else { throw UsageError("an item needs a name.", hint: "All items: keyfob ls") }
        if kind == .generic, server != nil || scheme != nil || port != nil || path != nil {
            throw UsageError(
                "a generic password has no server, protocol, port or path.",
                hint: "Leave them out, or give --kind internet")
        }
        if let port, !(0...65535).contains(port) {
            throw UsageError("a port is a number from 0 to 65535.", hint: "Such as: --port 443")
        }
        _ = try choice.internetProtocol()
    }

    /// Refuses a name for a new item that begins as a reference to an item will: later no command would find it.
    ///
    /// - Throws: `UsageError`.
    static func requireNoReference(_ name: String) throws {
        let scheme = "keyfob://"
        guard name.lowercased().hasPrefix(scheme) else { return }
        throw UsageError(
            "a name that begins with \"\(scheme)\" is kept for references to items; nothing was stored.",
            hint: "Leave that out, and name the keychain with -k.")
    }

    /// Refuses a name that would be stored nowhere, and find nothing: beside a server it is the label, unless another
    /// one is given.
    ///
    /// - Throws: `UsageError`.
    static func requireOneName(_ name: String, server: String, label: String?) throws {
        guard let label, !label.isIdentical(to: name), !server.isIdentical(to: name) else { return }
        throw UsageError(
            "of a password with a server of its own the name and the label are the same; nothing was stored.",
            hint: "Give one of the two: leave out --label, or give the label in place of the name.")
    }

    /// An item to be added.
    ///
    /// - Throws: `UsageError` for a name that is kept for references, or that would be stored nowhere.
    func newItem(_ name: String, label: String?, comment: String?) throws -> Item {
        try Self.requireNoReference(name)
        var item: Item
        if choice.isInternet {
            if let server { try Self.requireOneName(name, server: server, label: label) }
            item =
                InternetPassword(
                    server: server ?? name, account: user ?? "", protocol: try choice.internetProtocol(), port: port,
                    path: path ?? "", label: label ?? name
                ).item
        } else {
            item = GenericPassword(service: name, account: user ?? "", label: label ?? name).item
        }
        if let comment { item.attributes[.comment] = .string(comment) }
        return item
    }
}
