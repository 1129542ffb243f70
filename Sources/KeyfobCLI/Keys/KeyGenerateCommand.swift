import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// `keyfob key generate`: generates a key on the token.
struct KeyGenerateCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "generate", "Make a key on the token.",
        examples: Examples(
            "keyfob key generate api --type ec --curve p256", "keyfob key generate web --type rsa --size 3072",
            "keyfob key generate ci --type ed25519 --if-missing"),
        discussion: "The key cannot leave the token, unless --extractable is given; this cannot be changed later.")

    /// A kind of key.
    enum Kind: String, CaseIterable, ExpressibleByArgument { case rsa, ec, ed25519, aes }

    /// A curve for EC keys.
    enum Curve: String, CaseIterable, ExpressibleByArgument { case p256, p384, p521 }

    @Argument(help: "The name of the key.")
    var name: String

    @Option(help: "rsa, ec, ed25519 or aes.")
    var type: Kind = .ec

    @Option(help: "The size in bits of an RSA key (2048 to 4096, default 3072) or AES key (128 to 256, default 256).")
    var size: Int?

    @Option(help: "The curve of an EC key: p256 (the default), p384 or p521.")
    var curve: Curve?

    @Flag(help: "Allow the key to leave the token.")
    var extractable = false

    @Flag(help: "Do nothing if a key has the name.")
    var ifMissing = false

    @OptionGroup var mixedKeys: MixedKeysOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try NewName.check(name)
        if size != nil, type == .ec || type == .ed25519 {
            throw ValidationError("--size is for RSA and AES; an EC key has a --curve.")
        }
        if curve != nil, type != .ec { throw ValidationError("--curve is for EC keys.") }
    }

    private var specification: KeySpecification {
        switch (type, curve ?? .p256) {
        case (.rsa, _): .rsa(bits: size ?? 3072)
        case (.aes, _): .aes(bits: size ?? 256)
        case (.ed25519, _): .ed25519
        case (.ec, .p256): .p256
        case (.ec, .p384): .p384
        case (.ec, .p521): .p521
        }
    }

    func run(_ output: Output) throws {
        try specification.validate()
        let keychain = try global.openKeychainOrToken()
        if let existing = try existing(in: keychain) { return try emit(existing, isNew: false, keychain, output) }
        guard try !keychain.objects.wrappingKeyNames().contains(name) else {
            throw KeychainError(
                .duplicateItem, "\"\(name)\" is the key that seals \(keychain.title).",
                hint: "Choose another name.")
        }
        if type != .aes { try mixedKeys.check(adding: [type == .ed25519], to: keychain) }
        guard !global.dryRun else {
            return try output.emit(
                document(KeyPhrases.members(nil, nil, uri: nil, known: known), isNew: true, keychain),
                sentence: "Would generate \"\(TerminalSafe.text(name))\": \(specification).")
        }
        do {
            let key = try keychain.keys.generate(
                specification, label: name, isExtractable: extractable, isLabelUnique: true)
            try emit(key, isNew: true, keychain, output)
            try OpenSSLEngine.warn(of: keychain, output)
            try ExtractionNote.warn(of: key, in: keychain, output)
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another process has made the key first.
            guard let existing = try existing(in: keychain) else { throw error }
            try emit(existing, isNew: false, keychain, output)
        }
    }

    /// The key with this name, if there is one.
    ///
    /// - Throws: `KeychainError.duplicateItem` if the key exists and `--if-missing` is not set.
    private func existing(in keychain: Keychain) throws -> KeyItem? {
        let keys = try ItemName.keys(in: keychain)
        guard let existing = keys.first(where: { $0.label?.isIdentical(to: name) ?? false }) else { return nil }
        guard ifMissing else {
            throw KeychainError(
                .duplicateItem, "a key \"\(name)\" exists already on token \"\(keychain.tokenLabel)\".",
                hint: "Choose another name. Keep it: --if-missing",
                details: ["key": name, "token": keychain.tokenLabel])
        }
        return existing
    }

    /// The values known before the key is made. The uses are missing, because the token may restrict them.
    private var known: Members {
        let bits: Int? = switch (type, curve ?? .p256) {
        case (.rsa, _): size ?? 3072
        case (.aes, _): size ?? 256
        case (.ed25519, _): nil
        case (.ec, .p256): 256
        case (.ec, .p384): 384
        case (.ec, .p521): 521
        }
        return [
            "name": name, "class": type == .aes ? "secret" : "private", "type": specification.description, "bits": bits,
            "extractable": extractable, "sensitive": true,
        ]
    }

    private func document(_ members: Members, isNew: Bool, _ keychain: Keychain) -> Document {
        Document(global.effect(isNew ? .create : .none), ["keychain": keychain.nameInDocuments] + members)
    }

    private func emit(_ key: KeyItem, isNew: Bool, _ keychain: Keychain, _ output: Output) throws {
        let publicKey = try keychain.keys.publicKey(of: key)
        let document = self.document(
            KeyPhrases.members(key, publicKey, uri: try keychain.objects.uri(of: key).description), isNew: isNew,
            keychain)
        let token = TerminalSafe.text(keychain.tokenLabel)
        let uses = KeyPhrases.uses(key)
        let phrase = uses == ["sign"] ? "sign only" : uses.joined(separator: ", ")
        let leave = key.isExtractable ? "extractable" : "not extractable"
        let shown = TerminalSafe.text(name)
        try output.emit(
            document,
            sentence: isNew
                ? "Generated \"\(shown)\" on \"\(token)\": \(KeyPhrases.kind(key, publicKey)), \(phrase), \(leave)."
                : "Nothing to do: key \"\(shown)\" exists on \"\(token)\" (\(KeyPhrases.kind(key, publicKey))).")
    }
}
