import ArgumentParser
import Foundation
import Keyfob

/// `keyfob secret show`: shows the attributes of an item, but not its secret.
struct SecretShow: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an item's attributes; its secret only with --reveal.",
        examples: Examples(
            "keyfob secret show db/prod",
            "keyfob secret show db/prod --reveal --json",
            "keyfob secret show db/prod --jwe > db-prod.jwe"))

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Flag(help: "Also show the secret.")
    var reveal = false

    @Flag(help: "Print the secret as the JWE (RFC 7516) that the vault keeps, still encrypted.")
    var jwe = false

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: name)
        if jwe, reveal { throw UsageError("--jwe and --reveal exclude each other.", hint: "Give one of the two.") }
        let keychain = try global.openKeychain()
        let item = try selection.choice.one(name, in: keychain)
        if jwe {
            let text =
                try item.itemClass == .internetPassword
                ? keychain.jwe(of: InternetPassword(item: item)) : keychain.jwe(of: GenericPassword(item: item))
            guard output.format.isMachineReadable else { return try StandardOutput.write(text + "\n") }
            return try output.emit(Document(["name": item.nameText, "jwe": text]), sentence: "")
        }
        var members =
            item.members + ["comment": item.value(.comment), "keychain": keychain.name] + item.referenceMembers
        if reveal {
            try item.requireNoOneTimePassword(in: keychain)
            members += SecretGet.members(try SecretGet.secret(of: item, in: keychain))
        }
        // Documents have UTC.
        let local: Members = [
            "created": item.attributes[.creationDate]?.date.map { RFC3339.local(from: $0) },
            "modified": item.modified.map { RFC3339.local(from: $0) },
        ]
        try output.emit(Document(members), table: Table(attributes: members.replacing(local)))
    }
}
