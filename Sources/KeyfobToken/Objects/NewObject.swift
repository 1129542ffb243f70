package import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL
package import PKCS11

/// An object that is about to be created: its template and how to recognize it.
///
/// The only place that defines what Keyfob's objects look like to other tools. Every template sets token, private,
/// sensitive, extractable and the usages, because the defaults of tokens differ: NSS and openCryptoki make a private
/// key visible without login and extractable unless the template says otherwise.
package struct NewObject: Sendable {
    package let objectClass: ObjectClass
    package let id: [UInt8]
    package let fingerprint: Data?
    package let template: AttributeTemplate
    /// The private key to import, for tokens that accept it only wrapped.
    package var key: PrivateKey?

    /// Whether another new object would be the same.
    package func isSame(as other: NewObject) -> Bool {
        objectClass == other.objectClass && id == other.id && fingerprint == other.fingerprint
    }

    /// Whether an object on the token is this one.
    package func isSame(as object: TokenObject) -> Bool {
        guard object.objectClass == objectClass else { return false }
        if let fingerprint, fingerprint == object.fingerprint { return true }
        // Without a public half only the id identifies the key. If an existing key were not recognized, it would be
        // duplicated, and destroyed with its duplicate when the change is undone.
        return objectClass == .privateKey && object.keyIdentifier == Data(id)
    }
}

extension NewObject {
    /// Describes a certificate.
    package init(certificate: Certificate, label: AttributeValue?) {
        let hash = [UInt8](certificate.publicKey.identifier)
        objectClass = .certificate
        id = hash
        template = [
            .objectClass(.certificate), .certificateType(.x509), .token(true), .isPrivate(false),
            .bytes(.label, [UInt8](label?.labelBytes ?? Data())), .id(hash),
            .subject([UInt8](certificate.subject.der)), .issuer([UInt8](certificate.issuer.der)),
            .serialNumber([UInt8](certificate.serialNumberDER)), .value([UInt8](certificate.der)),
        ]
        fingerprint = Digest.sha256(Self.classBytes(.certificate) + certificate.der)
    }

    /// Describes the two halves of a key pair that is imported.
    package static func pair(
        _ key: PrivateKey, label: [UInt8], subject: [UInt8]?, isExtractable: Bool
    ) throws -> (privateKey: NewObject, publicKey: NewObject) {
        let publicKey = key.publicKey
        let id = [UInt8](publicKey.identifier)
        let usage = KeyUsages(publicKey.algorithm)
        var privateTemplate = privateTemplate(
            label: label, id: id, isExtractable: isExtractable, usages: usage)
        if let subject { privateTemplate.append(.subject(subject)) }
        privateTemplate.append(contentsOf: try material(key))
        let publicKeyObject = try NewObject(publicKey: publicKey, label: label)
        let spki = publicKey.subjectPublicKeyInfo
        // An EC private key on a token usually does not reveal its point; its id identifies it instead.
        let isSelfDescribing = if case .rsa = publicKey.algorithm { true } else { false }
        return (
            NewObject(
                objectClass: .privateKey, id: id,
                fingerprint: isSelfDescribing ? Digest.sha256(classBytes(.privateKey) + spki) : nil,
                template: privateTemplate, key: key),
            publicKeyObject
        )
    }

    /// The template of every private key that Keyfob creates.
    package static func privateTemplate(
        label: [UInt8], id: [UInt8], isExtractable: Bool, usages: KeyUsages
    ) -> AttributeTemplate {
        [
            .objectClass(.privateKey), .token(true), .isPrivate(true), .sensitive(true), .extractable(isExtractable),
            .bytes(.label, label), .id(id), .sign(usages.signs), .decrypt(usages.encrypts), .unwrap(usages.encrypts),
            .derive(usages.derives),
        ]
    }

    /// The template of every public key that Keyfob creates.
    package static func publicTemplate(label: [UInt8], id: [UInt8], usages: KeyUsages) -> AttributeTemplate {
        [
            .objectClass(.publicKey), .token(true), .isPrivate(false), .bytes(.label, label), .id(id),
            .verify(usages.signs),
            .encrypt(usages.encrypts), .wrap(usages.encrypts),
        ]
    }

    /// Describes a public key without its private half.
    package init(publicKey: PublicKey, label: [UInt8]) throws {
        let usages = KeyUsages(publicKey.algorithm)
        objectClass = .publicKey
        id = [UInt8](publicKey.identifier)
        var template = Self.publicTemplate(label: label, id: id, usages: usages)
        template.append(contentsOf: try Self.material(publicKey))
        self.template = template
        fingerprint = Digest.sha256(Self.classBytes(.publicKey) + publicKey.subjectPublicKeyInfo)
    }

    /// The attributes of a public key object that describe the key itself.
    private static func material(_ key: PublicKey) throws -> AttributeTemplate {
        switch key.algorithm {
        case .rsa:
            guard let modulus = key.rsaModulus, let exponent = key.rsaExponent else { break }
            return [.keyType(.rsa), .modulus([UInt8](modulus)), .publicExponent([UInt8](exponent))]
        case .ec(let curve):
            guard let curve = EllipticCurve(curve), let point = ECPoint([UInt8](key.bits), curve: curve) else { break }
            return [.keyType(.ec), .ecParameters(curve.parametersDER), .ecPoint(point.derOctetString)]
        case .ed25519:
            let curve = EllipticCurve.ed25519
            guard let point = ECPoint([UInt8](key.bits), curve: curve) else { break }
            return [.keyType(.ecEdwards), .ecParameters(curve.parametersDER), .ecPoint(point.derOctetString)]
        case .other: break
        }
        throw KeychainError(.unsupportedFormat, "keys of type \(key.algorithm) cannot be stored on a token.")
    }

    /// The attributes of a private key object that describe the key itself.
    private static func material(_ key: PrivateKey) throws -> AttributeTemplate {
        switch try key.components() {
        case .rsa(let n, let e, let d, let p, let q, let dp, let dq, let qinv):
            var template: AttributeTemplate = [
                .keyType(.rsa), .modulus([UInt8](n)), .publicExponent([UInt8](e)),
            ]
            for (type, value) in [
                (AttributeType.privateExponent, d), (.prime1, p), (.prime2, q), (.exponent1, dp), (.exponent2, dq),
                (.coefficient, qinv),
            ] { template.append(.secret(type, value)) }
            return template
        case .ec(let curve, let value, _):
            guard let curve = EllipticCurve(curve) else {
                throw KeychainError(
                    .unsupportedFormat, "keys on \(curve) cannot be stored on a token.",
                    hint: "RSA, EC on P-256, P-384 or P-521, and Ed25519 can.")
            }
            return [.keyType(.ec), .ecParameters(curve.parametersDER), .secret(.value, value)]
        case .ed25519(let seed):
            return [.keyType(.ecEdwards), .ecParameters(EllipticCurve.ed25519.parametersDER), .secret(.value, seed)]
        }
    }

    package static func classBytes(_ objectClass: ObjectClass) -> Data {
        Data(UInt32(truncatingIfNeeded: objectClass.rawValue).bigEndianBytes)
    }
}

extension AttributeTemplate {
    /// The template without the uses that it forbids; the token's defaults then apply to them.
    package var withoutForbiddenUses: AttributeTemplate {
        let uses: Set<AttributeType> = [.encrypt, .decrypt, .sign, .verify, .wrap, .unwrap, .derive]
        return AttributeTemplate(attributes.filter { !uses.contains($0.type) || $0.value != [0] })
    }
}

/// The permitted usages of a key pair.
package struct KeyUsages: Sendable, Hashable {
    package var signs = true
    package var encrypts = false
    package var derives = false

    package init(signs: Bool = true, encrypts: Bool = false, derives: Bool = false) {
        self.signs = signs
        self.encrypts = encrypts
        self.derives = derives
    }

    /// All usages of an algorithm: RSA keys encrypt, and the Weierstrass curves support key agreement.
    package init(_ algorithm: KeyAlgorithm) {
        switch algorithm {
        case .rsa: encrypts = true
        case .ec: derives = true
        default: break
        }
    }
}

extension EllipticCurve {
    /// The PKCS#11 curve for a curve of libcrypto; `nil` if tokens do not support it.
    package init?(_ curve: NamedCurve) {
        switch curve {
        case .p256: self = .p256
        case .p384: self = .p384
        case .p521: self = .p521
        default: return nil
        }
    }
}
