public import Foundation
import PKCS11

/// The configuration of a keychain: its token, its vault, and the source of its PIN.
///
/// It is stored as JSON in the keychain's directory. It never contains the PIN in clear: if a passphrase protects the
/// PIN, it contains the PIN sealed under the passphrase.
public struct KeychainConfiguration: Encodable, Sendable {
    /// The format of the file.
    public static let schema = "keyfob/keychain/v1"

    /// The directory of all files of the keychain. It is not written into the file.
    public internal(set) var directory: URL
    /// The format of this file.
    public var schema: String
    /// The name of the keychain.
    public var name: String
    /// The name that the keychain is being given; with it, the file is valid before and after its directory is renamed.
    package var newName: String?
    /// The identifier of the keychain, which does not depend on its name.
    public var uuid: UUID
    /// The token, as an RFC 7512 URI; never a slot number.
    public var token: String
    /// The location of the token's module.
    public var module: ModuleLocation
    /// The source of the PIN or passphrase, in the grammar of ``PINSource``; `nil` asks the user.
    public var pinSource: String?
    /// The PIN sealed under the passphrase; only for tokens that Keyfob made.
    public var sealedPIN: PassphraseSeal?
    /// The PIN sealed under the recovery code.
    public var recoverySeal: PassphraseSeal?
    /// The seconds until an unlocked keychain locks itself, up to ``UnlockedState/longestTimeout``; 0 for never.
    public var unlockTimeout: Int
    /// Whether a secret that a person enters for one command keeps the keychain unlocked; `nil` for the default.
    package var unlockOnUse: Bool?
    /// The access groups of programs that use Apple's functions and choose none; `nil` for the group without a name.
    public var accessGroups: [String]?
    /// The `CKA_ID` of the key that seals the keychain, in hexadecimal digits.
    ///
    /// The vault names the key too. An attacker who can write only the vault cannot choose another key pair, nor make
    /// the key an ordinary item.
    package var wrappingKeyID: String?
    /// The wrap suite by its JOSE name, or ``noWrapSuite``.
    package var wrapSuite: String?
    /// The time at which the keychain was made.
    public var created: Date

    private enum CodingKeys: String, CodingKey {
        case schema, name, newName, uuid, token, module, pinSource, sealedPIN, recoverySeal, unlockTimeout, unlockOnUse
        case accessGroups, wrappingKeyID, wrapSuite, created
    }

    /// The wrap suite of a keychain whose token wraps no keys.
    package static let noWrapSuite = "none"

    /// Whether passwords can be stored: a key on the token seals them.
    ///
    /// A keychain without such a key holds keys, certificates and identities.
    public var takesPasswords: Bool { wrapSuite != Self.noWrapSuite }

    /// The label of the first key that seals passwords.
    ///
    /// On a token that Keyfob did not make, the label contains the name of the keychain.
    package var wrappingKeyLabel: String { Self.wrappingKeyLabel(of: name, on: module) }

    /// Returns the label of the first key that seals passwords, for a keychain that is not made yet.
    package static func wrappingKeyLabel(of name: String, on module: ModuleLocation) -> String {
        module == .softHSM ? "keyfob-wrap-1" : "keyfob-wrap-1-\(name)"
    }

    /// The protection of the PIN, in words for `keyfob status`.
    public var protection: String { Self.protection(isSealed: sealedPIN != nil, pinSource: pinSource) }

    /// Returns the protection of the PIN in words, for a keychain that is not made yet.
    package static func protection(isSealed: Bool, pinSource: String?) -> String {
        if isSealed { return "a passphrase (scrypt) seals the token's PIN" }
        guard let pinSource else { return "the token's PIN is asked for" }
        if pinSource.hasPrefix("file:") { return "the token's PIN lies in a file that only its owner can read" }
        return "the token's PIN comes from \(pinSource.prefix { $0 != ":" })"
    }
}

/// The files of a keychain.
///
/// They are all in its directory, so the directory can be moved or copied as a whole.
extension KeychainConfiguration {
    /// The vault: one SQLite database.
    ///
    /// During a transaction SQLite keeps its journal beside it, in `vault.sqlite-journal`.
    public var vault: String { file("vault.sqlite").filePath }

    /// The token's PIN, for a keychain that opens unattended on a token that Keyfob made.
    var pinFile: URL { file("pin") }

    /// The lock of the processes that write to the token.
    var lockFile: URL { file("lock") }

    /// The lock of the processes that change the configuration.
    ///
    /// It differs from ``lockFile``, because a writer to the token may record the token's label.
    var configurationLock: URL { file("keychain.lock") }

    /// The file of the configuration.
    var configurationFile: URL { file(Self.fileName) }

    /// The name of a configuration's file.
    static let fileName = "keychain.json"

    /// The PIN source that the file contains for the PIN in the keychain's own directory.
    static let ownPINSource = "file:"

    private func file(_ name: String) -> URL { directory.appendingPathComponent(name, isDirectory: false) }

    /// Returns a PIN source of the configuration file with the path of the keychain's own PIN file.
    func resolved(pinSource: String) -> String {
        pinSource == Self.ownPINSource ? PINSource.file(pinFile.path).description : pinSource
    }

    /// The configuration as it is written, without the path of the directory, which may be moved.
    var written: Self {
        var written = self
        if pinSource == resolved(pinSource: Self.ownPINSource) { written.pinSource = Self.ownPINSource }
        return written
    }
}
