import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives
import Testing

@testable import Keyfob

/// The agent itself, with keys in memory: messages as bytes, and what each request may do.
@Suite struct SSHAgentTests {
    /// A key in memory, and the number of its signatures.
    private struct Signer: Sendable {
        let key: PrivateKey
        let count = Lock(0)

        init(_ algorithm: KeyAlgorithm = .ec(.p256)) throws { key = try PrivateKey.generate(algorithm) }

        func served(_ comment: String = "deploy") throws -> SSHAgentKey {
            try #require(
                SSHAgentKey(key.publicKey, comment: comment) { message, scheme in
                    count.withLock { $0 += 1 }
                    return Array(try key.sign(message, using: scheme))
                })
        }
    }

    private static let message = Array("session identifier".utf8)

    private static func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var writer = SSHWriter()
        writer.append(string: bytes)
        return writer.bytes
    }

    private static func signRequest(_ key: SSHAgentKey, flags: UInt32 = 0) -> SSHAgentRequest {
        .sign(key: key.blob, data: message, flags: flags)
    }

    private func names(_ agent: SSHAgent) async -> [String] {
        guard case .keys(let keys) = await agent.answer(.listKeys) else { return ["no list"] }
        return keys.map(\.comment)
    }

    // MARK: Bytes

    @Test func `requests are parsed from their bytes`() {
        let (key, data) = (Self.string([1, 2]), Self.string([3]))
        #expect(SSHAgentRequest([11]) == .listKeys)
        #expect(SSHAgentRequest([13] + key + data + [0, 0, 0, 4]) == .sign(key: [1, 2], data: [3], flags: 4))
        #expect(SSHAgentRequest([18] + key) == .remove(key: [1, 2]))
        #expect(SSHAgentRequest([19]) == .removeAll)
        #expect(SSHAgentRequest([22] + Self.string("pw".utf8)) == .lock(SecretBytes(utf8: "pw")))
        #expect(SSHAgentRequest([23] + Self.string("pw".utf8)) == .unlock(SecretBytes(utf8: "pw")))
        #expect(SSHAgentRequest([27] + Self.string("query".utf8)) == .queryExtensions)
    }

    @Test func `every truncation and every byte too many is unsupported`() {
        let key = Self.string([1, 2])
        let messages: [[UInt8]] = [
            [11], [13] + key + Self.string([3]) + [0, 0, 0, 4], [18] + key, [19], [22] + key, [23] + key,
            [27] + Self.string("query".utf8),
        ]
        for message in messages {
            for count in 0..<message.count {
                #expect(SSHAgentRequest(message[..<count]) == .unsupported, "\(message) \(count)")
            }
            #expect(SSHAgentRequest((message + [0])[...]) == .unsupported, "\(message)")
        }
        // A length beyond the end of the message.
        #expect(SSHAgentRequest([18, 0xFF, 0xFF, 0xFF, 0xFF, 1]) == .unsupported)
    }

    @Test(arguments: [1, 7, 9, 17, 20, 21, 24, 25, 26, 200, 255] as [UInt8])
    func `requests to add keys and unknown requests are unsupported`(type: UInt8) {
        #expect(SSHAgentRequest([type] + Self.string([1])) == .unsupported)
    }

    @Test func `the extension that binds a session to a host is not supported`() async {
        let request = SSHAgentRequest(
            [27] + Self.string("session-bind@openssh.com".utf8) + Self.string([1]) + Self.string([2]) + Self.string([3]) + [0])
        #expect(await SSHAgent([]).answer(request).message == [0, 0, 0, 1, 5])
    }

    @Test func `answers have the bytes of the protocol`() {
        #expect(SSHAgentAnswer.failure.message == [0, 0, 0, 1, 5])
        #expect(SSHAgentAnswer.success.message == [0, 0, 0, 1, 6])
        #expect(SSHAgentAnswer.keys([]).message == [0, 0, 0, 5, 12, 0, 0, 0, 0])
        #expect(
            SSHAgentAnswer.keys([([7, 8], "a")]).message
                == [0, 0, 0, 16, 12, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8, 0, 0, 0, 1, 0x61])
        #expect(SSHAgentAnswer.signature([9]).message == [0, 0, 0, 6, 14, 0, 0, 0, 1, 9])
        #expect(SSHAgentAnswer.extensions(["query"]).message.starts(with: [0, 0, 0, 19, 29, 0, 0, 0, 5, 0x71]))
    }

    @Test func `numbers have no leading zeros, and one zero before a high bit`() {
        var writer = SSHWriter()
        for number in [[0, 0, 1], [0, 0x80], [0x7F, 0], []] as [[UInt8]] { writer.append(positive: number) }
        #expect(
            writer.bytes == [0, 0, 0, 1, 1, 0, 0, 0, 2, 0, 0x80, 0, 0, 0, 2, 0x7F, 0, 0, 0, 0, 0])
    }

    // MARK: Signatures

    static let algorithms: [(KeyAlgorithm, UInt32, String)] = [
        (.rsa(bits: 2048), 2, "rsa-sha2-256"), (.rsa(bits: 2048), 4, "rsa-sha2-512"),
        (.rsa(bits: 2048), 6, "rsa-sha2-256"), (.ec(.p256), 0, "ecdsa-sha2-nistp256"),
        (.ec(.p384), 0, "ecdsa-sha2-nistp384"), (.ec(.p521), 4, "ecdsa-sha2-nistp521"), (.ed25519, 0, "ssh-ed25519"),
    ]

    @Test(arguments: algorithms)
    func `a signature names its algorithm and verifies`(algorithm: KeyAlgorithm, flags: UInt32, name: String) async throws {
        let signer = try Signer(algorithm)
        let key = try signer.served()
        // r and s have leading zeros in some signatures only.
        for _ in 0..<(algorithm == .ec(.p256) ? 300 : 3) {
            guard case .signature(let bytes) = await SSHAgent([key]).answer(Self.signRequest(key, flags: flags)) else {
                Issue.record("the agent did not sign")
                return
            }
            var reader = SSHReader(bytes[...])
            #expect(try Array(reader.string()) == Array(name.utf8))
            let content = Array(try reader.string())
            #expect(reader.isAtEnd)
            let format = try #require(SSHSignatureFormat(algorithm, flags: flags))
            let signature = try Self.decoded(content, algorithm)
            #expect(try signer.key.publicKey.verify(signature, of: Self.message, using: format.scheme))
        }
    }

    /// The content of a signature of the protocol in the form that X.509 uses.
    private static func decoded(_ content: [UInt8], _ algorithm: KeyAlgorithm) throws -> [UInt8] {
        guard case .ec(let curve) = algorithm else { return content }
        var reader = SSHReader(content[...])
        let size = ((curve.bits ?? 0) + 7) / 8
        var raw: [UInt8] = []
        for _ in 0..<2 {
            let number = try reader.string()
            #expect(number.first.map { $0 < 0x80 } ?? false)
            let digits = number.drop { $0 == 0 }
            raw += [UInt8](repeating: 0, count: size - digits.count) + digits
        }
        #expect(reader.isAtEnd)
        return try ECDSASignature(raw: raw).der
    }

    @Test(arguments: [0, 1, 8] as [UInt32]) func `RSA with SHA-1 is refused`(flags: UInt32) async throws {
        let signer = try Signer(.rsa(bits: 2048))
        let key = try signer.served()
        #expect(await SSHAgent([key]).answer(Self.signRequest(key, flags: flags)) == .failure)
        #expect(signer.count.withLock { $0 } == 0)
    }

    @Test func `a curve without a name in the protocol has no key`() throws {
        #expect(SSHAgentKey(try Signer(.ec(.secp256k1)).key.publicKey, comment: "a") { _, _ in [] } == nil)
    }

    // MARK: What is served

    @Test func `a key that was not given is neither listed nor used`() async throws {
        let (given, other) = (try Signer(), try Signer())
        let agent = SSHAgent([try given.served()])
        #expect(await names(agent) == ["deploy"])
        #expect(await agent.answer(Self.signRequest(try other.served("other"))) == .failure)
        #expect(other.count.withLock { $0 } == 0)
    }

    @Test func `a key that was given twice is listed once`() async throws {
        let signer = try Signer()
        #expect(await names(SSHAgent([try signer.served("a"), try signer.served("b")])) == ["a"])
    }

    @Test func `a removed key is neither listed nor used`() async throws {
        let (first, second) = (try Signer(), try Signer())
        let (one, two) = (try first.served("one"), try second.served("two"))
        let agent = SSHAgent([one, two])
        #expect(await agent.answer(.remove(key: one.blob)) == .success)
        #expect(await agent.answer(.remove(key: one.blob)) == .failure)
        #expect(await names(agent) == ["two"])
        #expect(await agent.answer(Self.signRequest(one)) == .failure)
        #expect(await agent.answer(.removeAll) == .success)
        #expect(await names(agent) == [])
        #expect(await agent.answer(Self.signRequest(two)) == .failure)
        #expect(await agent.answer(.removeAll) == .success)
    }

    @Test func `keys vanish at the end of their lifetime`() async throws {
        let signer = try Signer()
        let key = try signer.served()
        #expect(await names(SSHAgent([key], lifetime: .seconds(3600))) == ["deploy"])
        let agent = SSHAgent([key], lifetime: .milliseconds(10))
        try await Task.sleep(for: .milliseconds(20))
        #expect(await names(agent) == [])
        #expect(await agent.answer(Self.signRequest(key)) == .failure)
        #expect(signer.count.withLock { $0 } == 0)
    }

    @Test func `an agent releases its keys when they expire, without a request`() async throws {
        final class Owner: Sendable {}
        weak var owner: Owner?
        let key = try Signer().key.publicKey
        func agent() throws -> SSHAgent {
            let held = Owner()
            owner = held
            let served = SSHAgentKey(key, comment: "a") { [held] _, _ in
                _ = held
                return []
            }
            return SSHAgent([try #require(served)], lifetime: .milliseconds(50))
        }
        let agent = try agent()
        // Turns, not time: other tests may keep all threads of the tasks busy for minutes.
        for _ in 0..<2000 where owner != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(owner == nil)
        #expect(await names(agent) == [])
    }

    @Test(arguments: [true, false]) func `each use needs the consent that was asked for`(isAllowed: Bool) async throws {
        let signer = try Signer()
        let asked = Lock<[String]>([])
        let key = try signer.served()
        let agent = SSHAgent([key], confirm: { key in
            asked.withLock { $0.append(key.comment) }
            return isAllowed
        })
        for _ in 0..<2 {
            let answer = await agent.answer(Self.signRequest(key))
            #expect((answer == .failure) == !isAllowed)
        }
        #expect(asked.withLock { $0 } == ["deploy", "deploy"])
        #expect(signer.count.withLock { $0 } == (isAllowed ? 2 : 0))
    }

    @Test func `a key that is removed while the person is asked does not sign`() async throws {
        let signer = try Signer()
        let key = try signer.served()
        let held = Lock(SSHAgent?.none)
        let agent = SSHAgent([key], confirm: { key in
            await held.withLock { $0 }?.answer(.remove(key: key.blob)) == .success
        })
        held.withLock { $0 = agent }
        #expect(await agent.answer(Self.signRequest(key)) == .failure)
        #expect(signer.count.withLock { $0 } == 0)
        held.withLock { $0 = nil }
    }

    // MARK: Lock

    @Test func `a locked agent lists and uses nothing until the right passphrase comes`() async throws {
        let signer = try Signer()
        let key = try signer.served()
        let agent = SSHAgent([key])
        let (right, wrong) = (SecretBytes(utf8: "right"), SecretBytes(utf8: "wrong"))
        #expect(await agent.answer(.unlock(right)) == .failure)
        #expect(await agent.answer(.lock(right)) == .success)
        #expect(await names(agent) == [])
        for request in [Self.signRequest(key), .remove(key: key.blob), .removeAll, .lock(wrong), .queryExtensions] {
            #expect(await agent.answer(request) == .failure, "\(request)")
        }
        #expect(await agent.answer(.unlock(wrong)) == .failure)
        #expect(await names(agent) == [])
        #expect(await agent.answer(.unlock(right)) == .success)
        #expect(await names(agent) == ["deploy"])
        #expect(signer.count.withLock { $0 } == 0)
    }

    @Test func `guesses come one after another, also from clients that do not wait`() async throws {
        let agent = SSHAgent([])
        #expect(await agent.answer(.lock(SecretBytes(utf8: "right"))) == .success)
        let start = ContinuousClock.now
        let guess = Task { await agent.answer(.unlock(SecretBytes(utf8: "wrong"))) }
        guess.cancel()
        #expect(await guess.value == .failure)
        // The wait after a wrong passphrase is not shortened by the client that is gone.
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        async let slow = agent.answer(.unlock(SecretBytes(utf8: "wrong")))
        while !agent.isChangingLock { await Task.yield() }
        // Another guess fails untried in the meantime, even if it is right.
        #expect(await agent.answer(.unlock(SecretBytes(utf8: "right"))) == .failure)
        #expect(await slow == .failure)
        #expect(await agent.answer(.unlock(SecretBytes(utf8: "right"))) == .success)
    }
}
