import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// Private keys whose access control requires user presence: every use asks, and using the public half does not.
@Suite struct KeyPresenceTests {
    /// A prompter that gives the same answer to every question and counts them.
    private final class Person: Prompter {
        let answer: String?
        let count = Lock(0)
        init(_ answer: String?) { self.answer = answer }
        func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
            count.withLock { $0 += 1 }
            guard let answer else { throw KeychainError(.cancelled, "the user cancelled.") }
            return SecretBytes(utf8: answer)
        }
    }

    /// An operation of a private key, and whether it succeeded.
    struct Use: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: KeyKind
        let run: @Sendable (SecKey) throws -> Outcome<Data?>

        init(_ name: String, _ kind: KeyKind, _ run: @escaping @Sendable (SecKey) throws -> Outcome<Data?>) {
            (testDescription, self.kind, self.run) = (name, kind, run)
        }

        static func decrypting(_ algorithm: SecKeyAlgorithm) -> @Sendable (SecKey) throws -> Outcome<Data?> {
            let identifier = algorithm.rawValue as String
            return { key in
                let algorithm = SecKeyAlgorithm(rawValue: identifier as CFString)
                let publicKey = try #require(SecKeyCopyPublicKey(key))
                let sealed = try #require(encrypt(publicKey, algorithm, Data("message".utf8)).value)
                return decrypt(key, algorithm, sealed)
            }
        }
    }

    static let uses: [Use] = [
        Use("a signature of ECDSA", .p256) { sign($0, .ecdsaSignatureMessageX962SHA256, Data("m".utf8)) },
        Use("a signature of RSA", .rsa2048) { sign($0, .rsaSignatureMessagePSSSHA256, Data("m".utf8)) },
        Use("a signature of Ed25519", .ed25519) { sign($0, .eddsaSignatureMessageCurve25519SHA512, Data("m".utf8)) },
        Use("a decryption of RSA", .rsa2048, Use.decrypting(.rsaEncryptionOAEPSHA256)),
        Use("a key wrapped by RSA", .rsa2048, Use.decrypting(.rsaEncryptionOAEPSHA256AESGCM)),
        Use("a decryption of ECIES", .p256, Use.decrypting(.eciesEncryptionCofactorVariableIVX963SHA256AESGCM)),
        Use("a key agreement", .p256) { key in
            let peer = try #require(generate(KeyKind.p256.parameters).value)
            return agree(key, .ecdhKeyExchangeStandard, try #require(SecKeyCopyPublicKey(peer)))
        },
        Use("an export", .p256) { representation(of: $0) },
    ]

    /// A test's keychain as seen by a program whose user gives `answer`.
    private func keychain(_ throwaway: ThrowawayKeychain, _ person: Person, _ pin: String) throws -> Keychain {
        var options = Keychain.Options()
        options.pinSource = try PINSource(parsing: "prompt")
        options.prompter = person
        let keychain = try Keychain.open(throwaway.keychain.name, in: throwaway.directories, options: options)
        try keychain.unlock(with: SecretBytes(utf8: pin))
        return keychain
    }

    private func pin(_ throwaway: ThrowawayKeychain) throws -> String {
        let file = try #require(throwaway.keychain.objects.pinFile)
        return try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// An extractable key with an access control.
    private func makeKey(_ kind: KeyKind, _ flags: SecAccessControlCreateFlags) throws -> SecKey {
        var parameters = kind.parameters
        parameters[kSecPrivateKeyAttrs] = [
            kSecAttrIsPermanent: true, kSecAttrIsExtractable: true, kSecAttrLabel: "guarded",
            kSecAttrAccessControl: SecAccessControl(protection: "ak", flags: flags),
        ] as NSDictionary
        return try #require(generate(parameters).value)
    }

    @Test(arguments: uses)
    func `a key with access control is used if the user confirms presence`(use: Use) throws {
        let throwaway = try TestKeychain.make()
        let made = try SecKeyUse(throwaway) { try makeKey(use.kind, [.userPresence, .privateKeyUsage]) }
        // The user cannot be asked, because the PIN of this keychain comes from a file.
        #expect(try use.run(made) == Outcome(value: nil, status: errSecInteractionNotAllowed))
        let pin = try pin(throwaway)
        for (answer, status) in [(pin, nil), ("another", errSecAuthFailed), (nil, errSecUserCanceled)] as [(String?, OSStatus?)] {
            let person = Person(answer)
            try SecKeyUse(keychain(throwaway, person, pin)) {
                var found: CFTypeRef?
                let query = [kSecClass: kSecClassKey, kSecAttrLabel: "guarded", kSecReturnRef: true] as CFDictionary
                #expect(unsafe SecItemCopyMatching(query, &found) == errSecSuccess)
                let key = try #require(found as? SecKey)
                // A reference, a description, and using the public half require no confirmation.
                #expect(SecKeyCopyAttributes(key)?.object(forKey: kSecValueData) == nil)
                #expect(SecKeyCopyAttributes(key)?.object(forKey: kSecAttrAccessControl) is SecAccessControl)
                #expect(!verify(key, Self.verification(use.kind), Data(), Data([1])).value)
                #expect(person.count.withLock { $0 } == 0)
                for times in 1...2 {
                    let outcome = try use.run(key)
                    #expect(outcome.status == status && (outcome.value != nil) == (status == nil))
                    #expect(person.count.withLock { $0 } == times)
                }
            }
        }
    }

    private static func verification(_ kind: KeyKind) -> SecKeyAlgorithm {
        switch kind {
        case .rsa2048: .rsaSignatureMessagePSSSHA256
        case .ed25519: .eddsaSignatureMessageCurve25519SHA512
        default: .ecdsaSignatureMessageX962SHA256
        }
    }

    private func SecKeyUse<Result>(_ keychain: Keychain, _ body: () throws -> Result) throws -> Result {
        try SecKeychainUse(keychain, accessGroups: [""], during: body)
    }

    private func SecKeyUse<Result>(_ throwaway: ThrowawayKeychain, _ body: () throws -> Result) throws -> Result {
        try SecKeyUse(throwaway.keychain, body)
    }

    @Test(
        arguments: [
            ([.userPresence], true), ([.biometryAny, .privateKeyUsage], true), ([.biometryCurrentSet], true),
            ([.devicePasscode], true), ([.companion], true), ([.biometryAny, .or, .devicePasscode], true),
            ([.privateKeyUsage], false), ([], false),
        ] as [(SecAccessControlCreateFlags, Bool)])
    func `flags that require user presence protect a key, and others do not`(
        row: (flags: SecAccessControlCreateFlags, isGuarded: Bool)
    ) throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            let key = try makeKey(.p256, row.flags)
            let status = row.isGuarded ? errSecInteractionNotAllowed : nil
            #expect(sign(key, .ecdsaSignatureMessageX962SHA256, Data()).status == status)
            #expect(representation(of: key).status == status)
            var found: CFTypeRef?
            let query = [kSecClass: kSecClassKey, kSecReturnData: true] as CFDictionary
            #expect(unsafe SecItemCopyMatching(query, &found) == status ?? errSecSuccess)
            #expect(SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureMessageX962SHA256))
            guard row.isGuarded else { return }
            // Without its access control, the key requires no confirmation.
            let free = SecAccessControl(protection: "ak", flags: [])
            #expect(SecItemUpdate([kSecValueRef: key] as CFDictionary, [kSecAttrAccessControl: free] as CFDictionary) == 0)
            let again = [kSecClass: kSecClassKey, kSecReturnRef: true] as CFDictionary
            #expect(unsafe SecItemCopyMatching(again, &found) == errSecSuccess)
            #expect(sign(try #require(found as? SecKey), .ecdsaSignatureMessageX962SHA256, Data()).status == nil)
        }
    }

    @Test func `a protected key that is added again gives its bytes only after a confirmation`() throws {
        let throwaway = try TestKeychain.make()
        let pin = try pin(throwaway)
        let copy = [kSecClass: kSecClassKey, kSecAttrApplicationTag: "copy"] as CFDictionary
        func addition(_ key: SecKey) -> CFDictionary {
            [kSecValueRef: key, kSecAttrApplicationTag: "copy", kSecReturnData: true] as CFDictionary
        }
        var given: CFTypeRef?
        try SecKeyUse(throwaway) {
            let key = try makeKey(.p256, [.userPresence])
            #expect(unsafe SecItemAdd(addition(key), &given) == errSecInteractionNotAllowed)
            #expect(given == nil && SecItemCopyMatching(copy, nil) == errSecItemNotFound)
        }
        let person = Person(pin)
        try SecKeyUse(keychain(throwaway, person, pin)) {
            var found: CFTypeRef?
            let query = [kSecClass: kSecClassKey, kSecAttrLabel: "guarded", kSecReturnRef: true] as CFDictionary
            #expect(unsafe SecItemCopyMatching(query, &found) == errSecSuccess)
            let key = try #require(found as? SecKey)
            #expect(unsafe SecItemAdd(addition(key), &given) == errSecSuccess)
            #expect((given as? Data)?.count == 97 && person.count.withLock { $0 } == 1)
            #expect(SecItemCopyMatching(copy, nil) == errSecSuccess)
        }
    }

    @Test func `an identity's key is protected like the key, and bytes on the token need no confirmation`() throws {
        let throwaway = try TestKeychain.make()
        let pin = try pin(throwaway)
        let identity = try Authority.identity("leaf")
        let control = SecAccessControl(protection: "ak", flags: [.userPresence, .privateKeyUsage])
        let person = Person(pin)
        try SecKeyUse(keychain(throwaway, person, pin)) {
            #expect(SecItemAdd([kSecValueRef: identity, kSecAttrAccessControl: control] as CFDictionary, nil) == errSecSuccess)
            var found: CFTypeRef?
            let query = [kSecClass: kSecClassIdentity, kSecReturnRef: true] as CFDictionary
            #expect(unsafe SecItemCopyMatching(query, &found) == errSecSuccess)
            let stored = try #require(found as? SecIdentity)
            #expect(person.count.withLock { $0 } == 0)
            #expect(sign(stored.privateKey, .ecdsaSignatureMessageX962SHA256, Data()).value != nil)
            #expect(person.count.withLock { $0 } == 1)
            var same: SecIdentity?
            #expect(unsafe SecIdentityCreateWithCertificate(nil, identity.certificate, &same) == errSecSuccess)
            #expect(sign(try #require(same).privateKey, .ecdsaSignatureMessageX962SHA256, Data()).value != nil)
            #expect(person.count.withLock { $0 } == 2)
            #expect(representation(of: stored.privateKey).status == errSecUnimplemented)
            #expect(exporting(stored, .formatPKCS12, passphrase: "p").status == errSecUnimplemented)
            let data = [kSecClass: kSecClassKey, kSecReturnData: true, kSecReturnAttributes: true] as CFDictionary
            #expect(unsafe SecItemCopyMatching(data, &found) == errSecSuccess)
            #expect((found as? NSDictionary)?.object(forKey: kSecValueData) == nil)
            #expect(person.count.withLock { $0 } == 2)
        }
    }
}
