public import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

extension KeychainKeys {
    /// Generates a key on the token.
    ///
    /// Blocks: an RSA key of 4096 bits takes a second on SoftHSM and a minute on a card. The private half is sensitive,
    /// and not extractable unless requested; both attributes are read back. The key signs once before it is recorded,
    /// unless it needs the PIN at each use.
    ///
    /// - Parameters:
    ///   - specification: The kind of key.
    ///   - label: The key's label.
    ///   - applicationTag: The application tag of the key's item.
    ///   - isExtractable: Whether the key may leave the token.
    ///   - isLabelUnique: Whether to fail if the token has another private or secret key with the label. The check
    ///     holds the write lock of the keychain.
    /// - Returns: The private key, or the secret key.
    /// - Throws: `KeychainError`; `duplicateItem` if the label exists and `isLabelUnique` is set,
    ///   `mechanismUnsupported`, `tokenContractViolation`, `tokenFull`, `invalidArgument` for an unsupported size, and
    ///   the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func generate(
        _ specification: KeySpecification, label: String, applicationTag: Data? = nil, isExtractable: Bool = false,
        isLabelUnique: Bool = false
    ) throws -> KeyItem {
        var attributes: ItemAttributes = [.label: .string(label)]
        attributes[.applicationTag] = applicationTag.map { .data($0) }
        return try generate(
            specification, attributes,
            publicAttributes: nil, isExtractable: isExtractable, isLabelUnique: isLabelUnique
        ).privateKey
    }

    /// Generates a key on the token with arbitrary attributes, and also records an item for the public half if it is
    /// given attributes.
    ///
    /// - Parameter awaitsCertificate: Whether the key is for an identity that is being created. Listings leave it out
    ///   until its certificate is stored.
    /// - Throws: `KeychainError`; the errors of `generate(_:label:applicationTag:isExtractable:isLabelUnique:)`.
    package func generate(
        _ specification: KeySpecification, _ attributes: ItemAttributes, publicAttributes: ItemAttributes?,
        isExtractable: Bool = false, isLabelUnique: Bool = false, awaitsCertificate: Bool = false
    ) throws -> (privateKey: KeyItem, publicKey: KeyItem?) {
        try keychain.withDeadline { [self] in
            try specification.validate()
            let keys = try keychain.vaultKeys()
            let attributes = try Self.recordable(attributes)
            let publicAttributes = try publicAttributes.map { try Self.recordable($0) }
            let label = [UInt8](attributes[.label]?.labelBytes ?? Data())
            let publicLabel = publicAttributes.map { [UInt8]($0[.label]?.labelBytes ?? Data()) } ?? label
            let recorded: (privateKey: Item, publicKey: Item?)
            do {
                recorded = try keychain.token.retryingMomentaryFailures {
                    try generate(
                        specification, attributes, publicAttributes, labels: (label, publicLabel),
                        isExtractable: isExtractable, isLabelUnique: isLabelUnique,
                        awaitsCertificate: awaitsCertificate, keys)
                }
            } catch let error as KeychainError where error.code == .mechanismUnsupported {
                // A key that was made and does not sign says so itself.
                if let cause = error.cause as? PKCS11Error, cause.isRefusalOfMechanism { throw error }
                throw try unsupported(specification, error)
            }
            return (KeyItem(item: recorded.privateKey), recorded.publicKey.map { KeyItem(item: $0) })
        }
    }

    /// Generates and records the key in one change of the token.
    private func generate(
        _ specification: KeySpecification, _ attributes: ItemAttributes, _ publicAttributes: ItemAttributes?,
        labels: (privateKey: [UInt8], publicKey: [UInt8]), isExtractable: Bool, isLabelUnique: Bool,
        awaitsCertificate: Bool, _ keys: VaultKeys
    ) throws -> (privateKey: Item, publicKey: Item?) {
        let (label, publicLabel) = labels
        let temporaryID = try RandomBytes.bytes(count: 20)
        let classes: [ObjectClass] =
            if case .aes = specification.kind { [.secretKey] } else { [.privateKey, .publicKey] }
        let unfinished = classes.map {
            UnfinishedObject(generating: $0, id: temporaryID, name: attributes[.label])
        }
        return try keychain.writer(keys).perform(.generate) { objects in
            if isLabelUnique, try hasKey(named: label, among: objects, keys) {
                throw keyExists(String(decoding: label, as: UTF8.self))
            }
            return unfinished
        } change: { session, _, refine in
            let objects = try specification.generate(
                labels: (label, publicLabel), id: temporaryID, isExtractable: isExtractable, in: session,
                token: keychain.token
            ) { finalID in
                try refine(unfinished.map { object in
                    var object = object
                    object.ids.append(finalID)
                    return object
                })
            }
            return TokenWriter.Outcome(added: objects)
        } commit: { writer, outcome in
            let objects = TokenStore.completing(outcome.added)
            guard let object = objects.first else { throw KeychainError(.failed, "the token made no key.") }
            guard !awaitsCertificate else {
                for object in objects {
                    let row = UnfinishedObject(awaitingCertificate: object, name: attributes[.label])
                    _ = try writer.insert(row.row(keys))
                }
                return (try unlistedItem(object), nil)
            }
            let privateKey = try keychain.tokenItems.recordItem(Item(.key, attributes), object, writer, keys)
            // Without a row of its own, the public half is found through the private one.
            guard let publicAttributes, let half = objects.first(where: { $0.objectClass == .publicKey }) else {
                return (privateKey, nil as Item?)
            }
            return (privateKey, try keychain.tokenItems.recordItem(Item(.key, publicAttributes), half, writer, keys))
        }
    }

    /// The key with a name that a killed command has left without its certificate.
    func keyAwaitingCertificate(named name: String) throws -> KeyItem? {
        let keys = try keychain.vaultKeys()
        let waiting = try keychain.store.read(keys.tree) { try $0.unfinishedObjects(keys) }.filter {
            $0.state == .pending && $0.objectClass == .privateKey && $0.name == .string(name)
        }
        guard !waiting.isEmpty else { return nil }
        // A process killed while it generated the pair may have left only one half of it.
        let object = try keychain.index.objects(keys).first { object in
            object.publicKeyInfo != nil && waiting.contains { $0.matches(object) }
        }
        return try object.map { KeyItem(item: try unlistedItem($0)) }
    }

    /// The item of a key that has no row.
    private func unlistedItem(_ object: TokenObject) throws -> Item {
        var item = Item(.key, try object.itemAttributes())
        item.object = object
        return item
    }

    /// Whether a private or secret key on the token, or its item, has a name.
    private func hasKey(named label: [UInt8], among objects: [TokenObject], _ keys: VaultKeys) throws -> Bool {
        let candidates = objects.filter { [.privateKey, .secretKey].contains($0.objectClass) }
        return try keychain.tokenItems.items(.key, candidates, keys).contains {
            $0.attributes[.label]?.labelBytes == Data(label)
        }
    }

    /// The error for a label that another key has.
    func keyExists(_ label: String) -> KeychainError {
        KeychainError(
            .duplicateItem, "a key of that name exists already on token \"\(keychain.token.label)\".",
            details: ["key": label, "token": keychain.token.label])
    }

    /// The error for a token that cannot generate such a key. Its hint lists the keys that the token supports.
    private func unsupported(_ specification: KeySpecification, _ error: KeychainError) throws -> KeychainError {
        let kinds = KeySpecification.kinds(of: try keychain.objects.slot())
        var details = error.details
        details["key"] = specification.description
        return KeychainError(
            .mechanismUnsupported, "token \"\(keychain.token.label)\" cannot generate \(specification) keys.",
            remedies: kinds.isEmpty
                ? [
                    "It generates no keys of a kind that Keyfob knows.",
                    Remedy("Import a key, or choose another token", .change(.token)),
                ]
                : [
                    Remedy("It supports: \(kinds.joined(separator: ", "))."),
                    Remedy("Choose one, or another token", .listMechanisms),
                ],
            details: details, cause: error.cause)
    }
}

extension KeySpecification {
    /// Checks that Keyfob generates keys of this kind.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` if not.
    package func validate() throws {
        let isFine = switch kind {
        case .rsa(let bits): Self.rsaSizes.contains(UInt(clamping: bits)) && bits % 8 == 0
        case .aes(let bits): [128, 192, 256].contains(bits)
        case .ec, .ed25519: true
        }
        guard isFine else {
            throw KeychainError(
                .invalidArgument, "\(self) is not a kind of key that Keyfob generates.",
                hint: "RSA 2048 to 4096, EC P-256, P-384 or P-521, Ed25519, AES 128, 192 or 256.")
        }
    }

    /// Generates the key under a temporary id, then gives both halves the id that other tools expect.
    fileprivate func generate(
        labels: (privateKey: [UInt8], publicKey: [UInt8]), id: [UInt8], isExtractable: Bool,
        in session: borrowing Session, token: TokenStore,
        willRename: (Data) throws -> Void
    ) throws -> [TokenObject] {
        if case .aes(let bits) = kind {
            let template: AttributeTemplate = [
                .objectClass(.secretKey), .keyType(.aes), .valueLength(UInt(bits / 8)), .token(true), .isPrivate(true),
                .sensitive(true), .extractable(isExtractable), .bytes(.label, labels.privateKey), .id(id),
                .encrypt(true), .decrypt(true),
                .wrap(true), .unwrap(true), .sign(false), .verify(false), .derive(false),
            ]
            let handle = try session.generateKey(Mechanism(.aesKeyGeneration), template: template)
            try AttributeReadBack.check(handle, template, in: session, token: token.label)
            return [try token.read(handle, in: session)].compactMap { $0 }
        }
        let (mechanism, usages) = pairMechanism
        var privateTemplate = NewObject.privateTemplate(
            label: labels.privateKey, id: id, isExtractable: isExtractable, usages: usages)
        var publicTemplate = NewObject.publicTemplate(label: labels.publicKey, id: id, usages: usages)
        publicTemplate.append(contentsOf: parameters)
        let profile = try token.profile()
        if profile.has(.refusesForbiddenUses) {
            privateTemplate = privateTemplate.withoutForbiddenUses
            publicTemplate = publicTemplate.withoutForbiddenUses
        }
        let pair: (publicKey: ObjectHandle, privateKey: ObjectHandle)
        do throws(PKCS11Error) {
            pair = try session.generateKeyPair(
                mechanism, publicTemplate: publicTemplate, privateTemplate: privateTemplate)
        } catch {
            // A token without a profile may refuse forbidden uses too.
            guard [.generalError, .attributeValueInvalid].contains(error.returnValue),
                !profile.has(.refusesForbiddenUses), !profile.has(.failsMomentarily)
            else { throw error }
            pair = try session.generateKeyPair(
                mechanism, publicTemplate: publicTemplate.withoutForbiddenUses,
                privateTemplate: privateTemplate.withoutForbiddenUses)
        }
        try AttributeReadBack.check(pair.privateKey, privateTemplate, in: session, token: token.label)
        guard let hash = try token.publicHalf(pair.publicKey, in: session)?.publicKeyHash else {
            throw KeychainError(
                .tokenContractViolation, "token \"\(token.label)\" made a key pair and does not tell its public key.")
        }
        try willRename(hash)
        for handle in [pair.publicKey, pair.privateKey] {
            try token.setAttributes([.id([UInt8](hash))], of: handle, in: session)
        }
        let made = try token.read(pair.privateKey, in: session)
        let half = try token.publicHalf(pair.publicKey, in: session)
        if let made, let information = half?.publicKeyInfo {
            let publicKey = try PublicKey(subjectPublicKeyInfo: information)
            try token.requireSignature(by: made, pair.privateKey, of: publicKey, in: session)
        }
        return [made, half].compactMap { $0 }
    }

    /// The kinds of key that a token reports it can generate, in words; empty if it does not answer.
    fileprivate static func kinds(of slot: Slot) -> [String] {
        let mechanisms: [(MechanismType, (ClosedRange<UInt>) -> String?)] = [
            (.rsaPKCSKeyPairGeneration, rsaKinds), (.ecKeyPairGeneration, ecKinds),
            (.ecEdwardsKeyPairGeneration, { _ in "Ed25519" }), (.aesKeyGeneration, { _ in "AES" }),
        ]
        return mechanisms.compactMap { mechanism, words in
            (try? slot.mechanismInfo(mechanism)).flatMap { words($0.keySizes) }
        }
    }

    /// The RSA sizes that Keyfob generates on a token with these limits. Some tokens report an unlimited maximum.
    static func rsaKinds(_ sizes: ClosedRange<UInt>) -> String? {
        guard sizes.overlaps(rsaSizes) else { return nil }
        let common = sizes.clamped(to: rsaSizes)
        return "RSA \(common.lowerBound)" + (common.count == 1 ? "" : "-\(common.upperBound)")
    }

    /// The curves that Keyfob generates keys on, on a token with these limits.
    static func ecKinds(_ sizes: ClosedRange<UInt>) -> String? {
        let curves = [256, 384, 521].filter { sizes.contains($0) }
        return curves.isEmpty ? nil : "EC " + curves.map { "P-\($0)" }.joined(separator: ", ")
    }

    private static let rsaSizes: ClosedRange<UInt> = 2048...4096

    private var pairMechanism: (Mechanism, KeyUsages) {
        switch kind {
        case .rsa: (Mechanism(.rsaPKCSKeyPairGeneration), KeyUsages(encrypts: true))
        case .ed25519: (Mechanism(.ecEdwardsKeyPairGeneration), KeyUsages())
        case .ec, .aes: (Mechanism(.ecKeyPairGeneration), KeyUsages(derives: true))
        }
    }

    private var parameters: AttributeTemplate {
        switch kind {
        case .rsa(let bits): [.modulusBits(UInt(bits)), .publicExponent([1, 0, 1])]
        case .ec(let curve): [.ecParameters(curve.parametersDER)]
        case .ed25519: [.ecParameters(EllipticCurve.ed25519.parametersDER)]
        case .aes: []
        }
    }
}
