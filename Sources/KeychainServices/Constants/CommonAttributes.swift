public import Foundation

// MARK: Attributes of every class

/// The access group; by default the first one of the process.
@safe nonisolated(unsafe) public let kSecAttrAccessGroup: CFString = "agrp"
/// When the item may be read; one of the `kSecAttrAccessible…` values.
@safe nonisolated(unsafe) public let kSecAttrAccessible: CFString = "pdmn"
/// A `SecAccessControl`: when the item may be read and which authentication that requires.
@safe nonisolated(unsafe) public let kSecAttrAccessControl: CFString = "accc"
/// Whether the item may be synchronized; stored and matched, never sent anywhere.
@safe nonisolated(unsafe) public let kSecAttrSynchronizable: CFString = "sync"
/// When the item was added.
@safe nonisolated(unsafe) public let kSecAttrCreationDate: CFString = "cdat"
/// When the item was last added or updated.
@safe nonisolated(unsafe) public let kSecAttrModificationDate: CFString = "mdat"
/// The name that is shown to users.
@safe nonisolated(unsafe) public let kSecAttrLabel: CFString = "labl"
/// The token that holds the item.
@safe nonisolated(unsafe) public let kSecAttrTokenID: CFString = "tkid"
/// The name of an object on its token.
@safe nonisolated(unsafe) public let kSecAttrTokenOID: CFString = "toid"
/// An alternative name; for certificates the e-mail addresses.
@safe nonisolated(unsafe) public let kSecAttrAlias: CFString = "alis"
/// The stored form of a persistent reference; no query may name it.
@safe nonisolated(unsafe) public let kSecAttrPersistentReference: CFString = "persistref"
/// The older spelling of `kSecAttrPersistentReference`.
@safe nonisolated(unsafe) public let kSecAttrPersistantReference: CFString = "persistref"

// MARK: Attributes that exist for Apple's own services; stored and matched

/// The synchronization view that the item belongs to.
@safe nonisolated(unsafe) public let kSecAttrSyncViewHint: CFString = "vwht"
/// The sharing group; it cannot be combined with `kSecAttrSynchronizable` or changed by an update.
@safe nonisolated(unsafe) public let kSecAttrSharingGroup: CFString = "ggrp"
/// The user in a keychain for several users: empty, or a UUID of 16 bytes.
@safe nonisolated(unsafe) public let kSecAttrMultiUser: CFString = "musr"
/// Whether the item is the tombstone of a deleted one.
@safe nonisolated(unsafe) public let kSecAttrTombstone: CFString = "tomb"
/// A digest of the whole item, 20 bytes.
@safe nonisolated(unsafe) public let kSecAttrSHA1: CFString = "sha1"
/// Whether the item survives the restoration of a backup.
@safe nonisolated(unsafe) public let kSecAttrSysBound: CFString = "sysb"
/// The item's name in the synchronization, which does not exist here.
@safe nonisolated(unsafe) public let kSecAttrUUID: CFString = "UUID"
/// Internal to Apple's platforms: every call that names it fails with `errSecParam`.
@safe nonisolated(unsafe) public let kSecAttrAppClipItem: CFString = "clip"
/// A number of the synchronization.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextServiceIdentifier: CFString = "pcss"
/// A public key of the synchronization.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicKey: CFString = "pcsk"
/// An identity of the synchronization.
@safe nonisolated(unsafe) public let kSecAttrPCSPlaintextPublicIdentity: CFString = "pcsi"
/// The older name of `kSecUseDataProtectionKeychain`; accepted and ignored.
@safe nonisolated(unsafe) public let kSecAttrNoLegacy: CFString = "nleg"
/// The access object of a file keychain of macOS; no class here has it.
@safe nonisolated(unsafe) public let kSecAttrAccess: CFString = "acls"

// MARK: Values of kSecAttrSynchronizable, kSecAttrAccessGroup and kSecAttrTokenID

/// In a query: matches synchronizable and other items.
@safe nonisolated(unsafe) public let kSecAttrSynchronizableAny: CFString = "syna"
/// The access group of items on foreign tokens; readable and never writable.
@safe nonisolated(unsafe) public let kSecAttrAccessGroupToken: CFString = "com.apple.token"
/// Apple's name for the Secure Enclave; here it stands for the keychain's token.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"
/// The key store of Apple's kernel.
@safe nonisolated(unsafe) public let kSecAttrTokenIDAppleKeyStore: CFString = "com.apple.setoken:aks"
/// The Secure Element of Apple's devices.
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureElement: CFString = "com.apple.secelemtoken"
