import Dispatch
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// Keys from bytes, their encodings, and generated keys; vectors V107 to V111.
@Suite struct KeyCreationTests {
    private func keys(_ attributes: [CFString: Any]) -> Outcome<Int> {
        var result: CFTypeRef?
        var query = attributes
        query[kSecClass] = kSecClassKey
        query[kSecMatchLimit] = kSecMatchLimitAll
        query[kSecReturnRef] = true
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
        return Outcome(value: (result as? NSArray)?.count ?? 0, status: status)
    }

    @Test(arguments: KeyKind.allCases, [(false, false), (false, true), (true, false), (true, true)])
    func `V107: the number of items equals the number of permanent halves`(kind: KeyKind, permanent: (private: Bool, public: Bool)) throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            var parameters = kind.parameters
            parameters[kSecAttrLabel] = "pair"
            parameters[kSecAttrApplicationTag] = Data("tag".utf8)
            parameters[kSecPrivateKeyAttrs] = [kSecAttrIsPermanent: permanent.private] as NSDictionary
            parameters[kSecPublicKeyAttrs] = [kSecAttrIsPermanent: permanent.public] as NSDictionary
            let key = try #require(generate(parameters).value)
            let count = (permanent.private ? 1 : 0) + (permanent.public ? 1 : 0)
            for query in [[kSecAttrLabel: "pair" as Any], [kSecAttrApplicationTag: Data("tag".utf8)]] {
                #expect(keys(query) == Outcome(value: count, status: count == 0 ? errSecItemNotFound : errSecSuccess))
            }
            // A permanent key stays on the token; one in memory can be exported.
            #expect(representation(of: key).status == (permanent.private ? errSecUnimplemented : nil))
            guard permanent.private != permanent.public else { return }
            let missing = permanent.private ? try #require(SecKeyCopyPublicKey(key)) : key
            var item: [CFString: Any] = [kSecValueRef: missing, kSecAttrLabel: "pair"]
            item[kSecAttrApplicationTag] = Data("tag".utf8)
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            #expect(keys([kSecAttrLabel: "pair"]) == Outcome(value: 2, status: errSecSuccess))
        }
    }

    @Test func `V109: the halves of a permanent pair are removed one after the other`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            var parameters = KeyKind.p256.parameters
            parameters[kSecAttrIsPermanent] = true
            let key = try #require(generate(parameters).value)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(keys([:]).value == 2)
            #expect(SecItemDelete([kSecValueRef: key] as CFDictionary) == errSecSuccess)
            #expect(keys([:]).value == 1)
            #expect(SecItemDelete([kSecValueRef: publicKey] as CFDictionary) == errSecSuccess)
            #expect(keys([:]) == Outcome(value: 0, status: errSecItemNotFound))
        }
    }

    @Test func `the public half stops being an item and the private one still signs`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            var parameters = KeyKind.p256.parameters
            parameters[kSecAttrIsPermanent] = true
            let key = try #require(generate(parameters).value)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(SecItemDelete([kSecValueRef: publicKey] as CFDictionary) == errSecSuccess)
            #expect(keys([:]).value == 1)
            let signature = try #require(sign(key, .ecdsaSignatureMessageX962SHA256, Data()).value)
            #expect(verify(publicKey, .ecdsaSignatureMessageX962SHA256, Data(), signature).value)
            // Another process finds the key with its public half.
            let again = try Keychain.open(throwaway.keychain.name, in: throwaway.directories)
            let item = try #require(try again.find(.keys).first)
            #expect(try again.keys.tokenKey(for: item).publicKey == publicKey.publicKey)
        }
    }

    @Test(arguments: KeyKind.allCases)
    func `no thread finds a key whose item is deleted, and its public half still works`(kind: KeyKind) throws {
        let throwaway = try TestKeychain.make()
        let algorithm: SecKeyAlgorithm =
            switch kind {
            case .rsa2048: .rsaSignatureMessagePSSSHA256
            case .ed25519: .eddsaSignatureMessageCurve25519SHA512
            default: .ecdsaSignatureMessageX962SHA256
            }
        try SecKeyUse(throwaway) {
            var parameters = kind.parameters
            parameters[kSecPrivateKeyAttrs] = [kSecAttrIsPermanent: true] as NSDictionary
            let (key, other) = (try #require(generate(parameters).value), try #require(generate(parameters).value))
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            let signature = try #require(sign(key, algorithm, Data([1])).value)
            // Signatures are valid until the deletion; afterwards none is made, and never one with another key.
            DispatchQueue.concurrentPerform(iterations: 64) { index in
                if index == 32 {
                    let status = try? SecKeyUse(throwaway) { SecItemDelete([kSecValueRef: key] as CFDictionary) }
                    #expect(status == errSecSuccess)
                }
                let (made, others) = (sign(key, algorithm, Data([1])), sign(other, algorithm, Data([1])))
                if let signature = made.value {
                    #expect(verify(publicKey, algorithm, Data([1]), signature).value)
                } else {
                    #expect(made.status == errSecItemNotFound)
                }
                #expect(others.status == nil)
            }
            #expect(sign(key, algorithm, Data([1])) == Outcome(value: nil, status: errSecItemNotFound))
            #expect(verify(key, algorithm, Data([1]), signature).value && SecKeyCopyPublicKey(key) == publicKey)
            #expect(SecKeyCopyAttributes(key) != nil && SecKeyIsAlgorithmSupported(key, .sign, algorithm))
            #expect(representation(of: key).value == nil && keys([:]).value == 1)
            #expect(SecItemDelete([kSecValueRef: key] as CFDictionary) == errSecItemNotFound)
            // A removed key cannot be added by its reference.
            #expect(SecItemAdd([kSecValueRef: key] as CFDictionary, nil) != errSecSuccess)
            #expect(keys([:]).value == 1)
        }
    }

    @Test func `a generated key leaves the token only if that was requested`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            var parameters = KeyKind.p256.parameters
            parameters[kSecPrivateKeyAttrs] = [
                kSecAttrIsPermanent: true, kSecAttrIsExtractable: true, kSecAttrLabel: "may leave",
            ] as NSDictionary
            let key = try #require(generate(parameters).value)
            let bytes = try #require(representation(of: key).value)
            let copy = try #require(KeychainServicesTests.key(from: bytes, [
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            ]).value)
            #expect(copy == key)
            // A key that is bound to the token never leaves it.
            parameters[kSecAttrTokenID] = "com.apple.setoken"
            parameters[kSecPrivateKeyAttrs] = [kSecAttrIsExtractable: true, kSecAttrLabel: "stays"] as NSDictionary
            let bound = try #require(generate(parameters).value)
            #expect(representation(of: bound) == Outcome(value: nil, status: errSecUnimplemented))
            #expect(keys([kSecAttrLabel: "stays"]).value == 1)
        }
    }

    @Test(arguments: ["com.apple.setoken", "com.apple.setoken:aks"], [true, false])
    func `a Secure Enclave key that is not permanent is not an item, and its bytes cannot be exported`(
        token: String, isNested: Bool
    ) throws {
        let bench = try SecItemFixture()
        let own: [String: Any] = ["perm": false, "labl": "short-lived", "atag": Data("tag".utf8)]
        let half: [String: Any] = isNested ? ["tkid": token, "private": own] : own + ["tkid": token]
        let key = try bench.generating(half + ["type": "73", "bsiz": 256])
        bench.expect(-25300, bench.copy(["class": "keys", "sync": "syna"]))
        #expect(bench.use { representation(of: key) } == Outcome(value: nil, status: errSecUnimplemented))
        let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
        #expect(attributes["tkid"] as? String == token)
        #expect(attributes["perm"] as? Bool == false)
        #expect(attributes["extr"] as? Bool == false)
        #expect(attributes["v_Data"] == nil)
        #expect(attributes["labl"] as? String == "short-lived")
        let message = Data("message".utf8) as CFData
        let signature = bench.use { SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) }
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(
            SecKeyVerifySignature(
                publicKey, .ecdsaSignatureMessageX962SHA256, message, try #require(signature), nil))
        var exported: CFData?
        let export = bench.use { unsafe SecItemExport(key, .formatOpenSSL, [], nil, &exported) }
        #expect(export == errSecUnimplemented)
        // As an item it stays on the token.
        bench.expect(0, bench.add(["v_Ref": key, "extr": true]))
        let stored = bench.copying(["class": "keys", "kcls": "1"] + wantsReference).value
        let found = try #require(stored as? SecKey)
        #expect(found == key)
        #expect(bench.use { representation(of: found) } == Outcome(value: nil, status: errSecUnimplemented))
    }

    @Test func `a Secure Enclave key that is not permanent requires user presence if its access control does`() throws {
        let bench = try SecItemFixture()
        let control = SecAccessControl(protection: "aku", flags: [.privateKeyUsage, .userPresence])
        let key = try bench.generating(
            ["type": "73", "bsiz": 256, "tkid": "com.apple.setoken", "private": ["perm": false, "accc": control]])
        var error: Unmanaged<CFError>?
        let signature = bench.use {
            unsafe SecKeyCreateSignature(
                key, .ecdsaSignatureMessageX962SHA256, Data("message".utf8) as CFData, &error)
        }
        // The PIN of the keychain is in a file, so it has no prompter.
        #expect(signature == nil)
        #expect(unsafe error?.takeRetainedValue().code == Int(errSecInteractionNotAllowed))
    }

    @Test(arguments: KeyKind.allCases)
    func `a key converts to bytes and back`(kind: KeyKind) throws {
        let privateKey = try KeyFixture.key(kind, .memory)
        let publicKey = try #require(SecKeyCopyPublicKey(privateKey))
        let type = try #require(kind.parameters[kSecAttrKeyType])
        for (original, half) in [(privateKey, kSecAttrKeyClassPrivate), (publicKey, kSecAttrKeyClassPublic)] {
            let bytes = try #require(representation(of: original).value)
            let attributes: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: half]
            #expect(key(from: bytes, attributes) == Outcome(value: original, status: nil))
            #expect(representation(of: original).value == bytes)
            // V110: altered bytes, and the bytes of the other half.
            let refusal = Outcome<SecKey?>(value: nil, status: errSecParam)
            let other = half == kSecAttrKeyClassPrivate ? kSecAttrKeyClassPublic : kSecAttrKeyClassPrivate
            if kind != .ed25519 { #expect(key(from: bytes, [kSecAttrKeyType: type, kSecAttrKeyClass: other]) == refusal) }
            for wrong in [bytes.dropLast(), bytes + [0], Data(), Data([0x30])] {
                #expect(key(from: Data(wrong), attributes) == refusal)
            }
            // PKCS#8 is another format.
            if case .memory(let key) = original.material {
                #expect(KeychainServicesTests.key(from: try key.pkcs8DER().copyData(), attributes) == refusal)
            }
            guard kind != .ed25519 else { continue }
            var changed = bytes
            changed[changed.count / 2] ^= 1
            if !(kind == .rsa2048 && half == kSecAttrKeyClassPublic) { #expect(key(from: changed, attributes) == refusal) }
        }
    }

    @Test func `bytes without a type and a class are not a key`() {
        let rows: [([CFString: Any], OSStatus)] = [
            ([:], errSecParam), ([kSecAttrKeyType: kSecAttrKeyTypeRSA], errSecParam),
            ([kSecAttrKeyClass: kSecAttrKeyClassPublic], errSecParam),
            ([kSecAttrKeyType: kSecAttrKeyTypeAES, kSecAttrKeyClass: kSecAttrKeyClassSymmetric], errSecUnimplemented),
            ([kSecAttrKeyType: kSecAttrKeyTypeKyber, kSecAttrKeyClass: kSecAttrKeyClassPublic], errSecParam),
            ([kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: "7"], errSecParam),
            ([kSecAttrKeyType: Data(), kSecAttrKeyClass: kSecAttrKeyClassPublic], errSecParam),
        ]
        for (index, row) in rows.enumerated() {
            #expect(key(from: Data([1, 2, 3]), row.0) == Outcome(value: nil, status: row.1), "row \(index)")
        }
    }

    @Test func `a dictionary with missing or excess attributes generates no key pair`() throws {
        let (type, size) = (kSecAttrKeyType, kSecAttrKeySizeInBits)
        let rows: [([CFString: Any], OSStatus)] = [
            ([:], errSecParam), ([type: kSecAttrKeyTypeRSA], errSecParam),
            ([type: kSecAttrKeyTypeEC, size: 123], errSecParam), ([type: kSecAttrKeyTypeEC, size: 255], errSecParam),
            ([type: kSecAttrKeyTypeEC, size: 0], errSecParam), ([type: kSecAttrKeyTypeEC, size: -256], errSecParam),
            ([type: kSecAttrKeyTypeEC, size: 192], errSecKeySizeNotAllowed),
            ([type: kSecAttrKeyTypeEC, size: 224], errSecKeySizeNotAllowed),
            ([type: kSecAttrKeyTypeRSA, size: 32768], errSecKeySizeNotAllowed),
            ([type: kSecAttrKeyTypeRSA, size: 100], errSecKeySizeNotAllowed),
            ([type: kSecAttrKeyTypeMLKEM, size: 768], errSecParam),
            ([type: kSecAttrKeyTypeEC, size: 256, kSecPrivateKeyAttrs: "x"], errSecParam),
            ([type: kSecAttrKeyTypeEC, size: 256, kSecAttrIsPermanent: "x"], errSecParam),
            (
                [
                    type: kSecAttrKeyTypeEC, size: 256,
                    kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrAccessGroup: "not mine"] as NSDictionary,
                ], errSecMissingEntitlement
            ),
        ]
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            for (index, row) in rows.enumerated() {
                #expect(generate(row.0) == Outcome(value: nil, status: row.1), "row \(index)")
                var (publicKey, privateKey): (SecKey?, SecKey?)
                #expect(unsafe SecKeyGeneratePair(row.0 as CFDictionary, &publicKey, &privateKey) == row.1)
                #expect(publicKey == nil && privateKey == nil)
            }
        }
    }

    @Test func `V111: the operations of the halves of an RSA pair`() throws {
        let key = try KeyFixture.key(.rsa2048, .memory)
        let privateKey = try #require(SecKeyCopyAttributes(key))
        let publicKey = try #require(SecKeyCopyPublicKey(key).flatMap { SecKeyCopyAttributes($0) })
        func flag(_ attributes: NSDictionary, _ name: CFString) -> Bool? { attributes.object(forKey: name) as? Bool }
        #expect(flag(privateKey, kSecAttrCanEncrypt) == false && flag(privateKey, kSecAttrCanDecrypt) == true)
        #expect(flag(privateKey, kSecAttrCanDerive) == false && flag(privateKey, kSecAttrCanSign) == true)
        #expect(flag(privateKey, kSecAttrCanVerify) == false && flag(publicKey, kSecAttrCanEncrypt) == true)
        #expect(flag(publicKey, kSecAttrCanVerify) == true && flag(publicKey, kSecAttrCanWrap) == true)
        let hash = privateKey.object(forKey: kSecAttrApplicationLabel) as? Data
        #expect(hash == key.publicKey.identifier && publicKey.object(forKey: kSecAttrApplicationLabel) as? Data == hash)
        #expect(privateKey.object(forKey: kSecAttrKeyClass) as? String == kSecAttrKeyClassPrivate as String)
        #expect(privateKey.object(forKey: kSecAttrKeyType) as? String == kSecAttrKeyTypeRSA as String)
        #expect(privateKey.object(forKey: kSecAttrKeySizeInBits) as? Int == 2048)
        #expect(privateKey.object(forKey: kSecValueData) as? Data == representation(of: key).value)
        let onToken = try #require(SecKeyCopyAttributes(KeyFixture.key(.rsa2048, .token)))
        #expect(onToken.object(forKey: kSecValueData) == nil && flag(onToken, kSecAttrIsExtractable) == false)
    }

    @Test(arguments: [(KeyKind.rsa2048, 256), (.p256, 32), (.p384, 48), (.p521, 66), (.ed25519, 32)])
    func `a block has the size of the modulus or of a coordinate`(row: (kind: KeyKind, size: Int)) throws {
        #expect(SecKeyGetBlockSize(try KeyFixture.key(row.kind, .token)) == row.size)
    }

    @Test func `a key is equal to itself on the token and in memory`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            let key = try #require(generate(KeyKind.p256.parameters).value)
            #expect(SecItemAdd([kSecValueRef: key] as CFDictionary, nil) == errSecSuccess)
            var found: CFTypeRef?
            let query = [kSecClass: kSecClassKey, kSecReturnRef: true] as CFDictionary
            #expect(unsafe SecItemCopyMatching(query, &found) == errSecSuccess)
            let stored = try #require(found as? SecKey)
            #expect(stored == key && stored != SecKeyCopyPublicKey(key))
            if case .token = stored.material {} else { Issue.record("the key is not on the token") }
            // A key that was added by reference may leave again (V19).
            #expect(representation(of: stored).value == representation(of: key).value)
        }
    }

    @Test func `random bytes are random and fill the given buffer`() {
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, 32, &bytes) == errSecSuccess)
        #expect(bytes.prefix(32).contains { $0 != 0 } && bytes.suffix(32).allSatisfy { $0 == 0 })
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, 0, &bytes) == errSecSuccess)
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, -1, &bytes) == errSecParam)
    }
}
