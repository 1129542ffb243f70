public import Foundation
import PKCS11

/// What a keychain's name stands for: a token, a vault and a way to the PIN.
///
/// Kept as JSON in the keychain's directory. It contains no PIN. Where a passphrase protects the PIN, it contains the PIN
/// sealed under the passphrase.
public struct KeychainConfiguration: Encodable, Sendable {
    /// The form of the file.
    public static let schema = "keyfob/keychain/v1"

    /// The keychain's directory, which holds all its files. It is not written into the file.
    public internal(set) var directory: URL
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

    private enum CodingKeys: String, CodingKey {
        case schema, name, uuid, token, module, pinSource, sealedPIN, recoverySeal, unlockTimeout, accessGroups
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

/// The files of a keychain. All of them are in its directory, so that a directory that is moved or copied stays whole.
extension KeychainConfiguration {
    /// The vault: one SQLite database.
    ///
    /// During a transaction SQLite keeps its journal beside it, in `vault.sqlite-journal`.
    public var vault: String { file("vault.sqlite").filePath }

    /// The token's PIN, for a keychain that opens unattended on a token that Keyfob made.
    var pinFile: URL { file("pin") }

    /// The lock of the processes that write to the token.
    var lockFile: URL { file("lock") }

    /// The saved copy of the state of a SoftHSM token that Keyfob made.
    var tokenCopy: URL { file("token.object") }

    /// The configuration itself.
    var configurationFile: URL { file(Self.fileName) }

    /// The name of a configuration's file.
    static let fileName = "keychain.json"

    /// The PIN source in the file for the PIN in the keychain's own directory.
    static let ownPINSource = "file:"

    private func file(_ name: String) -> URL { directory.appendingPathComponent(name, isDirectory: false) }

    /// The PIN source that the configuration file names, with the path of the keychain's own PIN file.
    func resolved(pinSource: String) -> String {
        pinSource == Self.ownPINSource ? PINSource.file(pinFile.path).description : pinSource
    }

    /// The configuration as it is written: without the path of the directory, which may be moved.
    var written: Self {
        var written = self
        if pinSource == resolved(pinSource: Self.ownPINSource) { written.pinSource = Self.ownPINSource }
        return written
    }
}
