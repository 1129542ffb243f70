public import Foundation

// NSString is not Sendable, but these literals are immutable, so any thread may read them.

// MARK: The class of an item

/// The key for the class of an item.
@safe nonisolated(unsafe) public let kSecClass: CFString = "class"
/// A password for anything but an internet service.
@safe nonisolated(unsafe) public let kSecClassGenericPassword: CFString = "genp"
/// A password for a server.
@safe nonisolated(unsafe) public let kSecClassInternetPassword: CFString = "inet"
/// An X.509 certificate.
@safe nonisolated(unsafe) public let kSecClassCertificate: CFString = "cert"
/// A cryptographic key.
@safe nonisolated(unsafe) public let kSecClassKey: CFString = "keys"
/// A certificate together with its private key; a join that is never stored.
@safe nonisolated(unsafe) public let kSecClassIdentity: CFString = "idnt"
/// A class without items: every call with it fails with `errSecNoSuchClass`.
@safe nonisolated(unsafe) public let kSecClassAppleSharePassword: CFString = "apls"
