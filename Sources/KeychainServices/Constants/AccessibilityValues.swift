public import Foundation

// MARK: Values of kSecAttrAccessible

/// While the keychain is unlocked; the default of passwords and keys.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
/// From the first unlock until the session ends.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
/// Always; the default of certificates.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlways: CFString = "dk"
/// While the keychain is unlocked; never leaves this device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
/// From the first unlock until the session ends; never leaves this device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
/// Always; never leaves this device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
/// While the keychain is unlocked and the token has a PIN; never leaves this device.
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
/// The name of `kSecAttrAccessibleAlways` that is not deprecated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysPrivate: CFString = "dk"
/// The name of `kSecAttrAccessibleAlwaysThisDeviceOnly` that is not deprecated.
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnlyPrivate: CFString = "dku"
/// Until the machine restarts; no item can have it.
@safe nonisolated(unsafe) public let kSecAttrAccessibleUntilReboot: CFString = "f"
