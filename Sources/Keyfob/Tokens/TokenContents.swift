public import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL
public import PKCS11

/// What lies on a token, for people who want to look.
public struct TokenContents: Sendable {
    /// One object, without its value.
    public struct Object: Sendable, Hashable {
        /// What it is; `CKA_CLASS`.
        public let objectClass: ObjectClass
        /// Its label; `nil` where it has none or it is not UTF-8.
        public let label: String?
        /// `CKA_ID`; empty where it has none.
        public let id: Data
        /// The kind of key; `nil` for certificates.
        public let keyType: KeyType?
        /// Bits of a key's modulus, curve or value, where the token tells.
        public let sizeInBits: Int?
        /// The algorithm of a private or public key, where its public half is on the token.
        public let algorithm: KeyAlgorithm?
        /// Whether it may leave the token; `CKA_EXTRACTABLE`.
        public let isExtractable: Bool
        /// Whether it is seen only after a login; `CKA_PRIVATE`.
        public let isPrivate: Bool
        /// The keychain that it seals, of all that the user has; `nil` for any other object.
        public let keychain: String?

        /// Whether it seals a keychain.
        public var isWrappingKey: Bool { keychain != nil }
    }

    /// Certificates and keys, by class, label and identifier: a token gives them in any order.
    public let objects: [Object]
    /// How many objects are there that cannot be read: damaged ones, and those that a killed process left half made.
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

    /// What lies on the token in a slot; without a PIN what it shows to everybody. Blocks.
    ///
    /// - Throws: `KeychainError` for what the token refuses, such as a wrong PIN.
    public init(of slot: Slot, pin: SecretBytes?) throws {
        try self.init(of: slot, pin: pin, storedIn: nil)
    }

    /// The same with a PIN of which it is known where it comes from.
    ///
    /// - Parameter source: What gives the same PIN the next time; `nil` for a PIN that a person typed.
    /// - Throws: As `init(of:pin:)`; `pinRemembered` for a stored PIN that was refused before.
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
    /// The algorithm of its public key, where that is known.
    fileprivate var algorithm: KeyAlgorithm? {
        // What libcrypto refuses lies on the token all the same.
        publicKeyInfo.flatMap { try? PublicKey(subjectPublicKeyInfo: $0).algorithm }
    }
}

extension Keychain {
    /// What lies on the keychain's token, the objects that need a login too. Reads the token itself, not the index.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and what the token refuses.
    @available(*, noasync, message: "reads the whole token; call it from a thread of your own")
    public func tokenContents() throws -> TokenContents {
        _ = try keys()
        return try TokenContents(token, owners: WrappingKeyOwners(of: self))
    }

    /// The slot that the keychain's token is in now. Loads the module; nobody is logged in.
    ///
    /// - Throws: `KeychainError`; `moduleNotLoaded`, `tokenAbsent`.
    public func slot() throws -> Slot {
        do { return try token.slot() } catch let error as PKCS11Error {
            guard error.returnValue == .tokenNotPresent else {
                throw KeychainError.token(error, .read, token: token.label, serial: token.uri.serial)
            }
        }
        throw KeychainError(
            .tokenAbsent, "token \"\(token.label)\"\(token.uri.serial.map { " (serial \($0))" } ?? "") is not present.",
            remedies: [Remedy("Insert it, or see what is there", .listTokens)],
            details: ["token": token.label])
    }
}
