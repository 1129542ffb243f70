public import Foundation

// MARK: Options of an import

/// The passphrase of the file.
@safe nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = "passphrase"
/// A file keychain of macOS; ignored.
@safe nonisolated(unsafe) public let kSecImportExportKeychain: CFString = "keychain"
/// The access object of a file keychain of macOS; ignored.
@safe nonisolated(unsafe) public let kSecImportExportAccess: CFString = "access"
/// Whether nothing is stored.
@safe nonisolated(unsafe) public let kSecImportToMemoryOnly: CFString = "memory"

// MARK: Members of what an import returns

/// The label.
@safe nonisolated(unsafe) public let kSecImportItemLabel: CFString = "label"
/// SHA-1 of the public key's bytes.
@safe nonisolated(unsafe) public let kSecImportItemKeyID: CFString = "keyid"
/// A `SecTrust` for the chain.
@safe nonisolated(unsafe) public let kSecImportItemTrust: CFString = "trust"
/// An array of certificates, with the identity's own first.
@safe nonisolated(unsafe) public let kSecImportItemCertChain: CFString = "chain"
/// The `SecIdentity`.
@safe nonisolated(unsafe) public let kSecImportItemIdentity: CFString = "identity"
