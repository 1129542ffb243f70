#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL
import OpenSSL
import TestSupport
import Testing

/// Who makes the signature of a handshake: a thread, and for keys that are quick the event loop itself.
@Suite(.timeLimit(.minutes(10)))
struct SigningAtOnceTests {
    private struct Answer {
        /// Whether the signature was there when the call returned.
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

    @Test func `a quick key comes to sign on the event loop, until it is gone`() async throws {
        let home = try TLSHome()
        try home.add("web")
        let key = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain).key
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        var (atOnce, onThread) = (0, 0)
        for _ in 0..<5000 where atOnce < 100 {
            let answer = try await sign(key, .ecdsaSecp256R1Sha256, channel)
            #expect(try key.publicKey.verify(answer.signature, of: Self.message, using: .ecdsa(.sha256)))
            if answer.wasThere { atOnce += 1 } else { onThread += 1 }
        }
        // The first are made by threads, for nobody knows how quick it is.
        #expect(atOnce == 100 && onThread >= 10)
        try home.tool(["--delete-object", "--type", "privkey", "--label", "web"])
        await #expect { try await sign(key, .ecdsaSecp256R1Sha256, channel) } throws: {
            ($0 as? KeychainError)?.code == .itemNotFound
        }
        try await channel.close()
    }
}
#endif
