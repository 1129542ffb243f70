public import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL
public import PKCS11

/// The objects on a token, for display.
public struct TokenContents: Sendable {
    /// One object, without its value.
    public struct Object: Sendable, Hashable {
        /// The object's class; `CKA_CLASS`.
        public let objectClass: ObjectClass
        /// Its label; `nil` if it has none or it is not UTF-8.
        public let label: String?
        /// `CKA_ID`; empty if it has none.
        public let id: Data
        /// The kind of key; `nil` for certificates.
        public let keyType: KeyType?
        /// Size of a key's modulus, curve or value in bits, if the token reports it.
        public let sizeInBits: Int?
        /// The algorithm of a private or public key, if its public half is on the token.
        public let algorithm: KeyAlgorithm?
        /// Whether the object may leave the token; `CKA_EXTRACTABLE`.
        public let isExtractable: Bool
        /// Whether the object is visible only after a login; `CKA_PRIVATE`.
        public let isPrivate: Bool
        /// The user's keychain that this key seals; `nil` for any other object.
        public let keychain: String?

        /// Whether this key seals a keychain.
        public var isWrappingKey: Bool { keychain != nil }
    }

    /// Certificates and keys, sorted by class, label and identifier, since a token lists them in any order.
    public let objects: [Object]
    /// The number of objects that cannot be read: damaged ones, and those that a killed process left incomplete.
    public let debris: Int

    init(_ store: TokenStore, owners: WrappingKeyOwners = WrappingKeyOwners()) throws {
        let listing = try store.readObjects()
        debris = listing.unread
        objects = listing.objects.map { object in
            Object(
                objectClass: object.objectClass, label: object.label?.text, id: object.id, keyType: object.keyType,
                sizeInBits: object.sizeInBits, algorithm: object.algorithm,
                isExtractable: object.flags.contains(.extractable), isPrivate: object.flags.contains(.isPrivate),
                keychain: owners.keychain(sealedBy: object))
        }.sorted { left, right in
            (left.objectClass.rawValue, left.label ?? "", left.id.hexadecimal)
                < (right.objectClass.rawValue, right.label ?? "", right.id.hexadecimal)
        }
    }

    /// Reads the objects on the token in a slot; without a PIN, those that are visible without a login. Blocks.
    ///
    /// - Throws: `KeychainError` if the token refuses, for example a wrong PIN.
    public init(of slot: Slot, pin: SecretBytes?) throws {
        try self.init(of: slot, pin: pin, storedIn: nil)
    }

    /// Reads the objects on the token in a slot, with a PIN whose source is known. Blocks.
    ///
    /// - Parameters:
    ///   - slot: The slot.
    ///   - pin: The PIN; `nil` to read without a login.
    ///   - source: The source that gives the same PIN the next time; `nil` for a PIN that a person typed.
    /// - Throws: `KeychainError` if the token refuses; `pinRemembered` for a stored PIN that was refused before.
    package init(of slot: Slot, pin: SecretBytes?, storedIn source: PINSource?) throws {
        let info: TokenInfo
        do { info = try slot.tokenInfo() } catch {
            throw KeychainError.token(error, .read, token: "in slot \(slot.id)")
        }
        let store = TokenStore(
            uri: info.uri, softHSM: nil, configuration: SessionPool.Configuration(),
            memory: WrongPINMemory(directories: Directories()), openModule: { slot.module },
            pin: { pin.map { TokenPIN($0, storedIn: source) } })
        try self.init(store)
    }
}

extension TokenObject {
    /// The algorithm of the public key, if it is known.
    fileprivate var algorithm: KeyAlgorithm? {
        // The token may hold a key that libcrypto does not accept.
        publicKeyInfo.flatMap { try? PublicKey(subjectPublicKeyInfo: $0).algorithm }
    }
}

extension KeychainObjects {
    /// The objects on the keychain's token, including those that need a login. Reads the token itself, not the index.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and errors of the token.
    @available(*, noasync, message: "reads the whole token; call it from a thread of your own")
    public func contents() throws -> TokenContents {
        try keychain.withDeadline { [self] in
            _ = try keychain.vaultKeys()
            return try TokenContents(keychain.token, owners: WrappingKeyOwners(of: keychain))
        }
    }

    /// The slot that the keychain's token is in now. Loads the module, but does not log in.
    ///
    /// - Throws: `KeychainError`; `moduleNotLoaded`, `tokenAbsent`.
    public func slot() throws -> Slot {
        try keychain.withDeadline { [self] in
            do { return try keychain.token.slot() } catch let error as PKCS11Error {
                guard error.returnValue == .tokenNotPresent else {
                    throw KeychainError.token(
                        error, .read, token: keychain.token.label, serial: keychain.token.uri.serial)
                }
            }
            throw keychain.token.namingLookalikes(
                KeychainError(
                    .tokenAbsent,
                    "token \"\(keychain.token.label)\"\(keychain.token.uri.serial.map { " (serial \($0))" } ?? "") "
                        + "is not present.",
                    remedies: [Remedy("Insert it, or see what is there", .listTokens)],
                    details: ["token": keychain.token.label]))
        }
    }
}
