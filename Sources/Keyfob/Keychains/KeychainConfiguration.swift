public import Foundation
import PKCS11

/// What a keychain's name stands for: a token, a vault and a way to the PIN.
///
/// Kept as JSON in the configuration directory, one file for each keychain. It holds no PIN; where a
/// passphrase protects one, it holds the PIN sealed under the passphrase.
public struct KeychainConfiguration: Codable, Sendable {
    /// The form of the file.
    public static let schema = "keyfob/keychain/v1"

    /// The form this file has.
    public var schema: String
    /// The name.
    public var name: String
    /// Identifies the keychain whatever its name.
    public var uuid: UUID
    /// The token, as an RFC 7512 URI; never a slot number.
    public var token: String
    /// Where the token's module comes from.
    public var module: ModuleLocation
    /// Path of the vault.
    public var vault: String
    /// Where the PIN or passphrase comes from, in the grammar of ``PINSource``; `nil` asks a person.
    public var pinSource: String?
    /// The PIN under the passphrase; only for tokens that Keyfob made.
    public var sealedPIN: PassphraseSeal?
    /// The PIN under the recovery code.
    public var recoverySeal: PassphraseSeal?
    /// Seconds until an unlocked keychain locks itself, up to ``UnlockedState/longestTimeout``; 0 never.
    public var unlockTimeout: Int
    /// The access groups of programs that use Apple's functions and choose none; `nil` for the one without a name.
    public var accessGroups: [String]?
    /// When the keychain was made.
    public var created: Date
    /// The vault that the file names, where Keyfob made it in another directory and there is none of it in ours. Never
    /// written.
    var vaultElsewhere: String?

    private enum CodingKeys: String, CodingKey {
        case schema, name, uuid, token, module, vault, pinSource, sealedPIN, recoverySeal, unlockTimeout, accessGroups
        case created
    }

    /// Where a PKCS#11 module comes from.
    public enum ModuleLocation: Codable, Sendable, Hashable {
        /// SoftHSM with Keyfob's own directory of tokens.
        case softHSM
        /// A shared library.
        case path(String)
        /// A module by its name in p11-kit's configuration.
        case registered(String)
    }

    /// The label of the first key that seals passwords, which on a token of others says whose it is.
    package var wrappingKeyLabel: String { Self.wrappingKeyLabel(of: name, on: module) }

    /// The same for a keychain that is not made yet.
    package static func wrappingKeyLabel(of name: String, on module: ModuleLocation) -> String {
        module == .softHSM ? "keyfob-wrap-1" : "keyfob-wrap-1-\(name)"
    }

    /// How the PIN is protected, in words for `keyfob status`.
    public var protection: String { Self.protection(isSealed: sealedPIN != nil, pinSource: pinSource) }

    /// The same for a keychain that is not made yet.
    package static func protection(isSealed: Bool, pinSource: String?) -> String {
        if isSealed { return "a passphrase (scrypt) seals the token's PIN" }
        guard let pinSource else { return "the token's PIN is asked for" }
        if pinSource.hasPrefix("file:") { return "the token's PIN lies in a file that only its owner can read" }
        return "the token's PIN comes from \(pinSource.prefix { $0 != ":" })"
    }
}

extension KeychainConfiguration {
    /// The configuration where the home directory was moved, copied, or restored under another name since it was
    /// written: a vault that Keyfob made is the one in our directory, also where that is not there; so is the file of
    /// the PIN.
    ///
    /// A copy that went on with the vault of the original would change that, leave its own plans in it, and remove it
    /// with itself.
    func moved(to directories: Directories) -> KeychainConfiguration {
        let stem = uuid.uuidString.lowercased()
        var moved = self
        if let own = Self.own("", vault, "/vaults/\(stem).sqlite", directories) {
            moved.vault = own
            if unsafe access(own, F_OK) != 0 { moved.vaultElsewhere = vault }
        }
        if let pinSource, let own = Self.own("file:", pinSource, "/pins/\(stem).pin", directories) {
            moved.pinSource = own
        }
        return moved
    }

    /// Where Keyfob keeps the PIN of a token that it made for a keychain, if it keeps it in a file.
    static func pinFile(of uuid: UUID, in directories: Directories) -> URL {
        directories.data.appendingPathComponent("pins", isDirectory: true)
            .appendingPathComponent(uuid.uuidString.lowercased() + ".pin", isDirectory: false)
    }

    /// Our file of that name behind a scheme, where `other` names one elsewhere.
    private static func own(
        _ scheme: String, _ other: String, _ name: String, _ directories: Directories
    ) -> String? {
        let path = directories.data.filePath + name
        guard other.hasPrefix(scheme), other.hasSuffix(name), other != scheme + path else { return nil }
        return scheme + path
    }
}
