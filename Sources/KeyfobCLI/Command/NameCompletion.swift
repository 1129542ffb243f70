import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// Completes names: quickly, silently and without asking for a PIN.
enum NameCompletion {
    /// The longest time for a completion; a delay that a person does not notice.
    private static let budget: Duration = .milliseconds(200)

    /// Names of passwords in the keychain on the line, if it is unlocked.
    static var passwords: CompletionKind {
        names { words, start in
            let keychain = try open(words)
            guard keychain.isUnlocked else { return [] }
            return keychain.passwordNames(prefix: start, limit: .max, within: budget)
        }
    }

    /// Names of one-time passwords in the keychain on the line, if it is unlocked.
    static var oneTimePasswords: CompletionKind {
        names { words, start in
            let keychain = try open(words)
            guard keychain.isUnlocked else { return [] }
            let prefix = OneTimePasswordItem.prefix
            return keychain.passwordNames(prefix: prefix + start, limit: .max, within: budget).compactMap {
                $0.dropping(prefix: prefix)
            }
        }
    }

    /// Names of keychains.
    static var keychains: CompletionKind {
        names { _, _ in try Keychains().listing().names }
    }

    /// Names of identities and certificates, and of keys if the keychain is unlocked.
    static var objects: CompletionKind {
        labels { keychain in
            var names = try keychain.certificates.publicCertificates().map(\.label)
            if keychain.isUnlocked { names += try keychain.find(.keys).map(\.label) }
            return names
        }
    }

    /// Names of identities, or of all certificates while the keychain is locked, because the keys cannot be listed
    /// then.
    static var identities: CompletionKind {
        labels { keychain in
            guard keychain.isUnlocked else { return try keychain.certificates.publicCertificates().map(\.label) }
            return try keychain.find(.identities).map(\.label)
        }
    }

    /// Names of certificates.
    static var certificateNames: CompletionKind {
        labels { keychain in try keychain.certificates.publicCertificates().map(\.label) }
    }

    /// Names of keys, and of identities, which stand for their keys.
    static var keys: CompletionKind {
        labels { keychain in
            guard keychain.isUnlocked else { return try keychain.certificates.publicCertificates().map(\.label) }
            var names = try keychain.find(.keys).map(\.label)
            names += try keychain.find(.identities).map(\.label)
            return names
        }
    }

    /// Names of keys only, if the keychain is unlocked.
    static var keysAlone: CompletionKind {
        labels { keychain in
            guard keychain.isUnlocked else { return [] }
            return try keychain.find(.keys).map(\.label)
        }
    }

    /// Names of certificates and files, for arguments that take either.
    static var certificates: CompletionKind {
        names { words, start in
            // Without a keychain, only files are offered.
            let items = (try? open(words).certificates.publicCertificates()) ?? []
            return files(start) + items.compactMap(\.label)
        }
    }

    /// Labels of the tokens that have keychains. Modules are not loaded, because some take seconds.
    static var tokens: CompletionKind {
        names { _, _ in try Keychains().listing().keychains.map(\.tokenLabel) }
    }

    /// The labels that `find` returns for the keychain on the line.
    private static func labels(_ find: @escaping @Sendable (Keychain) throws -> [String?]) -> CompletionKind {
        names { words, _ in try find(open(words)).compactMap(\.self) }
    }

    /// The names that `find` returns for the words of the line and the start of the last word.
    private static func names(
        _ find: @escaping @Sendable (_ words: [String], _ start: String) throws -> [String]
    ) -> CompletionKind {
        .custom { words, _, prefix in
            let start = literalStart(of: prefix)
            // An error leaves nothing to complete, and there is no place to print it.
            let found = (try? find(words, start)) ?? []
            let fitting = Set(found).filter { $0.utf8.starts(with: start.utf8) }.sorted()
            return candidates(fitting, for: CompletionShell.requesting)
        }
    }

    /// The files in the directory part of a path; directories have a trailing slash.
    private static func files(_ start: String) -> [String] {
        let folder = start.lastIndex(of: "/").map { String(start[...$0]) } ?? ""
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder) } catch {
            return []
        }
        let isHiddenWanted = start.dropFirst(folder.count).hasPrefix(".")
        return names.filter { isHiddenWanted || !$0.hasPrefix(".") }.map { name in
            var isFolder: ObjCBool = false
            _ = unsafe FileManager.default.fileExists(atPath: folder + name, isDirectory: &isFolder)
            return folder + name + (isFolder.boolValue ? "/" : "")
        }
    }

    /// Quotes names for the completion script of `shell`.
    ///
    /// Every process that can write to the keychain can choose names. bash expands the words of `compgen -W`, so it
    /// would run `$(…)` in a name when Tab is pressed. zsh treats the text after a colon as a description. All shells
    /// treat each line as a candidate.
    ///
    /// Names that start with a hyphen would be options, and are omitted. For bash, names with a dollar sign or backtick
    /// are omitted, because readline inserts them unquoted, as variables of a path.
    static func candidates(_ names: [String], for shell: CompletionShell?) -> [String] {
        names.filter { name in
            name.utf8.first != UInt8(ascii: "-")
                && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
                && !(shell == .bash && name.contains(scalarOf: "$`"))
        }.map { name in
            switch shell {
            case .bash?: ShellWord.singleQuoted(name)
            case .zsh?: name.escaping("\\:")
            default: name
            }
        }
    }

    /// The start of a word that is the same before and after the shell removes quotes. The shell itself matches the
    /// whole word.
    static func literalStart(of word: String) -> String {
        String(word.unicodeScalars.prefix { !"\\'\"$`~".unicodeScalars.contains($0) })
    }

    /// Opens the keychain named by the words typed so far, else by the environment, in the same order as for commands.
    private static func open(_ words: [String]) throws -> Keychain {
        var options = Keychain.Options()
        (options.isOneShot, options.endsWhenModuleHangs) = (true, true)
        options.timeout = budget
        let named = try SelectedKeychain.keychain(in: words) ?? Environment.nonEmpty("KEYFOB_KEYCHAIN")
        let token = named == nil ? Environment.nonEmpty("KEYFOB_TOKEN") : nil
        return try Keychain.open(named ?? token.map(GlobalOptions.keychainName(onToken:)), options: options)
    }
}
