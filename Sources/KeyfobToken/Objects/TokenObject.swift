package import Foundation
package import KeyfobOpenSSL
package import PKCS11

/// A description of one object on a token, without its handle.
///
/// Created by reading the object (``TokenObject/init(reading:parsesCertificate:)``) or from the vault's index. It is
/// encoded as ``ItemAttributes`` with attribute names of its own.
package struct TokenObject: Sendable, Hashable {
    /// `CKA_CLASS`.
    package var objectClass: ObjectClass
    /// `CKA_ID`; empty if the object has none.
    package var id: Data
    /// `CKA_LABEL`; text if it is UTF-8.
    package var label: AttributeValue?
    /// `CKA_VALUE` of a certificate: DER.
    package var certificateDER: Data?
    /// Derived values that are not part of the object's identity.
    package var parsed = Parsed()
    /// SubjectPublicKeyInfo of a key, if the token reveals it.
    package var publicKeyInfo: Data?
    /// SHA-1 of the public key's bits, if the public key is known.
    package var publicKeyHash: Data?
    /// `CKA_KEY_TYPE`.
    package var keyType: KeyType?
    /// Size of the modulus, of the curve or of the secret key, in bits.
    package var sizeInBits: Int?
    /// The relevant boolean attributes.
    package var flags: Flags
    /// Distinguishes this object from all others of its class: SHA-256 of class and public material.
    package var fingerprint: Data

    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: Int64

        package init(rawValue: Int64) { self.rawValue = rawValue }

        package static let isPrivate = Flags(rawValue: 1 << 0)
        package static let sensitive = Flags(rawValue: 1 << 1)
        package static let alwaysSensitive = Flags(rawValue: 1 << 2)
        package static let extractable = Flags(rawValue: 1 << 3)
        package static let neverExtractable = Flags(rawValue: 1 << 4)
        package static let encrypt = Flags(rawValue: 1 << 5)
        package static let decrypt = Flags(rawValue: 1 << 6)
        package static let sign = Flags(rawValue: 1 << 7)
        package static let verify = Flags(rawValue: 1 << 8)
        package static let wrap = Flags(rawValue: 1 << 9)
        package static let unwrap = Flags(rawValue: 1 << 10)
        package static let derive = Flags(rawValue: 1 << 11)
        package static let modifiable = Flags(rawValue: 1 << 12)
        package static let alwaysAuthenticate = Flags(rawValue: 1 << 13)
        package static let local = Flags(rawValue: 1 << 14)
    }

    /// Values kept with the object so that a listing does not compute them again. All values compare equal.
    package struct Parsed: Hashable, Sendable {
        /// The parsed certificate of a certificate object.
        package var certificate: Certificate?
        /// The public key of a private key that does not reveal it; see `Keychain.recognizing(_:)`.
        package var publicKey: PublicKey?
        /// The name that the vault stores in clear for an object that the token shows without a login.
        package var name: String?

        package static func == (left: Self, right: Self) -> Bool { true }
        package func hash(into hasher: inout Hasher) {}
    }

    /// The certificate of a certificate object; parsed now unless it was before.
    ///
    /// - Throws: `KeyFileError` if the object does not hold a certificate.
    package var certificate: Certificate {
        get throws { try parsed.certificate ?? Certificate(der: certificateDER ?? Data()) }
    }

    /// The same object with its certificate parsed, if it is a certificate object.
    package var parsingCertificate: TokenObject {
        guard objectClass == .certificate, parsed.certificate == nil else { return self }
        var object = self
        do { object.parsed.certificate = try certificate } catch {
            // Not a valid certificate. Code that needs the certificate reports the error.
            return self
        }
        return object
    }

    /// The class of items the object belongs to; `nil` for objects that are not items.
    package var itemClass: ItemClass? {
        switch objectClass {
        case .certificate: .certificate
        case .privateKey, .publicKey, .secretKey: .key
        default: nil
        }
    }

    /// Whether both are the same object, regardless of their labels.
    package func isSame(as other: TokenObject) -> Bool {
        objectClass == other.objectClass && id == other.id && fingerprint == other.fingerprint
    }

    /// The digest of the public key that a private key belongs to.
    ///
    /// If the token does not reveal the public half, the key's id usually is this digest; Keyfob and other tools set it
    /// so.
    package var keyIdentifier: Data { publicKeyHash ?? parsed.publicKey?.identifier ?? id }

    /// The SubjectPublicKeyInfo of a key, if the token reveals it or a signature has proved it.
    package var knownPublicKeyInfo: Data? { publicKeyInfo ?? parsed.publicKey?.subjectPublicKeyInfo }

    /// The name of the object if no row of the vault gives one.
    package var nameWithoutRow: AttributeValue? {
        guard let name = parsed.name else { return label }
        return name.isEmpty ? nil : .string(name)
    }

    /// Whether another object is this one or a duplicate of it on the token.
    package func isCopy(of other: TokenObject) -> Bool { isSame(as: other) && label == other.label }

    /// The key of the object in the index: its class, the beginning of its fingerprint, its id and its label.
    ///
    /// Only exact copies have one key. Two objects of one certificate may have different labels.
    package var indexKey: Data {
        Data(UInt32(truncatingIfNeeded: objectClass.rawValue).bigEndianBytes) + fingerprint.prefix(16)
            + UInt16(truncatingIfNeeded: id.count).bigEndianBytes + id + (label?.labelBytes ?? Data())
    }
}

extension [TokenObject] {
    /// The first object whose fields satisfy a condition.
    ///
    /// The condition gets an index, because iteration copies each object with all its fields, and every change to a
    /// token scans all of its objects.
    package func first(at isWanted: (borrowing [TokenObject], Int) -> Bool) -> TokenObject? {
        for index in indices where isWanted(self, index) { return self[index] }
        return nil
    }
}

// MARK: Reading

extension TokenObject {
    /// The attributes that are read from an object, in one call for all classes.
    package static let attributeTypes: [AttributeType] = [
        .objectClass, .id, .label, .keyType, .isPrivate, .sensitive, .alwaysSensitive, .extractable, .neverExtractable,
        .encrypt, .decrypt, .sign, .verify, .wrap, .unwrap, .derive, .modifiable, .alwaysAuthenticate, .local,
        .certificateType, .value, .modulus, .publicExponent, .ecParameters, .ecPoint, .valueLength,
    ]

    private static let flagTypes: [(AttributeType, Flags)] = [
        (.isPrivate, .isPrivate), (.sensitive, .sensitive), (.alwaysSensitive, .alwaysSensitive),
        (.extractable, .extractable), (.neverExtractable, .neverExtractable), (.encrypt, .encrypt),
        (.decrypt, .decrypt), (.sign, .sign), (.verify, .verify), (.wrap, .wrap), (.unwrap, .unwrap),
        (.derive, .derive), (.modifiable, .modifiable), (.alwaysAuthenticate, .alwaysAuthenticate), (.local, .local),
    ]

    /// The attributes to read from an object of a class. They never include the value of a key.
    package static func attributeTypes(of objectClass: ObjectClass) -> [AttributeType] {
        switch objectClass {
        case .certificate: [.objectClass, .id, .label, .isPrivate, .modifiable, .certificateType, .value]
        case .privateKey, .publicKey: attributeTypes.filter { ![.value, .certificateType, .valueLength].contains($0) }
        default: attributeTypes.filter { ![.value, .certificateType, .modulus, .publicExponent, .ecPoint].contains($0) }
        }
    }

    /// Interprets the bytes of `CKA_LABEL`: text if they are UTF-8, `nil` if they are empty.
    package static func label(reading bytes: some Collection<UInt8>) -> AttributeValue? {
        guard !bytes.isEmpty else { return nil }
        return String(validating: bytes, as: UTF8.self).map { .string($0) } ?? .data(Data(bytes))
    }

    /// Creates an object from the attributes that were read; `nil` for debris, that is, no class or a certificate
    /// without a value.
    ///
    /// - Parameters:
    ///   - values: The attributes of the object.
    ///   - parsesCertificate: Whether to parse a certificate and derive its public key.
    package init?(reading values: AttributeValues, parsesCertificate: Bool) {
        guard let objectClass = values.objectClass else { return nil }
        self.objectClass = objectClass
        id = values[.id].map { Data($0) } ?? Data()
        label = values[.label].flatMap { Self.label(reading: $0) }
        flags = Self.flagTypes.reduce(into: []) { flags, row in
            if values.bool(row.0) == true { flags.insert(row.1) }
        }
        keyType = values.keyType
        var material = Data()
        switch objectClass {
        case .certificate:
            guard let value = values[.value], !value.isEmpty else { return nil }
            let der = Data(value)
            certificateDER = der
            if parsesCertificate {
                // A certificate that libcrypto cannot parse is still an object, but its public key is unknown.
                parsed.certificate = try? Certificate(der: der)
                publicKeyHash = parsed.certificate?.publicKey.identifier
            }
            material = der
        case .privateKey, .publicKey:
            if let key = PublicKey(reading: values) {
                publicKeyInfo = key.subjectPublicKeyInfo
                publicKeyHash = key.identifier
                sizeInBits = key.size
                material = key.subjectPublicKeyInfo
            } else {
                sizeInBits = values[.ecParameters].flatMap { EllipticCurve(parametersDER: $0)?.bits }
                material = id
            }
        default:
            // A module may claim a length whose number of bits overflows an Int. Ignore it instead of trapping.
            sizeInBits = values.ulong(.valueLength).flatMap { Int(exactly: $0) }.flatMap { bytes in
                bytes <= Int.max / 8 ? bytes * 8 : nil
            }
            material = id
        }
        fingerprint = Digest.sha256(Data(UInt32(truncatingIfNeeded: objectClass.rawValue).bigEndianBytes) + material)
    }
}

extension EllipticCurve {
    /// Size of the field in bits. P-521 needs its own value because a coordinate takes 66 bytes.
    package var bits: Int { self == .p521 ? 521 : fieldBytes * 8 }
}

extension PublicKey {
    /// Reads the public key from a key object; `nil` if the object does not reveal it, as is usual for EC private keys.
    package init?(reading values: AttributeValues) {
        switch values.keyType {
        case .rsa:
            guard let modulus = values[.modulus], let exponent = values[.publicExponent], !modulus.isEmpty else {
                return nil
            }
            // If libcrypto refuses the modulus, the object has no known public key; the listing must not fail.
            guard let key = try? PublicKey(rsaModulus: Data(modulus), publicExponent: Data(exponent)) else {
                return nil
            }
            self = key
        case .ec, .ecEdwards:
            guard let parameters = values[.ecParameters], let curve = EllipticCurve(parametersDER: parameters),
                let encoded = values[.ecPoint], let point = ECPoint(encoded, curve: curve)
            else { return nil }
            guard let key = try? PublicKey(point: point, curve: curve) else { return nil }
            self = key
        default: return nil
        }
    }

    /// Creates the public key for a point on one of the curves that tokens support.
    package init(point: ECPoint, curve: EllipticCurve) throws {
        switch curve {
        case .p256: self = try PublicKey(ecPoint: Data(point.rawBytes), curve: .p256)
        case .p384: self = try PublicKey(ecPoint: Data(point.rawBytes), curve: .p384)
        case .p521: self = try PublicKey(ecPoint: Data(point.rawBytes), curve: .p521)
        default: self = try PublicKey(ed25519: Data(point.rawBytes))
        }
    }
}

// MARK: Index form

extension TokenObject {
    /// The encoded form of the object in the vault's index.
    package var encoded: [UInt8] {
        var attributes = ItemAttributes()
        attributes[.indexedClass] = .number(Int64(bitPattern: UInt64(objectClass.rawValue)))
        attributes[.objectID] = .data(id)
        attributes[.label] = label
        attributes[.indexedValue] = certificateDER.map { .data($0) }
        attributes[.indexedPublicKey] = publicKeyInfo.map { .data($0) }
        attributes[.publicKeyHash] = publicKeyHash.map { .data($0) }
        attributes[.indexedKeyType] = keyType.map { .number(Int64(bitPattern: UInt64($0.rawValue))) }
        attributes[.keySizeInBits] = sizeInBits.map { .number(Int64($0)) }
        attributes[.indexedFlags] = .number(flags.rawValue)
        attributes[.objectFingerprint] = .data(fingerprint)
        return attributes.encoded
    }

    /// Decodes an object; `nil` for invalid bytes, or if a certificate does not have the stored fingerprint.
    package init?(encoded: [UInt8]) {
        guard let attributes = ItemAttributes(encoded: encoded),
            let objectClass = attributes[.indexedClass]?.number, let id = attributes[.objectID]?.bytes,
            let flags = attributes[.indexedFlags]?.number, let fingerprint = attributes[.objectFingerprint]?.bytes
        else { return nil }
        self.objectClass = ObjectClass(rawValue: UInt(UInt64(bitPattern: objectClass)))
        self.id = id
        label = attributes[.label]
        certificateDER = attributes[.indexedValue]?.bytes
        publicKeyInfo = attributes[.indexedPublicKey]?.bytes
        publicKeyHash = attributes[.publicKeyHash]?.bytes
        keyType = attributes[.indexedKeyType]?.number.map { KeyType(rawValue: UInt(UInt64(bitPattern: $0))) }
        sizeInBits = attributes[.keySizeInBits]?.number.flatMap { Int(exactly: $0) }
        self.flags = Flags(rawValue: flags)
        self.fingerprint = fingerprint
        // Settings such as trust are looked up by the fingerprint, so it must belong to the certificate.
        if self.objectClass == .certificate, let der = certificateDER {
            guard fingerprint == Digest.sha256(NewObject.classBytes(.certificate) + der) else { return nil }
        }
    }
}
