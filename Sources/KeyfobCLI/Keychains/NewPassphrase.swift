import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// A new passphrase for a keychain.
struct NewPassphrase: ParsableArguments {
    @Flag(help: "Accept a passphrase of fewer than 8 characters.")
    var allowWeak = false

    /// Reads the passphrase from a source, or asks for it twice.
    ///
    /// A person who enters a short passphrase is asked again, up to three times.
    ///
    /// - Parameters:
    ///   - source: The source; `nil` to ask.
    ///   - keychain: The name of the keychain.
    ///   - prompt: The prompt, with its colon and blank.
    ///   - hint: What to do instead if the question cannot be asked.
    /// - Returns: The passphrase.
    /// - Throws: `KeychainError` of the source; `refused` for a short passphrase; `pinRequired` if the question cannot
    ///   be asked. `UsageError` for an empty one.
    func read(
        from source: PINSource?, keychain: String, prompt: String, hint: String, _ global: GlobalOptions
    ) throws -> SecretBytes {
        if let source, source != .prompt {
            let environment = global.pinEnvironment(noInput: !global.terminal.mayAsk)
            let passphrase = try source.read(.newPassphrase(keychain: keychain), from: environment)
            if !allowWeak { try PassphraseStrength.check(passphrase) }
            return passphrase
        }
        return try global.terminal.readNewSecret(prompt, hint: hint) { passphrase in
            guard !passphrase.isEmpty else {
                throw UsageError(
                    "the passphrase must not be empty; nothing was made.", hint: "To use no passphrase: --unattended")
            }
            if !allowWeak { try PassphraseStrength.check(passphrase) }
        }
    }

    /// The source in a form for the configuration; `nil` for a source that cannot be read again later.
    static func lasting(_ source: PINSource) -> PINSource? {
        let text = source.description
        if text.hasPrefix("file:") {
            let path = String(text.dropFirst(5))
            return path.hasPrefix("~/") ? source : .file(URL(fileURLWithPath: path).standardizedFileURL.path)
        }
        return ["credential:", "cmd:", "pinentry"].contains { text.hasPrefix($0) } ? source : nil
    }
}
