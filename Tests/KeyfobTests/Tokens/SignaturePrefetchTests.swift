import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// A signature that was begun is used once, and only while nothing has happened to the key.
@Suite struct SignatureAheadTests {
    private let test: TestKeychain
    private let key: TokenKey
    private static let mechanism = Mechanism(.ecdsa)
    private let digest = [UInt8](repeating: 7, count: 32)

    init() throws {
        test = try TestKeychain()
        let item = try test.keychain.generateKey(.p256, label: "key")
        key = try test.keychain.tokenKey(for: item)
    }

    /// Begins a signature and takes it. Other tests of this process may initialise SoftHSM anew in between.
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

    /// The file of the private key: of the token's files the one that holds the most.
    private func objectFiles() throws -> [URL] {
        let configuration = test.keychain.configuration
        let uri = try PKCS11URI(configuration.token)
        let serial = try #require(uri.serial)
        let token = try #require(
            try SoftHSMDirectory(root: TestKeychain.tokens).token(serial: serial, label: test.keychain.name))
        return try FileManager.default.contentsOfDirectory(at: token.directory, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "object" && $0.lastPathComponent != "token.object" }
    }

    @Test func `what was begun is a signature of the key, once`() throws {
        #expect(try begun() == nil)
        let signature = try ECDSASignature(raw: #require(try beginAndTake())).der
        #expect(try key.publicKey.verify(signature, ofDigest: digest, using: .ecdsa(.sha256)))
        #expect(try begun() == nil)
    }

    @Test func `whoever signs gets it`() throws {
        let message = Array("message".utf8)
        for _ in 0..<3 {
            key.beginNextSignature(using: .ecdsa(.sha256))
            let signature = try key.sign(message, using: .ecdsa(.sha256))
            #expect(try key.publicKey.verify(signature, of: message, using: .ecdsa(.sha256)))
            #expect(try begun() == nil)
        }
    }

    @Test(arguments: [SignatureScheme.rsaPSS(.sha256), .rsaPKCS1(.sha256), .rsaPSS(.sha384), .rsaPKCS1(.sha512)])
    func `of an RSA key each kind is begun by itself`(_ scheme: SignatureScheme) throws {
        let rsa = try test.keychain.tokenKey(for: test.keychain.generateKey(.rsa(bits: 2048), label: "rsa"))
        let message = Array("message".utf8)
        for kind in [scheme, .rsaPSS(.sha512), scheme, .rsaPSS(.sha256)] { rsa.beginNextSignature(using: kind) }
        for kind in [.rsaPSS(.sha512), scheme, scheme] {
            #expect(try rsa.publicKey.verify(rsa.sign(message, using: kind), of: message, using: kind))
        }
    }

    @Test func `an Ed25519 key has it too`() throws {
        let edwards = try test.keychain.tokenKey(for: test.keychain.generateKey(.ed25519, label: "edwards"))
        let message = Array("message".utf8)
        edwards.beginNextSignature(using: .ed25519)
        #expect(try edwards.publicKey.verify(edwards.sign(message, using: .ed25519), of: message, using: .ed25519))
    }

    @Test func `another program's removal of the key leaves nothing to be used`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        for file in try objectFiles() { try FileManager.default.removeItem(at: file) }
        #expect(try begun() == nil)
        #expect(code { _ = try key.sign(digest, using: .ecdsa(.sha256)) } == .itemNotFound)
    }

    @Test func `this process' removal does not`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        try test.keychain.delete(test.keychain.only(.key(label: "key").keyClass(.private)))
        #expect(code { _ = try key.sign(digest, using: .ecdsa(.sha256)) } == .itemNotFound)
    }

    @Test func `nor does the end of the login, by which no file is touched`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        try test.keychain.token.logout()
        #expect(try begun() == nil)
    }

    @Test func `what was removed while it was begun is not used by whoever asked meanwhile`() throws {
        let token = test.keychain.token
        #expect(try beginAndTake() != nil)
        // Without the copy, for which the key would not be looked for.
        key.ahead.drop()
        var isAsked = false
        key.ahead.begin(Self.mechanism, on: token) { session in
            let handle = try token.handle(of: key.object, known: key.handle, in: session)
            // Another thread's question takes the answer that was for this one.
            for file in try objectFiles() { try Data("touched".utf8).write(to: file.appendingPathExtension("new")) }
            _ = try key.ahead.sign(digest, using: Self.mechanism, on: token)
            isAsked = true
            return handle
        }
        #expect(isAsked)
        #expect(try begun() == nil)
    }

    @Test func `a locked keychain signs nothing that was begun before`() throws {
        key.beginNextSignature(using: .ecdsa(.sha256))
        let pin = try test.pin
        try test.keychain.lock()
        try test.keychain.unlock(with: SecretBytes(pin))
        #expect(try begun() == nil)
        #expect(try !key.sign(digest, using: .ecdsa(.sha256)).isEmpty)
    }

    /// How many keys there are in memory; other tests of this process have theirs on other tokens.
    private func copies() throws -> Int {
        try test.keychain.token.withSession(.read) { session in
            try session.findObjects([.objectClass(.privateKey), .token(false)]).count
        }
    }

    /// Begins as many as may be. Other tests of this process may initialise SoftHSM anew in between.
    private func beginAll() {
        for _ in 0..<20 where key.ahead.inUse.begun < 4 {
            for _ in 0..<5 { key.beginNextSignature(using: .ecdsa(.sha256)) }
        }
    }

    @Test func `several are begun for who answers several at a time, and no more than that`() throws {
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

    @Test func `the copy that it is done with is on no list, and not what is found or removed`() throws {
        let token = test.keychain.token
        let (inMemory, named) = try token.undisturbed {
            // What was begun in another generation is as many, and of no use.
            key.ahead.drop()
            beginAll()
            let inMemory = try copies()
            // It is on none for who asks the library itself, as an engine of OpenSSL in this process does.
            let named = try token.withSession(.read) { session in
                try session.findObjects([.objectClass(.privateKey), .bytes(.label, Array("key".utf8))]).count
            }
            return (inMemory, named)
        }
        #expect(inMemory == 1 && named == 1)
        _ = try test.keychain.generateKey(.p256, label: "second")
        #expect(try test.keychain.find(.key().keyClass(.private)).compactMap(\.label).sorted() == ["key", "second"])
        let listed = try test.keychain.token.readObjects().objects.filter { $0.objectClass == .privateKey }
        #expect(listed.count == 2)
        beginAll()
        try test.keychain.delete(test.keychain.only(.key(label: "key").keyClass(.private)))
        #expect(try !test.tool(["--list-objects", "--type", "privkey"]).stdout.contains("key\n"))
        #expect(try test.keychain.find(.key().keyClass(.private)).map(\.label) == ["second"])
        // It goes with the next look at what was begun.
        #expect(code { _ = try key.sign(digest, using: .ecdsa(.sha256)) } == .itemNotFound)
        #expect(try copies() == 0)
    }

    @Test func `of a locked keychain no key is left in use`() throws {
        beginAll()
        #expect(key.ahead.inUse == (begun: 4, isCopied: true))
        try test.keychain.lock()
        #expect(key.ahead.inUse == (begun: 0, isCopied: false))
    }

    @Test func `a key that may not be copied has its signatures begun all the same`() throws {
        let names: [Attribute] = [.token(true), .id([7]), .bytes(.label, Array("single".utf8))]
        _ = try test.keychain.token.withSession(.generate) { session in
            try session.generateKeyPair(
                Mechanism(.ecKeyPairGeneration),
                publicTemplate: AttributeTemplate(names + [.ecParameters(EllipticCurve.p256.parametersDER)]),
                privateTemplate: AttributeTemplate(
                    names + [.isPrivate(true), .sign(true), .bool(.copyable, false)]))
        }
        let single = try test.keychain.tokenKey(for: test.keychain.only(.key(label: "single").keyClass(.private)))
        for _ in 0..<20 where single.ahead.inUse.begun == 0 { single.beginNextSignature(using: .ecdsa(.sha256)) }
        #expect(single.ahead.inUse == (begun: 1, isCopied: false))
        let signature = try single.sign(digest, using: .ecdsa(.sha256))
        #expect(try single.publicKey.verify(signature, of: digest, using: .ecdsa(.sha256)))
        #expect(try copies() == 0)
    }

    @Test func `threads that sign, begin and remove what was begun get signatures of the key`() throws {
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
