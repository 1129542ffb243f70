import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// The attempts with keys and certificates.
extension ProbeRun {
    static let ofECKey: [TokenProbe.Capability] = [.ecKeys, .keyAgreement, .wrapping(ECDHKeyWrap().name)]
    static let ofRSAKey: [TokenProbe.Capability] = [
        .rsaKeys, .decryptionSHA1, .decryptionSHA256, .wrapping(RSAOAEPKeyWrap(hash: .sha256).name),
        .wrapping(RSAOAEPKeyWrap(hash: .sha1).name),
    ]

    /// A temporary key pair.
    private struct Pair {
        let privateKey: ObjectHandle
        let publicKey: PublicKey
        let isOnToken: Bool
    }

    func probeECKey() throws {
        try probePair(
            Self.ofECKey, Mechanism(.ecKeyPairGeneration), [.ecParameters(EllipticCurve.p256.parametersDER)],
            KeyUsages(derives: true)
        ) { pair in
            try attempt(.keyAgreement) { session in
                let ephemeral = try PrivateKey.generate(pair.publicKey.algorithm)
                let secret = try KeyAgreement.secret(of: pair.privateKey, with: ephemeral.publicKey, in: session)
                guard try ephemeral.sharedSecret(with: pair.publicKey) == secret else {
                    throw Self.wrong("the secret of the token is another one")
                }
                return nil
            }
            try prove(ECDHKeyWrap(), pair)
        }
    }

    func probeRSAKey() throws {
        try probePair(
            Self.ofRSAKey, Mechanism(.rsaPKCSKeyPairGeneration), [.modulusBits(2048), .publicExponent([1, 0, 1])],
            KeyUsages(encrypts: true)
        ) { pair in
            let ways = [(TokenProbe.Capability.decryptionSHA1, Digest.sha1), (.decryptionSHA256, .sha256)]
            for (capability, hash) in ways {
                try attempt(capability) { session in
                    let sample = try RandomBytes.secret(count: 32)
                    guard let algorithm = HashAlgorithm(hash) else { return nil }
                    let message = try pair.publicKey.encryptOAEP(sample, hash: hash)
                    let opened = try session.decryptSecret(
                        message, with: pair.privateKey, using: .rsaOAEP(hash: algorithm))
                    guard opened == sample else { throw Self.wrong("it decrypts to something else") }
                    return nil
                }
            }
            try prove(RSAOAEPKeyWrap(hash: .sha256), pair)
            try prove(RSAOAEPKeyWrap(hash: .sha1), pair)
        }
    }

    /// Generates a pair, signs with it, and runs the attempts that use it.
    ///
    /// A session object lasts as long as its session. So the attempts run while that session is held, each with a
    /// session of its own: a failed operation may stay active in its session.
    private func probePair(
        _ capabilities: [TokenProbe.Capability], _ mechanism: Mechanism, _ parameters: AttributeTemplate,
        _ usages: KeyUsages, _ body: (Pair) throws -> Void
    ) throws {
        try attempt(capabilities[0]) { session in
            let pair = try preferringSession { isOnToken in
                try makePair(mechanism, parameters, usages, onToken: isOnToken, in: session)
            }
            try store.withSession(.sign, idempotent: false) {
                try checkSignature(pair.privateKey, pair.publicKey, in: $0)
            }
            try body(pair)
            return pair.isOnToken ? "makes them on the token only, not in a session" : nil
        }
        for capability in capabilities where !results.contains(where: { $0.capability == capability }) {
            note(capability, .untried, "needs a key that is made here")
        }
    }

    private func makePair(
        _ mechanism: Mechanism, _ parameters: AttributeTemplate, _ usages: KeyUsages, onToken isOnToken: Bool,
        in session: borrowing Session
    ) throws -> Pair {
        let id = try newID()
        var publicTemplate = NewObject.publicTemplate(label: Self.labelBytes, id: id, usages: usages)
        publicTemplate.append(contentsOf: parameters)
        let privateTemplate = NewObject.privateTemplate(
            label: Self.labelBytes, id: id, isExtractable: false, usages: usages)
        let pair = try session.generateKeyPair(
            mechanism, publicTemplate: publicTemplate.withoutForbiddenUses.temporary(onToken: isOnToken),
            privateTemplate: privateTemplate.withoutForbiddenUses.temporary(onToken: isOnToken))
        // Not by the store, which reads token objects only.
        let values = try session.attributes(TokenObject.attributeTypes(of: .publicKey), of: pair.publicKey)
        guard let information = TokenObject(reading: values, parsesCertificate: false)?.publicKeyInfo else {
            throw Self.wrong("the token does not show the public half of a key")
        }
        return Pair(
            privateKey: pair.privateKey, publicKey: try PublicKey(subjectPublicKeyInfo: information),
            isOnToken: isOnToken)
    }

    /// Checks that a key signs.
    private func checkSignature(
        _ key: ObjectHandle, _ publicKey: PublicKey, in session: borrowing Session
    ) throws {
        // Not by the store, which reads token objects only.
        let values = try session.attributes(TokenObject.attributeTypes(of: .privateKey), of: key)
        guard let object = TokenObject(reading: values, parsesCertificate: false) else {
            throw Self.wrong("the token does not describe its key")
        }
        try store.requireSignature(by: object, key, of: publicKey, in: session)
    }

    private func prove(_ suite: any PublicKeyWrapSuite, _ pair: Pair) throws {
        try attempt(.wrapping(suite.name)) { session in
            try WrapSuites.prove(suite, WrappingKey(handle: pair.privateKey, publicKey: pair.publicKey), in: session)
            return nil
        }
    }

    /// Makes a secret key and wraps with it.
    func probe(_ suite: any SecretKeyWrapSuite, _ listed: Set<MechanismType>) throws {
        if let missing = suite.mechanisms.first(where: { !listed.contains($0) }) {
            return note(.wrapping(suite.name), .fails, "the token does not list \(missing)")
        }
        try attempt(.wrapping(suite.name)) { session in
            let id = try newID()
            let template = AttributeTemplate.wrappingKey(
                label: TokenProbe.label, id: id, wrapsObjects: suite.mechanisms.contains(.aesKeyWrap))
            let key = try preferringSession { isOnToken in
                try session.generateKey(
                    Mechanism(.aesKeyGeneration), template: template.temporary(onToken: isOnToken))
            }
            try WrapSuites.prove(suite, WrappingKey(handle: key), in: session)
            return nil
        }
    }

    /// Imports a key and signs with it: an EC key, or an RSA key if that fails.
    func importKey(_ session: borrowing Session) throws -> String? {
        do {
            try importKey(.generate(.ec(.p256)), in: session)
            return nil
        } catch let refusal {
            // A token may have RSA keys only. If it takes none either, the first refusal is the reason.
            do { try importKey(.generate(.rsa(bits: 2048)), in: session) } catch { throw refusal }
            return "RSA keys only"
        }
    }

    private func importKey(_ key: PrivateKey, in session: borrowing Session) throws {
        let pair = try NewObject.pair(key, label: Self.labelBytes, subject: nil, isExtractable: false)
        let id = try newID()
        let template = AttributeTemplate(
            pair.privateKey.template.withoutForbiddenUses.attributes.map { $0.type == .id ? .id(id) : $0 })
        let handle = try preferringSession { isOnToken in
            try PrivateKeyPlacement(
                key: key, template: template.temporary(onToken: isOnToken), token: store.label)(in: session)
        }
        try store.withSession(.sign, idempotent: false) { try checkSignature(handle, key.publicKey, in: $0) }
    }

    /// Stores a certificate on the token, since tokens that keep none may take one into a session.
    func storeCertificate(_ session: borrowing Session) throws -> String? {
        let key = try PrivateKey.generate(.ec(.p256))
        let now = Date()
        let certificate = try UnsignedCertificate(
            subject: DistinguishedName(commonName: TokenProbe.label), publicKey: key.publicKey,
            extensions: CertificateExtensions(), issuer: nil, notBefore: now, notAfter: now + 3600
        ).signed { [UInt8](try key.sign($0, using: $1)) }
        let id = try newID()
        let new = NewObject(certificate: certificate, label: .string(TokenProbe.label))
        let template = AttributeTemplate(new.template.attributes.map { $0.type == .id ? .id(id) : $0 })
        let handle = try session.create(template)
        let stored = try session.attributes([.value], of: handle)[.value]
        guard stored == [UInt8](certificate.der) else { throw Self.wrong("it keeps something else") }
        return nil
    }
}
