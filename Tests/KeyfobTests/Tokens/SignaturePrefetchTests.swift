import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Prefetched signatures: each is used once, and only while the key is unchanged.
@Suite struct SignatureAheadTests {
    private let test: TestKeychain
    private let key: TokenKey
    private static let mechanism = Mechanism(.ecdsa)
    private let digest = [UInt8](repeating: 7, count: 32)

    init() throws {
        test = try TestKeychain()
        let item = try test.keychain.keys.generate(.p256, label: "key")
        key = try test.keychain.keys.tokenKey(for: item)
    }

    /// Prefetches a signature and takes it. Other tests of this process may initialise SoftHSM in between.
    private func beginAndTake() throws -> [UInt8]? {
        for _ in 0..<20 {
            key.beginNextSignature(using: .ecdsa(.sha256))
            if let signature = try begun() { return signature }
        }
        return nil
    }

    private func begun(_ mechanism: Mechanism = Self.mechanism) throws -> [UInt8]? {
        try key.ahead.sign(digest, using: mechanism, on: test.keychain.token)
    }

    /// Returns the files of the token's objects.
    private func objectFiles() throws -> [URL] {
        let configuration = test.keychain.configuration
        let uri = try PKCS11URI(configuration.token)
        let serial = try #require(uri.serial)
        let token = try #require(
            try SoftHSMDirectory(root: TestKeychain.tokens).token(serial: serial, label: test.keychain.name))
        return try FileManager.default.contentsOfDirectory(at: token.directory, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "object" && $0.lastPathComponent != "token.object" }
    }

    @Test func `a prefetched signature is a valid signature of the key and is used once`() throws {
        #expect(try begun() == nil)
        let signature = try ECDSASignature(raw: #require(try beginAndTake())).der
        #expect(try key.publicKey.verify(signature, ofDigest: digest, using: .ecdsa(.sha256)))
        #expect(try begun() == nil)
    }

    @Test func `the next call of sign uses the prefetched signature`() throws {
        let message = Array("message".utf8)
        for _ in 0..<3 {
            key.beginNextSignature(using: .ecdsa(.sha256))
            let signature = try key.sign(message, using: .ecdsa(.sha256))
            #expect(try key.publicKey.verify(signature, of: message, using: .ecdsa(.sha256)))
            #expect(try begun() == nil)
        }
    }

    @Test(arguments: [SignatureScheme.rsaPSS(.sha256), .rsaPKCS1(.sha256), .rsaPSS(.sha384), .rsaPKCS1(.sha512)])
    func `signatures of an RSA key are prefetched for each scheme separately`(_ scheme: SignatureScheme) throws {
        let rsa = try test.keychain.keys.tokenKey(for: test.keychain.keys.generate(.rsa(bits: 2048), label: "rsa"))
        let message = Array("message".utf8)
        for kind in [scheme, .rsaPSS(.sha512), scheme, .rsaPSS(.sha256)] { rsa.beginNextSignature(using: kind) }
        for kind in [.rsaPSS(.sha512), scheme, scheme] {
            #expect(try rsa.publicKey.verify(rsa.sign(message, using: kind), of: message, using: kind))
        }
    }

    @Test func `signatures of an Ed25519 key are prefetched`() throws {
        let edwards = try test.keychain.keys.tokenKey(for: test.keychain.keys.generate(.ed25519, label: "edwards"))
        let message = Array("message".utf8)
        edwards.beginNextSignature(using: .ed25519)
        #expect(try edwards.publicKey.verify(edwards.sign(message, using: .ed25519), of: message, using: .ed25519))
    }

    @Test func `a prefetched signature is discarded when another program removes the key`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        for file in try objectFiles() { try FileManager.default.removeItem(at: file) }
        #expect(try begun() == nil)
        #expect(code { _ = try key.sign(digest, using: .ecdsa(.sha256)) } == .itemNotFound)
    }

    @Test func `a prefetched signature is discarded when this process removes the key`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        try test.keychain.delete(test.keychain.only(.key(label: "key").keyClass(.private)))
        #expect(code { _ = try key.sign(digest, using: .ecdsa(.sha256)) } == .itemNotFound)
    }

    @Test func `a prefetched signature is discarded at logout, which changes no file`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        try test.keychain.token.logout()
        #expect(try begun() == nil)
    }

    @Test func `a signature is not used if the key was changed during the prefetch`() throws {
        let token = test.keychain.token
        #expect(try beginAndTake() != nil)
        // Dropped, because the key is not looked up while a copy of it exists.
        key.ahead.drop()
        var isAsked = false
        key.ahead.begin(Self.mechanism, on: token) { session in
            let handle = try token.handle(of: key.object, in: session)
            // The check of another thread consumes the answer that this one needs.
            for file in try objectFiles() { try Data("touched".utf8).write(to: file.appendingPathExtension("new")) }
            _ = try key.ahead.sign(digest, using: Self.mechanism, on: token)
            isAsked = true
            return handle
        }
        #expect(isAsked)
        #expect(try begun() == nil)
    }

    @Test func `a locked keychain does not return a signature that was prefetched before`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        let pin = try test.pin
        try test.keychain.lock()
        try test.keychain.unlock(with: SecretBytes(pin))
        #expect(try begun() == nil)
        #expect(try !key.sign(digest, using: .ecdsa(.sha256)).isEmpty)
    }

    /// Returns the number of keys in memory. Other tests of this process have their keys on other tokens.
    private func copies() throws -> Int {
        try test.keychain.token.withSession(.read) { session in
            try session.findObjects([.objectClass(.privateKey), .token(false)]).count
        }
    }

    /// Prefetches the maximum number of signatures. Other tests of this process may initialise SoftHSM in between.
    private func beginAll() {
        for _ in 0..<20 where key.ahead.inUse.begun < 4 {
            for _ in 0..<5 { key.beginNextSignature(using: .ecdsa(.sha256)) }
        }
    }

    @Test func `several signatures are prefetched for parallel use, up to a limit`() throws {
        beginAll()
        #expect(key.ahead.inUse == (begun: 4, isCopied: true))
        var made: [[UInt8]] = []
        while let signature = try begun() { made.append(signature) }
        #expect(made.count <= 4)
        for signature in made {
            let der = try ECDSASignature(raw: signature).der
            #expect(try key.publicKey.verify(der, ofDigest: digest, using: .ecdsa(.sha256)))
        }
    }

    @Test func `the copy of a key for prefetching is neither listed nor found nor removed as an item`() throws {
        let token = test.keychain.token
        let (inMemory, named) = try token.undisturbed {
            // Signatures of an earlier generation count towards the limit but cannot be used.
            key.ahead.drop()
            beginAll()
            let inMemory = try copies()
            // Callers of the library, such as an engine of OpenSSL in this process, do not find it by its label either.
            let named = try token.withSession(.read) { session in
                try session.findObjects([.objectClass(.privateKey), .bytes(.label, Array("key".utf8))]).count
            }
            return (inMemory, named)
        }
        #expect(inMemory == 1 && named == 1)
        _ = try test.keychain.keys.generate(.p256, label: "second")
        #expect(try test.keychain.find(.key().keyClass(.private)).compactMap(\.label).sorted() == ["key", "second"])
        let listed = try test.keychain.token.readObjects().objects.filter { $0.objectClass == .privateKey }
        #expect(listed.count == 2)
        beginAll()
        try test.keychain.delete(test.keychain.only(.key(label: "key").keyClass(.private)))
        #expect(try !test.tool(["--list-objects", "--type", "privkey"]).stdout.contains("key\n"))
        #expect(try test.keychain.find(.key().keyClass(.private)).map(\.label) == ["second"])
        // The copy is removed by the next look at the prefetched signatures.
        #expect(code { _ = try key.sign(digest, using: .ecdsa(.sha256)) } == .itemNotFound)
        #expect(try copies() == 0)
    }

    @Test func `a locked keychain keeps no key in use`() throws {
        beginAll()
        #expect(key.ahead.inUse == (begun: 4, isCopied: true))
        try test.keychain.lock()
        #expect(key.ahead.inUse == (begun: 0, isCopied: false))
    }

    @Test func `signatures of a key that cannot be copied are prefetched too`() throws {
        let names: [Attribute] = [.token(true), .id([7]), .bytes(.label, Array("single".utf8))]
        _ = try test.keychain.token.withSession(.generate) { session in
            try session.generateKeyPair(
                Mechanism(.ecKeyPairGeneration),
                publicTemplate: AttributeTemplate(names + [.ecParameters(EllipticCurve.p256.parametersDER)]),
                privateTemplate: AttributeTemplate(
                    names + [.isPrivate(true), .sign(true), .bool(.copyable, false)]))
        }
        let single = try test.keychain.keys.tokenKey(for: test.keychain.only(.key(label: "single").keyClass(.private)))
        for _ in 0..<20 where single.ahead.inUse.begun == 0 { single.beginNextSignature(using: .ecdsa(.sha256)) }
        #expect(single.ahead.inUse == (begun: 1, isCopied: false))
        let signature = try single.sign(digest, using: .ecdsa(.sha256))
        #expect(try single.publicKey.verify(signature, of: digest, using: .ecdsa(.sha256)))
        #expect(try copies() == 0)
    }

    @Test func `threads that sign, prefetch and discard signatures get valid ones`() throws {
        let message = Array("message".utf8)
        let failures = Lock(0)
        let key = key
        let token = test.keychain.token
        let threads = (0..<4).compactMap { number in
            POSIXThread.start("signer") {
                for round in 0..<200 {
                    let isRight = (try? key.publicKey.verify(
                        key.sign(message, using: .ecdsa(.sha256)), of: message, using: .ecdsa(.sha256))) ?? false
                    if !isRight { failures.withLock { $0 += 1 } }
                    key.beginNextSignature(using: .ecdsa(.sha256))
                    if number == 0, round % 20 == 0 { token.forgetHandles() }
                }
            }
        }
        #expect(threads.count == 4)
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == 0)
    }
}
