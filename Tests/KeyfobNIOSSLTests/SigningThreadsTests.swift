#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL
import KeyfobOpenSSL
import TestSupport
import Testing

/// Threads make all signatures, also those of a fast key.
@Suite(.timeLimit(.minutes(30)))
struct SigningThreadsTests {
    private struct Answer {
        /// Whether the signature was ready when the call returned.
        let wasThere: Bool
        let signature: [UInt8]
    }

    private static let message = Array("message".utf8)

    private func sign(_ key: TokenTLSKey, _ algorithm: SignatureAlgorithm, _ channel: any Channel) async throws -> Answer {
        let (wasThere, future) = try await channel.eventLoop.submit {
            let future = key.sign(channel: channel, algorithm: algorithm, data: ByteBuffer(bytes: Self.message))
            let wasThere = NIOLoopBoundBox(false, eventLoop: channel.eventLoop)
            future.assumeIsolated().whenComplete { _ in wasThere.value = true }
            return (wasThere.value, future)
        }.get()
        return Answer(wasThere: wasThere, signature: Array(try await future.get().readableBytesView))
    }

    @Test func `the event loop makes no signatures itself, even with a fast key`() async throws {
        let home = try TLSHome()
        try home.add("web")
        let key = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain).key
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        for _ in 0..<200 {
            let answer = try await sign(key, .ecdsaSecp256R1Sha256, channel)
            #expect(try key.publicKey.verify(answer.signature, of: Self.message, using: .ecdsa(.sha256)))
            #expect(!answer.wasThere)
        }
        try home.tool(["--delete-object", "--type", "privkey", "--label", "web"])
        await #expect { try await sign(key, .ecdsaSecp256R1Sha256, channel) } throws: {
            ($0 as? KeychainError)?.code == .itemNotFound
        }
        try await channel.close()
    }
}
#endif
