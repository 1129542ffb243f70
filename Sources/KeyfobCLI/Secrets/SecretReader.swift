import Foundation
import Keyfob
import KeyfobPrimitives

/// Reads what references mean: each keychain is opened once, and each secret is read once.
struct SecretReader {
    private let global: GlobalOptions
    private var keychains: [(name: String?, keychain: Keychain)] = []
    /// By the text of the reference. `Data` as a key, because texts that look alike may be different names.
    private var values: [Data: SecretBytes] = [:]
    /// The secrets that were read, by the persistent reference of the item, which names its vault; codes by the text
    /// of the reference.
    private var secretsByItem: [Data: SecretBytes] = [:]

    /// Opens the keychain that the options select, if one of the references needs it.
    ///
    /// It is opened first, so that a reference that names the same keychain does not open it again.
    ///
    /// - Throws: The errors of `GlobalOptions.openKeychain`.
    init(for references: [SecretReference], _ global: GlobalOptions) throws {
        self.global = global
        guard references.contains(where: { $0.keychain == nil }) else { return }
        let needsToken = references.contains { [.secret, .otp].contains($0.field) }
        keychains.append((nil, try global.openKeychain(warmsUpToken: needsToken)))
    }

    /// All secrets that were read. Attributes are not among them.
    var secrets: [SecretBytes] { Array(secretsByItem.values) }

    /// Returns what a reference means.
    ///
    /// - Throws: The errors of `PasswordChoice.one` and `Keychain.open`; `KeychainError.itemNotFound` if the item has
    ///   no such field.
    mutating func value(of reference: SecretReference) throws -> SecretBytes {
        let key = Data(reference.description.utf8)
        if let known = values[key] { return known }
        let keychain = try keychain(reference.keychain)
        let value: SecretBytes
        if reference.field == .otp {
            let item = try OTPSelection.one(reference.name, user: reference.choice.user, in: keychain)
            value = SecretBytes(utf8: try keychain.oneTimePassword(of: item).code(at: Date()).text)
            secretsByItem[key] = value
        } else {
            let item = try reference.choice.one(reference.name, in: keychain)
            value = try self.value(reference.field, of: item, in: keychain)
        }
        values[key] = value
        return value
    }

    private mutating func value(
        _ field: SecretReference.Field, of item: Item, in keychain: Keychain
    ) throws -> SecretBytes {
        guard field == .secret else {
            guard let text = item.text(ofField: field), !text.isEmpty else {
                let name = TerminalSafe.text(item.nameText)
                throw KeychainError(
                    .itemNotFound, "\"\(name)\" in keychain \"\(keychain.name)\" has no \(field.rawValue).",
                    hint: "What it has: "
                        + Wording(keychain: keychain.name).keyfob("secret show " + ShellWord.operand(item.nameText)),
                    details: ["name": item.nameText, "keychain": keychain.name])
            }
            return SecretBytes(utf8: text)
        }
        try item.requireNoOneTimePassword(in: keychain)
        if let reference = item.reference, let known = secretsByItem[reference.data] { return known }
        let secret = try SecretGet.secret(of: item, in: keychain)
        secretsByItem[item.reference?.data ?? Data("\(keychain.name)/\(secretsByItem.count)".utf8)] = secret
        return secret
    }

    private mutating func keychain(_ name: String?) throws -> Keychain {
        let known = keychains.first { entry in
            guard let name else { return entry.name == nil }
            return entry.keychain.name.isIdentical(to: name)
        }
        if let known { return known.keychain }
        var options = try global.keychainOptions()
        // The option names the source for the keychain that the options select.
        options.pinSource = nil
        options.warmsUpToken = true
        let keychain = try Keychain.open(name, options: options)
        keychains.append((name, keychain))
        return keychain
    }
}

extension Item {
    /// An attribute that a reference can name; `nil` if the item's class does not have it.
    fileprivate func text(ofField field: SecretReference.Field) -> String? {
        switch field {
        case .secret, .otp: nil
        case .user: userText
        case .url: itemClass == .internetPassword ? addressText : nil
        case .server: text(.server)
        case .protocol: schemeText
        case .port: attributes[.port]?.number.flatMap { $0 == 0 ? nil : String($0) }
        case .path: text(.path)
        case .label: text(.label)
        case .comment: text(.comment)
        }
    }
}
