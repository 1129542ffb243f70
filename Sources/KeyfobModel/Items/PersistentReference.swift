public import Foundation
import KeyfobPrimitives
public import KeyfobSystem

/// A name for one item that survives everything but the item's deletion.
///
/// The first 20 bytes have Apple's shape: the class in four ASCII characters, then the item's 16-byte
/// identity. For objects on a token a locator follows, so that the object is found by one search even
/// by a process that has never seen it: version (1 byte, 1), the token's serial number (1 byte of
/// length, UTF-8), the object's `CKA_ID` (1 byte of length, bytes) and a hint (8 bytes, big-endian): the
/// handle the object had when the reference was made. The hint is believed only by the process and the
/// module generation that made it; before anything is changed class and fingerprint are read back.
///
/// A reference survives a new label, a new primary key, other objects coming and going, a restart, a
/// slot that is renumbered and a token that is replugged. Its bytes are opaque to callers.
public struct PersistentReference: Hashable, Sendable {
    /// The class of the item.
    public let itemClass: ItemClass
    /// The item's identity, 16 bytes.
    public let identity: Data
    /// Where on a token the object is; `nil` for passwords.
    package let locator: Locator?

    package struct Locator: Hashable, Sendable {
        package let serialNumber: String
        package let objectID: Data
        package let hint: UInt64

        package init(serialNumber: String, objectID: Data, hint: UInt64) {
            self.serialNumber = serialNumber
            self.objectID = objectID
            self.hint = hint
        }
    }

    package init(itemClass: ItemClass, identity: Data, locator: Locator? = nil) {
        self.itemClass = itemClass
        self.identity = identity
        self.locator = locator
    }

    /// Two references are the same when class and identity are: a locator may be newer in one of them.
    public static func == (left: Self, right: Self) -> Bool {
        left.itemClass == right.itemClass && left.identity == right.identity
    }

    /// Hashes class and identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(itemClass)
        hasher.combine(identity)
    }
}

extension PersistentReference {
    /// Parses the bytes of a reference.
    ///
    /// - Throws: `KeychainError` with code `invalidReference` for anything that is not one. Bytes that are
    ///   well-formed but name no item are accepted here and not found later.
    public init(_ bytes: Data) throws(KeychainError) {
        guard let parsed = Self.parse(bytes) else {
            throw KeychainError(
                .invalidReference, "these \(bytes.count) bytes are not a persistent reference.",
                hint: "Use the bytes that the keychain returned, whole and unchanged.")
        }
        self = parsed
    }

    private static func parse(_ data: Data) -> PersistentReference? {
        let bytes = [UInt8](data)
        guard bytes.count >= 20,
            let tag = String(validating: bytes[..<4], as: UTF8.self), let itemClass = ItemClass(rawValue: tag)
        else { return nil }
        let identity = Data(bytes[4..<20])
        guard bytes.count > 20 else {
            return PersistentReference(itemClass: itemClass, identity: identity)
        }
        var rest = bytes[20...]
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        guard itemClass.livesOnToken, take(1)?.first == 1,
            let serialCount = take(1)?.first, let serial = take(Int(serialCount)),
            let serialNumber = String(validating: serial, as: UTF8.self),
            let idCount = take(1)?.first, let objectID = take(Int(idCount)),
            let hintBytes = take(8), let hint = UInt64(bigEndianBytes: hintBytes), rest.isEmpty
        else { return nil }
        return PersistentReference(
            itemClass: itemClass, identity: identity,
            locator: Locator(serialNumber: serialNumber, objectID: Data(objectID), hint: hint))
    }

    /// The bytes to keep. They hold no secret, and no attribute but the token's serial number and the object's id.
    public var data: Data {
        var bytes = Data(itemClass.rawValue.utf8) + identity
        guard let locator else { return bytes }
        // A serial number has at most 16 characters, and an id that we wrote has 20 bytes. A longer id of another
        // program's object is left out; the object is then found by its fingerprint.
        let serial = Array(locator.serialNumber.utf8.prefix(255))
        let objectID = locator.objectID.count <= 255 ? locator.objectID : Data()
        bytes.append(1)
        bytes.append(UInt8(serial.count))
        bytes.append(contentsOf: serial)
        bytes.append(UInt8(objectID.count))
        bytes.append(objectID)
        bytes.append(contentsOf: locator.hint.bigEndianBytes)
        return bytes
    }

    /// The same item under another class tag: an identity is named by its certificate.
    package func retagged(_ itemClass: ItemClass) -> PersistentReference {
        PersistentReference(itemClass: itemClass, identity: identity, locator: locator)
    }
}

extension PersistentReference: CustomStringConvertible {
    /// The class and the identity in hex.
    public var description: String {
        itemClass.rawValue + ":" + identity.hexadecimal
    }
}
