import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Synchronization
import Testing

@testable import KeychainServices

@Suite struct CertificateAndTrustTests {
    // MARK: Certificates

    @Test func `a certificate gives what the command prints`() throws {
        let leaf = try Authority.certificate("leaf")
        #expect(SecCertificateCopyData(leaf) as Data == (try Authority.shared.get().data("leaf.der")))
        #expect(SecCertificateCopySubjectSummary(leaf) == "web.example")
        var name: CFString?
        #expect(unsafe SecCertificateCopyCommonName(leaf, &name) == errSecSuccess)
        #expect(name == "web.example")
        var addresses: CFArray?
        #expect(unsafe SecCertificateCopyEmailAddresses(leaf, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == ["web@example.org", "post@example.org"])
        let serial = try Authority.shared.get().openssl("x509 -in leaf.pem -noout -serial").stdout
        let number = try #require(SecCertificateCopySerialNumberData(leaf, nil) as Data?)
        let hex = number.drop { $0 == 0 }.map { String(format: "%02X", $0) }.joined()
        #expect(serial.contains(hex))
        let before = try #require(SecCertificateCopyNotValidBeforeDate(leaf) as Date?)
        let after = try #require(SecCertificateCopyNotValidAfterDate(leaf) as Date?)
        #expect(abs(after.timeIntervalSince(before) - 20 * 86400) < 2)
        #expect(try SecCertificateCopyKey(leaf) == SecKey(.public(Certificate(der: Authority.shared.get().data("leaf.der")).publicKey)))
        let issuer = try #require(SecCertificateCopyNormalizedIssuerSequence(leaf) as Data?)
        let subject = try #require(try SecCertificateCopyNormalizedSubjectSequence(Authority.certificate("intermediate")) as Data?)
        #expect(issuer == subject && issuer.first == 0x30 && Int(issuer[1]) == issuer.count - 2)
    }

    @Test func `bytes that are not a certificate are refused`() throws {
        let der = try Authority.shared.get().data("leaf.der")
        for wrong in [Data(), Data([0x30, 0]), der.dropLast(), der + [0], Data("-----BEGIN CERTIFICATE-----".utf8)] {
            #expect(SecCertificateCreateWithData(nil, Data(wrong) as CFData) == nil)
        }
        var name: CFString?
        #expect(try unsafe SecCertificateCopyCommonName(Authority.certificate("nameless"), &name) == errSecInternal)
        #expect(try SecCertificateCopySubjectSummary(Authority.certificate("nameless")) == "Nameless")
    }

    // MARK: Identities

    @Test func `an identity is a certificate with its own key`() throws {
        let identity = try Authority.identity("leaf")
        var certificate: SecCertificate?
        var key: SecKey?
        #expect(unsafe SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess)
        #expect(unsafe SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
        #expect(try certificate == Authority.certificate("leaf"))
        let other = try Authority.identity("client")
        #expect(try SecIdentityCreate(nil, Authority.certificate("leaf"), other.privateKey) == nil)
        let publicKey = try #require(SecKeyCopyPublicKey(identity.privateKey))
        #expect(key == identity.privateKey)
        #expect(try SecIdentityCreate(nil, Authority.certificate("leaf"), publicKey) == nil)
        #expect(try identity == Authority.identity("leaf") && identity != other)
    }

    @Test func `the keychain has the key of a certificate, or not`() throws {
        let throwaway = try TestKeychain.make()
        try SecKeyUse(throwaway) {
            let identity = try Authority.identity("leaf")
            var found: SecIdentity?
            #expect(unsafe SecIdentityCreateWithCertificate(nil, identity.certificate, &found) == errSecItemNotFound)
            #expect(SecItemAdd([kSecValueRef: identity.privateKey] as CFDictionary, nil) == errSecSuccess)
            #expect(unsafe SecIdentityCreateWithCertificate(nil, identity.certificate, &found) == errSecSuccess)
            #expect(found == identity)
            let key = try #require(found?.privateKey)
            let signature = try #require(sign(key, .ecdsaSignatureMessageX962SHA256, Data([1])).value)
            #expect(verify(identity.privateKey, .ecdsaSignatureMessageX962SHA256, Data([1]), signature).value)
        }
    }

    // MARK: Trust

    struct TrustRow: Sendable, CustomTestStringConvertible {
        let name: String
        var certificates = ["leaf", "intermediate"]
        var anchors: [String]? = ["root"]
        var policy: @Sendable () -> SecPolicy = { SecPolicyCreateBasicX509() }
        var days = 0.0
        let status: OSStatus?
        var testDescription: String { name }
    }

    static let rows = [
        TrustRow(name: "a whole chain", status: nil),
        TrustRow(name: "an anchor in the middle", anchors: ["intermediate"], status: nil),
        TrustRow(name: "the leaf as anchor", certificates: ["own"], anchors: ["own"], status: nil),
        TrustRow(name: "the host of the certificate", policy: { SecPolicyCreateSSL(true, "web.example") }, status: nil),
        TrustRow(name: "its address", policy: { SecPolicyCreateSSL(true, "127.0.0.1") }, status: nil),
        TrustRow(name: "any host", policy: { SecPolicyCreateSSL(true, nil) }, status: nil),
        TrustRow(
            name: "a client", certificates: ["client", "intermediate"], policy: { SecPolicyCreateSSL(false, nil) },
            status: nil),
        TrustRow(
            name: "another host", policy: { SecPolicyCreateSSL(true, "other.example") }, status: errSecHostNameMismatch),
        TrustRow(
            name: "another address", policy: { SecPolicyCreateSSL(true, "127.0.0.2") }, status: errSecHostNameMismatch),
        TrustRow(
            name: "a server as client", policy: { SecPolicyCreateSSL(false, nil) },
            status: errSecCertificateCannotOperate),
        TrustRow(
            name: "any usage, for a server", certificates: ["anything", "intermediate"],
            policy: { SecPolicyCreateSSL(true, "any.example") }, status: nil),
        TrustRow(
            name: "any usage, below an authority for e-mail", certificates: ["anythingByMail", "mail"],
            policy: { SecPolicyCreateSSL(true, "any.example") }, status: errSecCertificateCannotOperate),
        TrustRow(
            name: "any usage, of a key that may not have it", certificates: ["seal", "intermediate"],
            policy: { SecPolicyCreateSSL(true, "any.example") }, status: errSecCertificateCannotOperate),
        TrustRow(
            name: "any usage, for code", certificates: ["anything", "intermediate"],
            policy: { SecPolicyCreateWithProperties(kSecPolicyAppleCodeSigning, nil)! }, // A policy of Apple's.
            status: errSecCertificateCannotOperate),
        TrustRow(
            name: "any usage, for another host", certificates: ["anything", "intermediate"],
            policy: { SecPolicyCreateSSL(true, "other.example") }, status: errSecHostNameMismatch),
        TrustRow(
            name: "a small key", certificates: ["small", "intermediate"], status: errSecUnsupportedKeySize),
        TrustRow(
            name: "an unknown critical extension", certificates: ["strange", "intermediate"],
            status: errSecUnknownCriticalExtensionFlag),
        TrustRow(
            name: "an authority below one that may issue leaves only", certificates: ["tooDeep", "deep", "intermediate"],
            status: errSecPathLengthConstraintExceeded),
        TrustRow(
            name: "an issuer that is not an authority", certificates: ["presumed", "nameless", "intermediate"],
            status: errSecNoBasicConstraintsCA),
        TrustRow(
            name: "a name that its authority may not issue", certificates: ["outside", "narrow"],
            status: errSecInvalidName),
        TrustRow(
            name: "the leaf as anchor, with defects above it",
            certificates: ["presumed", "nameless", "intermediate"], anchors: ["presumed"], status: nil),
        TrustRow(
            name: "the leaf and the defective issuers above it as anchors", certificates: ["tooDeep", "deep", "intermediate"],
            anchors: ["tooDeep", "nameless", "intermediate"], status: nil),
        TrustRow(
            name: "another address of e-mail",
            policy: {
                // A policy of Apple's.
                SecPolicyCreateWithProperties(
                    kSecPolicyAppleSMIME, [kSecPolicyName: "nobody@example.org"] as CFDictionary)!
            }, status: errSecCertificateCannotOperate),
        TrustRow(
            name: "another address of e-mail, for any usage", certificates: ["anything", "intermediate"],
            policy: {
                // A policy of Apple's.
                SecPolicyCreateWithProperties(
                    kSecPolicyAppleSMIME, [kSecPolicyName: "nobody@example.org"] as CFDictionary)!
            }, status: errSecSMIMEEmailAddressesNotFound),
        TrustRow(name: "too late", days: 25, status: errSecCertificateExpired),
        TrustRow(name: "too early", days: -5, status: errSecCertificateNotValidYet),
        TrustRow(name: "no intermediate", certificates: ["leaf"], status: errSecCreateChainFailed),
        TrustRow(name: "another anchor", anchors: ["own"], status: errSecCreateChainFailed),
        TrustRow(
            name: "an untrusted root", certificates: ["leaf", "intermediate", "root"], anchors: ["own"],
            status: errSecNotTrusted),
        TrustRow(name: "its own signature alone", certificates: ["own"], anchors: [], status: errSecNotTrusted),
        TrustRow(name: "the system's authorities", certificates: ["own"], anchors: nil, status: errSecNotTrusted),
    ]

    @Test(arguments: rows)
    func `a chain is trusted or not, with the reason`(row: TrustRow) throws {
        var made: SecTrust?
        let certificates = try row.certificates.map { try Authority.certificate($0) } as CFArray
        #expect(unsafe SecTrustCreateWithCertificates(certificates, row.policy(), &made) == errSecSuccess)
        let trust = try #require(made)
        if let anchors = row.anchors {
            let certificates = try anchors.map { try Authority.certificate($0) } as CFArray
            #expect(SecTrustSetAnchorCertificates(trust, certificates) == errSecSuccess)
        }
        if row.days != 0 {
            #expect(SecTrustSetVerifyDate(trust, Date().addingTimeInterval(row.days * 86400) as CFDate) == errSecSuccess)
        }
        // Reading only the result also evaluates.
        let expected: SecTrustResultType = row.status == nil ? .unspecified : .recoverableTrustFailure
        var result = SecTrustResultType.proceed
        #expect(unsafe SecTrustGetTrustResult(trust, &result) == errSecSuccess && result == expected)
        SecTrustSetNetworkFetchAllowed(trust, false)
        #expect(SecTrustCopyResult(trust)?.object(forKey: kSecTrustResultValue) as? UInt32 == expected.rawValue)
        var error: CFError?
        #expect(unsafe SecTrustEvaluateWithError(trust, &error) == (row.status == nil))
        #expect(error.map { OSStatus(truncatingIfNeeded: $0.code) } == row.status)
        #expect(error.map { $0.domain == NSOSStatusErrorDomain } ?? true)
        #expect(unsafe SecTrustEvaluate(trust, &result) == errSecSuccess && result == expected)
        #expect(SecTrustGetCertificateAtIndex(trust, 0) == certificates.object(at: 0) as? SecCertificate)
        #expect(SecTrustGetCertificateAtIndex(trust, -1) == nil && SecTrustGetCertificateAtIndex(trust, 9) == nil)
        if row.name == "a whole chain" { #expect(SecTrustGetCertificateCount(trust) == 3) }
        #expect(SecTrustCopyKey(trust)?.publicKey == (certificates.object(at: 0) as? SecCertificate)?.certificate.publicKey)
    }

    @Test func `the system's authorities are those of its bundle, each one trusted`() throws {
        var anchors: CFArray?
        #expect(unsafe SecTrustCopyAnchorCertificates(&anchors) == errSecSuccess)
        let copied = try #require(anchors as? [SecCertificate])
        let bundle = try #require(SystemRoots.candidates.first { FileManager.default.fileExists(atPath: $0) })
        let listed = try run("grep", ["-c", "BEGIN CERTIFICATE", bundle]).stdout
        #expect(copied.count == Int(listed.trimmingCharacters(in: .whitespacesAndNewlines)))
        let first = try #require(copied.first { $0.certificate.notAfter > Date() })
        var trust: SecTrust?
        #expect(unsafe SecTrustCreateWithCertificates(first, SecPolicyCreateBasicX509(), &trust) == errSecSuccess)
        #expect(SecTrustEvaluateWithError(try #require(trust), nil))
    }

    @Test func `an authority that the keychain's owner trusts is trusted for the chosen uses`() throws {
        let throwaway = try TestKeychain.make()
        let chain = try ["leaf", "intermediate"].map { try Authority.certificate($0) } as CFArray
        func isTrusted(_ policy: SecPolicy, anchors: CFArray? = nil) -> Bool {
            var made: SecTrust?
            unsafe SecTrustCreateWithCertificates(chain, policy, &made)
            guard let trust = made else { return false }
            if let anchors { SecTrustSetAnchorCertificates(trust, anchors) }
            return SecTrustEvaluateWithError(trust, nil)
        }
        try SecKeyUse(throwaway) {
            let (basic, server) = (SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, "web.example"))
            #expect(!isTrusted(basic) && !isTrusted(server))
            let root = try Authority.certificate("root").certificate
            try throwaway.keychain.trust.add(root, for: [.server])
            #expect(isTrusted(server) && isTrusted(basic))
            try throwaway.keychain.trust.add(root, for: [.email])
            #expect(!isTrusted(server) && isTrusted(basic))
            // Setting anchors excludes the certificates that the keychain trusts.
            #expect(!isTrusted(basic, anchors: [] as CFArray))
            let leaf = try Authority.certificate("intermediate")
            #expect(SecItemAdd([kSecValueRef: leaf] as CFDictionary, nil) == errSecSuccess)
            let query = [kSecClass: kSecClassCertificate, kSecMatchTrustedOnly: true, kSecAttrLabel: "Intermediate"] as CFDictionary
            #expect(SecItemCopyMatching(query, nil) == errSecSuccess)
            try throwaway.keychain.trust.remove(root)
            #expect(!isTrusted(basic) && SecItemCopyMatching(query, nil) == errSecItemNotFound)
        }
        // A keychain that would need user interaction is not unlocked, and the evaluation does not fail.
        try throwaway.keychain.trust.add(Authority.certificate("root").certificate)
        var options = Keychain.Options()
        options.pinSource = try PINSource(parsing: "prompt")
        options.prompter = Nobody()
        let locked = try Keychain.open(throwaway.keychain.name, in: throwaway.directories, options: options)
        try locked.lock()
        SecKeychainUse(locked) { #expect(!isTrusted(SecPolicyCreateBasicX509())) }
    }

    /// A prompter that records a test failure when it is called.
    private struct Nobody: Prompter {
        func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
            Issue.record("the user was asked: \(prompt)")
            throw KeychainError(.cancelled, "there is no user.")
        }
    }

    @Test func `data that asks for confirmation is given to a user with the PIN, once for each call`() throws {
        let throwaway = try TestKeychain.make()
        let item = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"] as [CFString: Any]
        let control = SecAccessControl(protection: "ak", flags: .userPresence)
        let added = item.merging([kSecAttrAccessControl: control, kSecValueData: Data("x".utf8)]) { $1 } as CFDictionary
        SecKeychainUse(throwaway.keychain) { #expect(SecItemAdd(added, nil) == errSecSuccess) }
        let file = try #require(throwaway.keychain.objects.pinFile)
        let pin = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        for (answer, status) in [(pin, errSecSuccess), ("another", errSecAuthFailed)] {
            let person = Person(answer: answer)
            var options = Keychain.Options()
            options.pinSource = try PINSource(parsing: "prompt")
            options.prompter = person
            let keychain = try Keychain.open(throwaway.keychain.name, in: throwaway.directories, options: options)
            try keychain.unlock(with: SecretBytes(utf8: pin))
            SecKeychainUse(keychain) {
                let query = item.merging([kSecReturnData: true]) { $1 } as CFDictionary
                var result: CFTypeRef?
                #expect(unsafe SecItemCopyMatching(query, &result) == status)
                #expect((result as? Data == Data("x".utf8)) == (status == errSecSuccess))
                _ = unsafe SecItemCopyMatching(query, &result)
            }
            #expect(person.count.withLock { $0 } == 2)
        }
    }

    private final class Person: Prompter {
        let answer: String
        let count = Lock(0)
        init(answer: String) { self.answer = answer }
        func readSecret(prompt: String, confirm: Bool) throws(KeychainError) -> SecretBytes {
            count.withLock { $0 += 1 }
            return SecretBytes(utf8: answer)
        }
    }

    @Test func `every policy must be met, and a changed question is evaluated again`() throws {
        let chain = try ["leaf", "intermediate"].map { try Authority.certificate($0) } as CFArray
        var made: SecTrust?
        let policies = [SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, "other.example")] as CFArray
        #expect(unsafe SecTrustCreateWithCertificates(chain, policies, &made) == errSecSuccess)
        let trust = try #require(made)
        #expect(SecTrustSetAnchorCertificates(trust, [try Authority.certificate("root")] as CFArray) == errSecSuccess)
        #expect(!isTrusted(trust))
        #expect(SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, "web.example")) == errSecSuccess)
        #expect(isTrusted(trust))
        #expect(SecTrustSetAnchorCertificates(trust, nil) == errSecSuccess)
        #expect(!isTrusted(trust))
        for wrong in [NSArray(), ["x"] as NSArray, "x" as NSString] as [AnyObject] {
            #expect(unsafe SecTrustCreateWithCertificates(wrong, nil, &made) == errSecParam)
            #expect(SecTrustSetPolicies(trust, wrong) == errSecParam)
        }
    }

    @Test func `an answer to an old question is not kept`() throws {
        let chain = try ["leaf", "intermediate"].map { try Authority.certificate($0) } as CFArray
        var made: SecTrust?
        // So many that a change occurs during the evaluation.
        let policies = (0..<20).map { _ in SecPolicyCreateBasicX509() } as CFArray
        #expect(unsafe SecTrustCreateWithCertificates(chain, policies, &made) == errSecSuccess)
        let trust = try #require(made)
        let anchors = try ["own", "root"].map { [try Authority.certificate($0)] as CFArray }
        SecTrustSetAnchorCertificates(trust, anchors[0])
        let isDone = Atomic(false)
        let asking = Thread.running { while !isDone.load(ordering: .relaxed) { _ = isTrusted(trust) } }
        var stale = 0
        for round in 0..<200 {
            for anchor in [1 - round % 2, round % 2] {
                SecTrustSetAnchorCertificates(trust, anchors[anchor])
                usleep(UInt32(round))
            }
            // Reads the stored answer, without evaluating.
            while trust.answer == nil { usleep(10) }
            let result = trust.answer?.result
            if let result, result != (round % 2 == 1 ? .unspecified : .recoverableTrustFailure) { stale += 1 }
        }
        isDone.store(true, ordering: .relaxed)
        asking.wait()
        #expect(stale == 0)
    }

    @Test func `a policy has the properties it was made with`() throws {
        let policy = SecPolicyCreateSSL(false, "host")
        let properties = try #require(SecPolicyCopyProperties(policy))
        #expect(properties.object(forKey: kSecPolicyOid) as? String == kSecPolicyAppleSSL as String)
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, properties) == policy)
        #expect(SecPolicyCreateWithProperties("1.2.3" as NSString, nil) == nil)
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, [kSecPolicyName: 7] as CFDictionary) == nil)
    }

    // MARK: Access control

    @Test(
        arguments: [
            ([], true), ([.userPresence], true), ([.userPresence, .privateKeyUsage], true),
            ([.userPresence, .applicationPassword], true), ([.biometryAny, .or, .devicePasscode], true),
            ([.biometryCurrentSet, .privateKeyUsage], true), ([.or, .and], false),
            ([.biometryAny, .biometryCurrentSet], false), ([.userPresence, .devicePasscode], false),
            ([.userPresence, .or], false), ([.userPresence, .biometryAny], false),
            (SecAccessControlCreateFlags(rawValue: 1 << 2), false), (SecAccessControlCreateFlags(rawValue: 1 << 40), false),
        ] as [(SecAccessControlCreateFlags, Bool)])
    func `flags that contradict each other make no access control`(
        row: (flags: SecAccessControlCreateFlags, isFine: Bool)
    ) throws {
        let made = unsafe outcome {
            unsafe SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, row.flags, $0)
        }
        #expect((made.value != nil) == row.isFine && made.status == (row.isFine ? nil : errSecParam))
        guard let control = made.value else { return }
        #expect(SecAccessControl(stored: control.stored) == control)
    }

    @Test func `an unknown protection makes no access control`() {
        for wrong in ["", "f", "xx"] as [NSString] {
            let made = unsafe outcome { unsafe SecAccessControlCreateWithFlags(nil, wrong, [], $0) }
            #expect(made == Outcome(value: nil, status: errSecParam))
        }
        let made = unsafe outcome { unsafe SecAccessControlCreateWithFlags(nil, NSNumber(value: 1), [], $0) }
        #expect(made == Outcome(value: nil, status: errSecParam))
        for wrong in [Data(), Data("ak".utf8), Data("ak\0zz".utf8), Data([0xFF, 0, 0x30])] {
            #expect(SecAccessControl(stored: wrong) == nil)
        }
    }
}
