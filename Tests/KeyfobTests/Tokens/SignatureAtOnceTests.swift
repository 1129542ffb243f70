import Foundation
import KeyfobPrimitives
import OpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// What an event loop signs itself: with signatures that threads have begun, while nothing has happened to the key.
@Suite struct SignatureAtOnceTests {
    private let test: TestKeychain
    private let key: TokenKey
    private static let scheme = SignatureScheme.ecdsa(.sha256)
    private static let message = Array("message".utf8)

    init() throws {
        test = try TestKeychain()
        key = try test.keychain.tokenKey(for: test.keychain.generateKey(.p256, label: "key"))
    }

    private func atOnce(_ other: TokenKey? = nil, stockUp: () -> Void = {}) -> [UInt8]? {
        let key = other ?? key
        return unsafe Self.message.withUnsafeBytes { unsafe key.signAtOnce($0, using: Self.scheme, stockUp: stockUp) }
    }

    /// Signs until the token has shown how quick it is, and has all begun that may be.
    private func prime(_ other: TokenKey? = nil) throws {
        let key = other ?? key
        for _ in 0..<5000 where !key.ahead.signsAtOnce {
            _ = try key.sign(Self.message, using: Self.scheme)
            key.beginNextSignature(using: Self.scheme)
        }
        try #require(key.ahead.signsAtOnce)
        while key.beginNextSignature(using: Self.scheme) {}
    }

    /// A signature at once. Other tests of this process may initialise SoftHSM anew in between.
    private func primeAndSign(_ other: TokenKey? = nil) throws -> [UInt8]? {
        for _ in 0..<20 {
            try prime(other)
            if let signature = atOnce(other) { return signature }
        }
        return nil
    }

    /// How many keys there are in memory; other tests of this process have theirs on other tokens.
    private func copies() throws -> Int {
        try test.keychain.token.withSession(.read) { session in
            try session.findObjects([.objectClass(.privateKey), .token(false)]).count
        }
    }

    @Test func `a quick key signs at once, and asks for more before it runs out`() throws {
        #expect(atOnce() == nil)
        try prime()
        var (made, asked, inARow, longest) = (0, 0, 0, 0)
        for _ in 0..<1000 where made < 40 {
            var isLow = false
            let signature = atOnce { isLow = true }
            if let signature {
                #expect(try key.publicKey.verify(signature, of: Self.message, using: Self.scheme))
                made += 1
                inARow += 1
            } else {
                inARow = 0
            }
            longest = max(longest, inARow)
            if isLow { asked += 1 }
            // A thread comes late: not before the stock has been asked for.
            if isLow || signature == nil { while key.beginNextSignature(using: Self.scheme) {} }
        }
        #expect(made == 40)
        #expect(longest >= 9)
        // Once for several.
        #expect(asked >= 1 && asked <= made / 2)
    }

    @Test func `what is used up is made by threads, which begin anew`() throws {
        try #require(try primeAndSign() != nil)
        var made = 0
        while atOnce() != nil { made += 1 }
        #expect(made < 16)
        #expect(try key.publicKey.verify(
            key.sign(Self.message, using: Self.scheme), of: Self.message, using: Self.scheme))
        #expect(try primeAndSign() != nil)
    }

    @Test func `a key that takes long never signs at once`() throws {
        let rsa = try test.keychain.tokenKey(for: test.keychain.generateKey(.rsa(bits: 4096), label: "rsa"))
        for _ in 0..<20 {
            _ = try rsa.sign(Self.message, using: .rsaPSS(.sha256))
            #expect(!rsa.beginNextSignature(using: .rsaPSS(.sha256)))
        }
        #expect(!rsa.ahead.signsAtOnce)
        let signature = unsafe Self.message.withUnsafeBytes { message in
            unsafe rsa.signAtOnce(message, using: .rsaPSS(.sha256), stockUp: {})
        }
        #expect(signature == nil)
    }

    enum Event: CaseIterable {
        case removedByAnother, removedHere, loggedOut, locked, changedByAnother
    }

    @Test(arguments: Event.allCases)
    func `nothing is signed at once after`(_ event: Event) throws {
        try #require(try primeAndSign() != nil)
        try prime()
        switch event {
        case .removedByAnother: try test.tool(["--delete-object", "--type", "privkey", "--label", "key"])
        case .removedHere: try test.keychain.delete(test.keychain.only(.key(label: "key").keyClass(.private)))
        case .loggedOut: try test.keychain.token.logout()
        case .locked: try test.keychain.lock()
        case .changedByAnother:
            try test.tool(["--write-object", "/dev/stdin", "--type", "data", "--label", "x"], stdin: [1])
        }
        // Nor at the second look, which has no answer of its own any more.
        for _ in 0..<3 { #expect(atOnce() == nil) }
        switch event {
        case .removedByAnother, .removedHere:
            #expect(code { _ = try key.sign(Self.message, using: Self.scheme) } == .itemNotFound)
            key.beginNextSignature(using: Self.scheme)
            #expect(atOnce() == nil)
        case .loggedOut, .changedByAnother: #expect(try primeAndSign() != nil)
        case .locked:
            try test.keychain.unlock(with: SecretBytes(test.pin))
            #expect(try primeAndSign() != nil)
        }
    }

    @Test func `the copy that it is done with is on no list, and not what is found or removed`() throws {
        try #require(try primeAndSign() != nil)
        try prime()
        #expect(try copies() == 1)
        _ = try test.keychain.generateKey(.p256, label: "second")
        #expect(try test.keychain.find(.key().keyClass(.private)).compactMap(\.label).sorted() == ["key", "second"])
        let listed = try test.keychain.token.readObjects().objects.filter { $0.objectClass == .privateKey }
        #expect(listed.count == 2)
        try prime()
        try test.keychain.delete(test.keychain.only(.key(label: "key").keyClass(.private)))
        #expect(try !test.tool(["--list-objects", "--type", "privkey"]).stdout.contains("key\n"))
        #expect(try test.keychain.find(.key().keyClass(.private)).map(\.label) == ["second"])
        // It goes with the next look at what was begun.
        #expect(code { _ = try key.sign(Self.message, using: Self.scheme) } == .itemNotFound)
        #expect(try copies() == 0)
    }

    @Test func `of a locked keychain no key is left in use`() throws {
        try #require(try primeAndSign() != nil)
        #expect(key.ahead.sessions > 8)
        try test.keychain.lock()
        #expect(key.ahead.sessions == 0)
    }

    @Test func `a key that may not be copied signs at once all the same`() throws {
        let names: [Attribute] = [.token(true), .id([7]), .bytes(.label, Array("single".utf8))]
        _ = try test.keychain.token.withSession(.generate) { session in
            try session.generateKeyPair(
                Mechanism(.ecKeyPairGeneration),
                publicTemplate: AttributeTemplate(names + [.ecParameters(EllipticCurve.p256.parametersDER)]),
                privateTemplate: AttributeTemplate(
                    names + [.isPrivate(true), .sign(true), .bool(.copyable, false)]))
        }
        let single = try test.keychain.tokenKey(for: test.keychain.only(.key(label: "single").keyClass(.private)))
        let signature = try #require(try primeAndSign(single))
        #expect(try single.publicKey.verify(signature, of: Self.message, using: Self.scheme))
        #expect(try copies() == 0)
    }

    @Test func `threads that sign, begin and remove what was begun get signatures of the key`() throws {
        try prime()
        let failures = Lock(0)
        let key = key
        let token = test.keychain.token
        let threads = (0..<4).compactMap { number in
            POSIXThread.start("signer") {
                for round in 0..<200 {
                    var signature = unsafe Self.message.withUnsafeBytes { message in
                        unsafe key.signAtOnce(message, using: Self.scheme, stockUp: {})
                    }
                    if signature == nil { signature = try? key.sign(Self.message, using: Self.scheme) }
                    let isRight = signature.flatMap {
                        try? key.publicKey.verify($0, of: Self.message, using: Self.scheme)
                    }
                    if isRight != true { failures.withLock { $0 += 1 } }
                    key.beginNextSignature(using: Self.scheme)
                    if number == 0, round % 20 == 0 { token.forgetHandles() }
                }
            }
        }
        #expect(threads.count == 4)
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == 0)
    }
}
