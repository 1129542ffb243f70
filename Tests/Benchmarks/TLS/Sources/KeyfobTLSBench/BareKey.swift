import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import NIOCore
import NIOSSL
import KeyfobOpenSSL
import PKCS11

/// The smallest signer with a key on a token that leaves the event loops alone: one thread, which only calls `C_Sign`,
/// and the next `C_SignInit` while no signature is waited for.
///
/// It does not handle closed connections, removed keys, other processes, slow tokens or forks. The difference between
/// it and the same key in memory is the cost of threads and the token for any signer.
final class BareKey: NIOSSLCustomPrivateKey, Hashable, @unchecked Sendable {
    // Unchecked for the queue, which the mutex guards, and the session, which is the thread's.
    private struct Work {
        let message: ByteBuffer
        let answer: EventLoopPromise<ByteBuffer>
    }

    let signatureAlgorithms: [SignatureAlgorithm]
    private let mechanism: Mechanism
    private let session: Session
    private let key: ObjectHandle
    private var works: [Work] = []
    private var isAsleep = false
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// A copy of the key with that identifier in SoftHSM's memory, whose file is not read at each use. The thread, and
    /// what it needs, stay for as long as the process.
    init(_ identifier: [UInt8], on slot: Slot, _ algorithm: SignatureAlgorithm, _ mechanism: Mechanism) throws {
        signatureAlgorithms = [algorithm]
        self.mechanism = mechanism
        session = try slot.openSession()
        guard let original = try session.findObjects([.objectClass(.privateKey), .id(identifier)]).first else {
            throw KeychainError(.itemNotFound, "the key is gone.")
        }
        key = try session.copy(original, changing: [.token(false), .id([1]), .bytes(.label, [])])
        pthread_mutex_init(mutex, nil)
        sem_init(semaphore, 0, 0)
        Thread.detachNewThread { [self] in run() }
    }

    func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        let answer = channel.eventLoop.makePromise(of: ByteBuffer.self)
        pthread_mutex_lock(mutex)
        works.append(Work(message: data, answer: answer))
        let wakes = isAsleep
        isAsleep = false
        pthread_mutex_unlock(mutex)
        if wakes { sem_post(semaphore) }
        return answer.futureResult
    }

    func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    private func next() -> Work {
        pthread_mutex_lock(mutex)
        while works.isEmpty {
            isAsleep = true
            pthread_mutex_unlock(mutex)
            while sem_wait(semaphore) != 0 {}
            pthread_mutex_lock(mutex)
        }
        defer { pthread_mutex_unlock(mutex) }
        return works.removeFirst()
    }

    private func run() {
        var isBegun = false
        while true {
            // What goes wrong is met again by the signature.
            if !isBegun { isBegun = (try? session.beginSignature(with: key, using: mechanism)) != nil }
            let work = next()
            // A signature that fails is a failed handshake, which is counted.
            let result = Result { try signature(of: work.message) }
            isBegun = false
            work.answer.futureResult.eventLoop.execute { work.answer.completeWith(result) }
        }
    }

    private func signature(of message: ByteBuffer) throws -> ByteBuffer {
        let raw = try session.endSignature(Digest.sha256.array(of: [UInt8](message.readableBytesView)))
        return ByteBuffer(bytes: mechanism.type == .ecdsa ? try ECDSASignature(raw: raw).der : raw)
    }

    static func == (left: BareKey, right: BareKey) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
