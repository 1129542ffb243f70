import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob secret generate`: creates and stores a random secret.
struct SecretGenerate: OutputCommand {
    static let configuration = CommandConfiguration(
        "generate", "Make a random secret and store it; it is printed only with --print.",
        examples: Examples(
            "keyfob secret generate db/prod --user app",
            "keyfob secret generate session/key --length 64 --charset hex",
            "keyfob secret generate door/code --length 8 --charset digits --print"))

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Option(name: [.customShort("l"), .long], help: ArgumentHelp("The number of characters.", valueName: "number"))
    var length = 32

    @Option(help: ArgumentHelp("alnum, ascii, hex or digits.", valueName: "name"))
    var charset: Alphabet = .alnum

    @Flag(name: .customLong("print"), help: "Also print the secret.")
    var isPrinted = false

    @OptionGroup(title: "Existing items")
    var storing: SecretStoring

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        try selection.check(name: name)
        try storing.check()
        guard (1...65_536).contains(length) else {
            throw UsageError("a secret has 1 to 65536 characters.", hint: "Give another --length")
        }
        let item = try selection.choice.newItem(name, label: storing.label, comment: storing.comment)
        let keychain = try global.openKeychain()
        var secret = try charset.text(length: length)
        let (action, changed) = try storing.store(
            item, called: name, as: selection.choice, in: keychain, isDryRun: global.dryRun
        ) { secret }
        guard isPrinted, !global.dryRun || output.format.isMachineReadable else {
            return try SecretStoring.report(global.effect(action), name, changed, keychain, output)
        }
        // A dry run does not print a secret, and the generated one is not stored.
        if action == .none, !global.dryRun {
            // Prints the stored secret, so that a repeated script gets the same value. The generated one was not
            // stored.
            guard let stored = try keychain.stored(like: item) else {
                throw keychain.noSuchPassword(name, user: item.userText)
            }
            secret = try SecretGet.secret(of: stored, in: keychain)
        }
        guard !output.format.isMachineReadable else {
            return try output.emit(
                SecretStoring.document(
                    global.effect(action), changed, keychain, and: SecretGet.members(global.dryRun ? nil : secret)),
                sentence: "")
        }
        // Prints only the secret on standard output, so that it can be piped.
        guard action != .none else { return try SecretGet.print(secret) }
        try Output.afterChange { try SecretGet.print(secret) }
    }
}
