import ArgumentParser
import Keyfob

/// Names that a shell offers: quick, silent, and never by asking for a PIN.
enum NameCompletion {
    /// What a person waits for without noticing.
    private static let budget: Duration = .milliseconds(200)

    /// Names of passwords of the keychain on the line, where it is unlocked.
    static var passwords: CompletionKind {
        .custom { words, _, prefix in
            do {
                let keychain = try Keychain.open(keychain(in: words), options: options)
                guard keychain.isUnlocked else { return [] }
                return keychain.passwordNames(prefix: prefix, limit: .max, within: budget)
            } catch {
                return []
            }
        }
    }

    /// Names of keychains.
    static var keychains: CompletionKind {
        .custom { _, _, prefix in
            do {
                return try Keychains().listing().names.filter { $0.utf8.starts(with: prefix.utf8) }
            } catch {
                return []
            }
        }
    }

    private static var options: Keychain.Options {
        var options = Keychain.Options()
        options.isOneShot = true
        options.timeout = budget
        return options
    }

    /// The keychain that the words typed so far name.
    private static func keychain(in words: [String]) -> String? {
        for (word, next) in zip(words, words.dropFirst()) where word == "-k" || word == "--keychain" { return next }
        let joined = words.last { $0.hasPrefix("--keychain=") }.map { String($0.dropFirst(11)) }
        return joined ?? Environment.nonEmpty("KEYFOB_KEYCHAIN")
    }
}
