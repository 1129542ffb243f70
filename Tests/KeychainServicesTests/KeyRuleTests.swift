import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

/// The operations that each type and half of a key supports, and the errors of the others.
@Suite struct KeyRuleTests {
    static let identifiers: [String] = {
        var all = [
            "algid:sign:RSA:raw", "algid:sign:RSA:digest-PKCS1v15", "algid:sign:ECDSA:digest-X962",
            "algid:sign:ECDSA:digest-RFC4754", "algid:sign:EdDSA:message-Curve25519:SHA512",
            "algid:sign:EdDSA:message-Curve448:SHAKE256", "algid:encrypt:RSA:raw", "algid:encrypt:RSA:PKCS1",
            "algid:keyexchange:ECDH", "algid:keyexchange:ECDHC", "algid:kem:kyber", "algid:kem:ML-KEM",
            "algid:sign:ML-DSA:message", "algid:sign:RSA:digest-PSS:SHA256:SHA256:20", "algid:none", "",
        ]
        for (digest, salt) in [("SHA1", 20), ("SHA224", 24), ("SHA256", 32), ("SHA384", 48), ("SHA512", 64)] {
            for input in ["digest", "message"] {
                all.append("algid:sign:RSA:\(input)-PKCS1v15:\(digest)")
                all.append("algid:sign:RSA:\(input)-PSS:\(digest):\(digest):\(salt)")
                all.append("algid:sign:ECDSA:\(input)-X962:\(digest)")
                all.append("algid:sign:ECDSA:\(input)-RFC4754:\(digest)")
            }
            all += ["algid:encrypt:RSA:OAEP:\(digest)", "algid:encrypt:RSA:OAEP:\(digest):AESGCM"]
            for exchange in ["ECDH", "ECDHC"] {
                all.append("algid:keyexchange:\(exchange):KDFX963:\(digest)")
                all.append("algid:encrypt:ECIES:\(exchange):KDFX963:\(digest):AESGCM")
                all.append("algid:encrypt:ECIES:\(exchange):KDFX963:\(digest):AESGCM-KDFIV")
            }
        }
        return all
    }()

    /// The rule, derived from the identifier alone instead of from the table under test.
    static func isExpected(
        _ identifier: String, _ operation: SecKeyOperationType, _ kind: KeyKind, isPrivate: Bool
    ) -> Bool {
        let parts = identifier.split(separator: ":").map(String.init)
        guard parts.count > 2 || identifier.hasPrefix("algid:keyexchange:") else { return false }
        let isRSA = parts.contains("RSA")
        let isEC = parts.contains("ECDSA") || parts.contains("ECIES") || parts[1] == "keyexchange"
        let isEdwards = identifier.contains("Curve25519")
        guard !identifier.hasSuffix("SHA256:SHA256:20") else { return false }
        let fits = switch kind {
        case .rsa2048: isRSA
        case .ed25519: isEdwards
        default: isEC
        }
        guard fits else { return false }
        return switch (parts[1], operation) {
        case ("sign", .sign): isPrivate
        case ("sign", .verify): true
        case ("encrypt", .encrypt): !isPrivate
        // The public half of RSA undoes a signature.
        case ("encrypt", .decrypt): isPrivate || identifier == "algid:encrypt:RSA:raw"
        case ("keyexchange", .keyExchange): isPrivate
        default: false
        }
    }

    @Test(arguments: KeyKind.allCases, KeyPlace.allCases)
    func `a key does what its kind and its half can do, and refuses everything else as a bad argument`(
        kind: KeyKind, place: KeyPlace
    ) throws {
        let privateKey = try KeyFixture.key(kind, place)
        let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
        let peer = try #require(SecKeyCopyPublicKey(KeyFixture.key(.p256, .memory)))
        for identifier in Self.identifiers {
            let algorithm = SecKeyAlgorithm(rawValue: identifier as CFString)
            for (key, isPrivate) in [(privateKey, true), (publicKey, false)] {
                for operation in [SecKeyOperationType.sign, .verify, .encrypt, .decrypt, .keyExchange] {
                    let isSupported = SecKeyIsAlgorithmSupported(key, operation, algorithm)
                    let what = "\(identifier) \(operation) \(isPrivate ? "private" : "public")"
                    #expect(isSupported == Self.isExpected(identifier, operation, kind, isPrivate: isPrivate), "\(what)")
                    guard !isSupported else { continue }
                    let data = Data(count: 32)
                    let status = switch operation {
                    case .sign: sign(key, algorithm, data).status
                    case .verify: verify(key, algorithm, data, data).status
                    case .encrypt: encrypt(key, algorithm, data).status
                    case .decrypt: decrypt(key, algorithm, data).status
                    case .keyExchange: agree(key, algorithm, peer).status
                    }
                    #expect(status == errSecParam, "\(what)")
                }
            }
        }
    }

    struct Length: Sendable, CustomTestStringConvertible {
        let identifier: String
        let most: Int
        var testDescription: String { "\(identifier) takes \(most) bytes" }
    }

    /// For a key of 2048 bits.
    @Test(arguments: [
        Length(identifier: "algid:encrypt:RSA:PKCS1", most: 245), Length(identifier: "algid:encrypt:RSA:OAEP:SHA1", most: 214),
        Length(identifier: "algid:encrypt:RSA:OAEP:SHA224", most: 198), Length(identifier: "algid:encrypt:RSA:OAEP:SHA256", most: 190),
        Length(identifier: "algid:encrypt:RSA:OAEP:SHA384", most: 158), Length(identifier: "algid:encrypt:RSA:OAEP:SHA512", most: 126),
        Length(identifier: "algid:sign:RSA:digest-PKCS1v15", most: 245), Length(identifier: "algid:sign:RSA:raw", most: 256),
    ], KeyPlace.allCases)
    func `a block is as long as the padding leaves room for, and not longer`(row: Length, place: KeyPlace) throws {
        let key = try KeyFixture.key(.rsa2048, place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let algorithm = SecKeyAlgorithm(rawValue: row.identifier as CFString)
        // The first byte keeps the block below the modulus.
        func block(_ count: Int) -> Data { Data([0]) + Data(repeating: 0x5A, count: count - 1) }
        let refusal = Outcome<Data?>(value: nil, status: errSecParam)
        if row.identifier.hasPrefix("algid:sign") {
            let signature = try #require(sign(key, algorithm, block(row.most)).value)
            #expect(verify(publicKey, algorithm, block(row.most), signature).value)
            #expect(sign(key, algorithm, block(row.most + 1)) == refusal)
        } else {
            let sealed = try #require(encrypt(publicKey, algorithm, block(row.most)).value)
            #expect(decrypt(key, algorithm, sealed).value == block(row.most))
            #expect(encrypt(publicKey, algorithm, block(row.most + 1)) == refusal)
        }
    }

    @Test(arguments: KeyPlace.allCases)
    func `a raw block is a number below the modulus`(place: KeyPlace) throws {
        let key = try KeyFixture.key(.rsa2048, place)
        let refusal = Outcome<Data?>(value: nil, status: errSecParam)
        #expect(sign(key, .rsaSignatureRaw, Data(repeating: 0xFF, count: 256)) == refusal)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(encrypt(publicKey, .rsaEncryptionRaw, Data(repeating: 0xFF, count: 256)) == refusal)
        #expect(decrypt(key, .rsaEncryptionRaw, Data(repeating: 0xFF, count: 256)) == refusal)
    }

    @Test(arguments: [KeyKind.p256, .p384, .p521], KeyPlace.allCases)
    func `ECDSA takes a digest of any length and uses the first bits`(kind: KeyKind, place: KeyPlace) throws {
        let key = try KeyFixture.key(kind, place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        for algorithm in [SecKeyAlgorithm.ecdsaSignatureDigestX962, .ecdsaSignatureDigestRFC4754] {
            for count in [20, 32, 48, 64] {
                let digest = Data((0..<count).map { UInt8($0 + 1) })
                let signature = try #require(sign(key, algorithm, digest).value)
                #expect(verify(publicKey, algorithm, digest, signature).value)
                var changed = digest
                changed[0] ^= 0x80
                #expect(verify(publicKey, algorithm, changed, signature).status == errSecVerifyFailed)
                // Bytes beyond the size of the curve are ignored.
                if count > SecKeyGetBlockSize(key) {
                    #expect(verify(publicKey, algorithm, digest.prefix(SecKeyGetBlockSize(key)) + [9], signature).value)
                }
            }
        }
    }

    // MARK: External representations

    @Test(arguments: [(KeyKind.p256, 65, 97), (.p384, 97, 145), (.p521, 133, 199)])
    func `an EC key has one length for each half`(row: (kind: KeyKind, publicCount: Int, privateCount: Int)) throws {
        let privateKey = try KeyFixture.key(row.kind, .memory)
        let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
        let privateBytes = try #require(representation(of: privateKey).value)
        let publicBytes = try #require(representation(of: publicKey).value)
        #expect(publicBytes.count == row.publicCount && privateBytes.count == row.privateCount)
        #expect(publicBytes.first == 4 && privateBytes.prefix(row.publicCount) == publicBytes)
        func status(_ data: Data, _ half: CFString) -> OSStatus? {
            key(from: data, [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: half]).status
        }
        let compressed = Data([2]) + publicBytes[1..<(row.publicCount + 1) / 2]
        var wrongs: [(Data, CFString)] = [
            (compressed, kSecAttrKeyClassPublic), (publicBytes.dropFirst(), kSecAttrKeyClassPublic),
            (Data([6]) + publicBytes.dropFirst(), kSecAttrKeyClassPublic),
            (Data([4]) + Data(count: row.publicCount - 1), kSecAttrKeyClassPublic),
            (Data([4]) + Data(repeating: 0xFF, count: row.publicCount - 1), kSecAttrKeyClassPublic),
            (publicBytes, kSecAttrKeyClassPrivate), (privateBytes, kSecAttrKeyClassPublic),
            // A scalar that does not belong to the point, zero, and one that is larger than the group.
            (publicBytes + Data(count: row.privateCount - row.publicCount), kSecAttrKeyClassPrivate),
            (publicBytes + Data(repeating: 0xFF, count: row.privateCount - row.publicCount), kSecAttrKeyClassPrivate),
        ]
        let others = try KeyFixture.key(row.kind, .token)
        let othersPoint = try #require(SecKeyCopyPublicKey(others).flatMap { representation(of: $0).value })
        wrongs.append((othersPoint + privateBytes.dropFirst(row.publicCount), kSecAttrKeyClassPrivate))
        for (index, (data, half)) in wrongs.enumerated() { #expect(status(Data(data), half) == errSecParam, "\(index)") }
    }

    @Test(arguments: [1024, 2048, 3072])
    func `an RSA key is PKCS#1`(bits: Int) throws {
        let privateKey = try #require(generate([kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: bits]).value)
        let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
        let publicBytes = [UInt8](try #require(representation(of: publicKey).value))
        // A sequence of two integers; a private key has nine, starting with the version.
        #expect(publicBytes[0] == 0x30 && publicBytes[4] == 2 || publicBytes[3] == 2)
        let privateBytes = [UInt8](try #require(representation(of: privateKey).value))
        #expect(Array(privateBytes[4..<7]) == [2, 1, 0])
        #expect(SecKeyGetBlockSize(privateKey) == bits / 8 && SecKeyGetBlockSize(publicKey) == bits / 8)
        let attributes = try #require(SecKeyCopyAttributes(publicKey))
        #expect(attributes.object(forKey: kSecAttrKeySizeInBits) as? Int == bits)
        #expect(attributes.object(forKey: kSecAttrApplicationLabel) as? Data == Digest.sha1(Data(publicBytes)))
    }

    @Test func `a public RSA key may be SubjectPublicKeyInfo`() throws {
        let attributes = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPublic]
        let own = try #require(SecKeyCopyPublicKey(KeyFixture.key(.rsa2048, .memory)))
        let found = key(from: own.publicKey.subjectPublicKeyInfo, attributes)
        #expect(found.value == own && found.status == nil)
        #expect(found.value.map { representation(of: $0).value } == representation(of: own).value)
        // A key of another type, and one followed by other bytes, are not RSA keys.
        let other = try #require(SecKeyCopyPublicKey(KeyFixture.key(.p256, .memory)))
        for data in [other.publicKey.subjectPublicKeyInfo, own.publicKey.subjectPublicKeyInfo + [0]] {
            #expect(key(from: data, attributes) == Outcome(value: nil, status: errSecParam))
        }
    }

    // MARK: Attributes

    struct Ability: Sendable, CustomTestStringConvertible {
        let kind: KeyKind
        let isPrivate: Bool
        /// The supported operations, as raw attribute names.
        let can: Set<String>
        var testDescription: String { "\(kind) \(isPrivate ? "private" : "public")" }
    }

    @Test(arguments: [
        Ability(kind: .rsa2048, isPrivate: true, can: ["decr", "sign", "unwp"]),
        Ability(kind: .rsa2048, isPrivate: false, can: ["encr", "decr", "vrfy", "vyrc", "wrap"]),
        Ability(kind: .p256, isPrivate: true, can: ["decr", "sign", "drve", "unwp"]),
        Ability(kind: .p256, isPrivate: false, can: ["encr", "vrfy", "wrap"]),
        Ability(kind: .ed25519, isPrivate: true, can: ["sign"]), Ability(kind: .ed25519, isPrivate: false, can: ["vrfy"]),
    ])
    func `attributes describe a half and its operations`(row: Ability) throws {
        let privateKey = try KeyFixture.key(row.kind, .memory)
        let key = row.isPrivate ? privateKey : try #require(SecKeyCopyPublicKey(privateKey))
        let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
        for name in ["encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc", "wrap", "unwp"] {
            #expect(attributes[name] as? Bool == row.can.contains(name), "\(name)")
            #expect(CFGetTypeID(attributes[name] as AnyObject) == CFBooleanGetTypeID())
        }
        #expect(attributes["kcls"] as? String == (row.isPrivate ? "1" : "0"))
        #expect(attributes["type"] as? String == row.kind.parameters[kSecAttrKeyType] as? String)
        #expect(attributes["v_Data"] as? Data == representation(of: key).value)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(attributes["klbl"] as? Data == representation(of: publicKey).value.map { Digest.sha1($0) })
        #expect(attributes["class"] as? String == "keys" && attributes["tkid"] == nil)
    }

    @Test func `a key on the token has attributes, and shows no bytes`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            var parameters = KeyKind.p256.parameters
            parameters[kSecAttrTokenID] = "com.apple.setoken"
            parameters[kSecPrivateKeyAttrs] = [kSecAttrLabel: "l", kSecAttrApplicationTag: Data([1])] as NSDictionary
            let key = try #require(generate(parameters).value)
            let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
            #expect(attributes["tkid"] as? String == "com.apple.setoken" && attributes["v_Data"] == nil)
            #expect(attributes["perm"] as? Bool == true && attributes["sens"] as? Bool == true)
            let publicKey = try #require(SecKeyCopyPublicKey(key).flatMap { SecKeyCopyAttributes($0) } as? [String: Any])
            #expect(publicKey["tkid"] == nil && publicKey["v_Data"] is Data)
        }
    }

    @Test func `the two halves of a pair are different keys, and equal keys have one hash`() throws {
        let key = try KeyFixture.key(.p256, .memory)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let again = try #require(SecKeyCopyPublicKey(key))
        #expect(!CFEqual(key, publicKey) && CFEqual(publicKey, again) && CFHash(publicKey) == CFHash(again))
        #expect(SecKeyCopyPublicKey(publicKey) === publicKey)
        let other = try KeyFixture.key(.p256, .token)
        #expect(!CFEqual(key, other))
        #expect(CFGetTypeID(key) == SecKeyGetTypeID())
    }

    // MARK: The older functions

    @Test(
        arguments: [
            ([], .rsa2048, 256), (.PKCS1, .rsa2048, 245), (.PKCS1SHA1, .rsa2048, 20), (.PKCS1SHA224, .rsa2048, 28),
            (.PKCS1SHA256, .rsa2048, 32), (.PKCS1SHA384, .rsa2048, 48), (.PKCS1SHA512, .rsa2048, 64),
            (.PKCS1, .p256, 32), (.sigRaw, .p384, 48), ([], .p521, 64),
        ] as [(SecPadding, KeyKind, Int)], KeyPlace.allCases)
    func `a padding stands for an algorithm`(row: (padding: SecPadding, kind: KeyKind, count: Int), place: KeyPlace) throws {
        let key = try KeyFixture.key(row.kind, place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        var data = [UInt8](repeating: 7, count: row.count)
        data[0] = 0
        var signature = [UInt8](repeating: 0, count: 512)
        var count = signature.count
        #expect(unsafe SecKeyRawSign(key, row.padding, data, data.count, &signature, &count) == errSecSuccess)
        if row.padding == .sigRaw { #expect(count == 2 * SecKeyGetBlockSize(key)) }
        #expect(unsafe SecKeyRawVerify(publicKey, row.padding, data, data.count, signature, count) == errSecSuccess)
        data[row.count - 1] ^= 1
        #expect(unsafe SecKeyRawVerify(publicKey, row.padding, data, data.count, signature, count) == errSSLCrypto)
        var room = 8
        #expect(unsafe SecKeyRawSign(key, row.padding, data, data.count, &signature, &room) == errSecParam)
        #expect(unsafe SecKeyRawSign(publicKey, row.padding, data, data.count, &signature, &count) == errSecParam)
        #expect(unsafe SecKeyRawSign(key, row.padding, data, -1, &signature, &count) == errSecParam)
    }

    @Test(arguments: [[], .PKCS1, .OAEP] as [SecPadding], KeyPlace.allCases)
    func `the older functions encrypt and decrypt`(padding: SecPadding, place: KeyPlace) throws {
        let key = try KeyFixture.key(.rsa2048, place)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let message = [UInt8](repeating: 9, count: padding == [] ? 255 : 40)
        var sealed = [UInt8](repeating: 0, count: 256)
        var opened = sealed
        var (sealedCount, openedCount) = (sealed.count, opened.count)
        #expect(unsafe SecKeyEncrypt(publicKey, padding, message, message.count, &sealed, &sealedCount) == errSecSuccess)
        #expect(sealedCount == 256)
        #expect(unsafe SecKeyDecrypt(key, padding, sealed, sealedCount, &opened, &openedCount) == errSecSuccess)
        #expect(Array(opened[..<openedCount].suffix(message.count)) == message)
        #expect(unsafe SecKeyEncrypt(publicKey, .PKCS1SHA1, message, message.count, &sealed, &sealedCount) == errSecParam)
        var room = 8
        #expect(unsafe SecKeyDecrypt(key, padding, sealed, 256, &opened, &room) == errSecParam)
    }
}
