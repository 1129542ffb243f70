import Glibc
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOSSL

/// For how long our code has held event loops.
struct LoopTime: Sendable {
    var calls = 0
    /// Seconds by the clock on the wall, in which the loop's thread may also have waited for a core.
    var longestWall = 0.0
    /// Seconds that the loop's thread itself was at work.
    var longestCPU = 0.0
    var totalCPU = 0.0
    /// Calls in which the thread gave its core away by itself: it waited for something, if only a lock.
    var waits = 0
    /// The longest of those, by the clock on the wall.
    var longestWait = 0.0
}

/// A clock around everything of ours that swift-nio-ssl calls on event loops.
final class LoopProbe: Sendable {
    private let state = Lock(LoopTime())

    /// What was seen since the last call.
    func take() -> LoopTime {
        state.withLock { state in
            defer { state = LoopTime() }
            return state
        }
    }

    func measure<Result>(_ body: () -> Result) -> Result {
        let (waits, wall, cpu) = (Self.waits(), Self.now(CLOCK_MONOTONIC), Self.now(CLOCK_THREAD_CPUTIME_ID))
        let result = body()
        let (cpuTaken, taken) = (Self.now(CLOCK_THREAD_CPUTIME_ID) - cpu, Self.now(CLOCK_MONOTONIC) - wall)
        let hasWaited = Self.waits() > waits
        state.withLock { state in
            state.calls += 1
            state.longestWall = max(state.longestWall, taken)
            state.longestCPU = max(state.longestCPU, cpuTaken)
            state.totalCPU += cpuTaken
            guard hasWaited else { return }
            state.waits += 1
            state.longestWait = max(state.longestWait, taken)
        }
        return result
    }

    private static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func waits() -> Int {
        var usage = rusage()
        // RUSAGE_THREAD, which Swift does not see.
        getrusage(1, &usage)
        return usage.ru_nvcsw
    }

    /// The configuration of one identity, measured.
    func configuration(_ identity: TLSIdentity) -> TLSConfiguration {
        var configuration = identity.serverConfiguration()
        configuration.privateKey = .privateKey(NIOSSLPrivateKey(customPrivateKey: MeasuredKey(key: identity.key, probe: self)))
        return configuration
    }

    /// The configuration that follows a name, measured.
    func configuration(_ identity: RotatingTLSIdentity) -> TLSConfiguration {
        var configuration = identity.serverConfiguration()
        let ours = configuration.sslContextCallback
        configuration.sslContextCallback = { [self] values, promise in
            // Ours answers a promise of its own, so that swift-nio-ssl's part is not measured with it.
            let answer = promise.futureResult.eventLoop.makePromise(of: NIOSSLContextConfigurationOverride.self)
            measure { ours?(values, answer) }
            answer.futureResult.whenComplete { _ in
                let current = identity.current
                var override = NIOSSLContextConfigurationOverride()
                override.certificateChain = current.certificateChain
                override.privateKey = .privateKey(
                    NIOSSLPrivateKey(customPrivateKey: MeasuredKey(key: current.key, probe: self)))
                promise.succeed(override)
            }
        }
        return configuration
    }
}

/// The token's key, with a clock around what is called on the event loop.
struct MeasuredKey: NIOSSLCustomPrivateKey, Hashable {
    let key: TokenTLSKey
    let probe: LoopProbe
    var signatureAlgorithms: [SignatureAlgorithm] { key.signatureAlgorithms }

    static func == (left: Self, right: Self) -> Bool { left.key == right.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }

    func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        probe.measure { key.sign(channel: channel, algorithm: algorithm, data: data) }
    }

    func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        key.decrypt(channel: channel, data: data)
    }
}
