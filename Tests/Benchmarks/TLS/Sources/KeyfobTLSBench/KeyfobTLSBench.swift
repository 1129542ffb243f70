import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import KeyfobTesting
import NIOCore
import NIOPosix
import NIOSSL
import KeyfobOpenSSL

/// Handshakes of a swift-nio-ssl server whose key is on a token, beside the same server with the key in memory, the
/// token's own rate, and the least that signs with the token. Prints "side name value unit" lines for `Scripts/bench`.
@main
struct KeyfobTLSBench {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let numbers = arguments.dropFirst().compactMap(Double.init)
        switch arguments.first {
        case "handshakes" where numbers.count == 2: try await handshakes(seconds: numbers[0], rounds: Int(numbers[1]))
        case "profile" where arguments.count == 5 && numbers.count == 2:
            try await profile(arguments[1], arguments[2], Int(numbers[0]), numbers[1])
        case "load" where numbers.count == 4:
            let result = try await Load(port: Int(numbers[0])).run(
                connections: Int(numbers[1]), limit: Int(exactly: numbers[2]) ?? .max, seconds: numbers[3])
            FileHandle.standardOutput.write(Data(result.text.utf8))
        case "rotate" where numbers.count == 2: try await rotate(atLeast: Int(numbers[0]), connections: Int(numbers[1]))
        default:
            let usage = """
                usage: keyfob-tls-bench handshakes SECONDS ROUNDS | rotate HANDSHAKES CONNECTIONS
                       | profile p256|rsa2048 token|following|memory CONNECTIONS SECONDS

                """
            FileHandle.standardError.write(Data(usage.utf8))
            exit(2)
        }
    }

    static func print(_ side: String, _ name: String, _ value: Double, _ unit: String) {
        // Not `print`, whose buffer is lost when a time limit ends the process.
        FileHandle.standardOutput.write(Data("\(side) \(name) \(String(format: "%.4f", value)) \(unit)\n".utf8))
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    static let kinds: [(name: String, algorithm: KeyAlgorithm, scheme: SignatureScheme)] = [
        ("p256", .ec(.p256), .ecdsa(.sha256)), ("rsa2048", .rsa(bits: 2048), .rsaPSS(.sha256)),
    ]

    static func handshakes(seconds: Double, rounds: Int) async throws {
        for kind in kinds {
            let throwaway = try ThrowawayKeychain()
            // Its token goes with it.
            defer { withExtendedLifetime(throwaway) {} }
            let made = try Authority.issue(kind.algorithm)
            let item = try await throwaway.keychain.identities.importKeyPair(
                key: made.key, certificate: made.certificate, label: "web"
            ).identity
            let identity = try await TLSIdentity.load(.identity(label: "web"), in: throwaway.keychain)
            let probe = LoopProbe()
            var inMemory = identity.serverConfiguration()
            inMemory.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: made.key.pkcs8DER().copyBytes(), format: .der))
            let rotating = try await RotatingTLSIdentity(.identity(label: "web"), in: throwaway.keychain)
            var bare = identity.serverConfiguration()
            bare.privateKey = .privateKey(
                NIOSSLPrivateKey(
                    customPrivateKey: try BareKey(
                        [UInt8](made.certificate.publicKey.identifier), on: slot(of: throwaway.keychain),
                        identity.key.signatureAlgorithms[0], mechanism(of: kind.scheme))))
            let servers = [
                "token": try await Server(identity.serverConfiguration()), "memory": try await Server(inMemory),
                "bare": try await Server(bare),
                "following": try await Server(rotating.serverConfiguration()),
            ]
            // Looking at the clock costs time of its own, so that what is measured is not what is compared.
            let measured = try await Server(probe.configuration(rotating))
            let raw = try await rawRate(throwaway.keychain, item, kind.scheme, seconds: seconds)
            print("raw", "C_Sign-\(kind.name)", raw, "sign/s")
            for connections in [1, 8, 64] {
                var rates: [String: [Double]] = [:]
                for _ in 0..<rounds {
                    // By turns, so that a busy machine is busy for all of them.
                    for (name, server) in servers {
                        let result = try await Client(port: server.port).run(connections: connections, seconds: seconds)
                        if result.failures > 0 { print("failed", "handshakes-\(kind.name)-\(name)", Double(result.failures), "handshakes") }
                        rates[name, default: []].append(Double(result.handshakes) / result.seconds)
                    }
                }
                let name = "handshakes-\(kind.name)-at-\(connections)"
                let memory = median(rates["memory"] ?? [])
                print("ours", name, median(rates["token"] ?? []), "conn/s")
                print("peer", name, min(memory, raw), "conn/s")
                print("ours", name + "-beside-bare", median(rates["token"] ?? []), "conn/s")
                print("peer", name + "-beside-bare", median(rates["bare"] ?? []), "conn/s")
                print("ours", name + "-following", median(rates["following"] ?? []), "conn/s")
                print("peer", name + "-following", min(memory, raw), "conn/s")
                _ = try await Client(port: measured.port).run(connections: connections, seconds: seconds)
                print(probe.take(), "\(kind.name)-at-\(connections)")
            }
            for server in servers.values + [measured] { try await server.close() }
        }
    }

    /// For how long our code held a loop; the promise is one millisecond.
    static func print(_ time: LoopTime, _ name: String) {
        print("ours", "loop-held-\(name)-wall-max", time.longestWall * 1e3, "ms")
        print("peer", "loop-held-\(name)-wall-max", 1, "ms")
        print("ours", "loop-held-\(name)-cpu-max", time.longestCPU * 1e3, "ms")
        print("peer", "loop-held-\(name)-cpu-max", 1, "ms")
        print("ours", "loop-held-\(name)-waiting-max", time.longestWait * 1e3, "ms")
        print("peer", "loop-held-\(name)-waiting-max", 1, "ms")
        print("info", "loop-calls-\(name)", Double(time.calls), "calls")
        print("info", "loop-calls-that-waited-\(name)", Double(time.waits), "calls")
    }

    /// Runs one of the servers, for perf(1), and tells what each handshake costs the process.
    static func profile(_ kind: String, _ server: String, _ connections: Int, _ seconds: Double) async throws {
        guard let kind = kinds.first(where: { $0.name == kind }) else { throw CocoaError(.featureUnsupported) }
        let throwaway = try ThrowawayKeychain()
        defer { withExtendedLifetime(throwaway) {} }
        let made = try Authority.issue(kind.algorithm)
        _ = try await throwaway.keychain.identities.importKeyPair(key: made.key, certificate: made.certificate, label: "web")
        let rotating = try await RotatingTLSIdentity(.identity(label: "web"), in: throwaway.keychain)
        var configuration = server == "following" ? rotating.serverConfiguration() : rotating.current.serverConfiguration()
        if server == "memory" {
            configuration.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: made.key.pkcs8DER().copyBytes(), format: .der))
        }
        let client = Client(port: try await Server(configuration).port)
        _ = try await client.run(connections: connections, seconds: 0.2)
        let (before, threadsBefore) = (usage(), threads())
        let result = try await client.run(connections: connections, seconds: seconds)
        let (after, threadsAfter) = (usage(), threads())
        let each = 1 / Double(max(1, result.handshakes))
        print("info", "handshakes-\(server)-at-\(connections)", Double(result.handshakes) / result.seconds, "conn/s")
        print("info", "user", (after.user - before.user) * each * 1e6, "us/conn")
        print("info", "system", (after.system - before.system) * each * 1e6, "us/conn")
        for (name, time) in threadsAfter.sorted(by: { $0.key < $1.key }) {
            print("info", name.replacingOccurrences(of: " ", with: "-"), (time - (threadsBefore[name] ?? 0)) * each / 1e3, "us/conn")
        }
        print("info", "waits", (after.waits - before.waits) * each, "switches/conn")
        print("info", "preemptions", (after.preemptions - before.preemptions) * each, "switches/conn")
    }

    /// The time that threads have been at work, by their names without numbers, in nanoseconds.
    private static func threads() -> [String: Double] {
        var times: [String: Double] = [:]
        for task in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
            guard let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8),
                let line = try? String(contentsOfFile: "/proc/self/task/\(task)/schedstat", encoding: .utf8),
                let time = line.split(separator: " ").first.flatMap({ Double($0) })
            else { continue }
            times[String(name.prefix { $0 != "#" && !$0.isNewline }), default: 0] += time
        }
        return times
    }

    private static func usage() -> (user: Double, system: Double, waits: Double, preemptions: Double) {
        var usage = rusage()
        getrusage(0, &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return (seconds(usage.ru_utime), seconds(usage.ru_stime), Double(usage.ru_nvcsw), Double(usage.ru_nivcsw))
    }

    /// Renews the identity again and again while handshakes go on, and counts those that fail.
    static func rotate(atLeast count: Int, connections: Int) async throws {
        let throwaway = try ThrowawayKeychain()
        defer { withExtendedLifetime(throwaway) {} }
        let keychain = throwaway.keychain
        let first = try Authority.issue(.ec(.p256))
        var old = try await keychain.identities.importKeyPair(key: first.key, certificate: first.certificate, label: "web").identity
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: keychain, interval: .milliseconds(100))
        let probe = LoopProbe()
        let server = try await Server(probe.configuration(identity))
        let client = Client(port: server.port)
        let running = Task { try await client.run(connections: connections, limit: count, seconds: 600) }
        let events = identity.events()
        let renewals = Lock(0)
        let renewing = Task {
            // No Ed25519: swift-nio-ssl's client does not accept it unless it is told to.
            var kinds: [KeyAlgorithm] = [.rsa(bits: 2048), .ec(.p384), .ec(.p256)]
            while !Task.isCancelled {
                // Certificates have whole seconds, and a newer one is told by its first.
                try await Task.sleep(for: .milliseconds(1100))
                let made = try Authority.issue(kinds[0])
                kinds.append(kinds.removeFirst())
                let new = try await keychain.identities.importKeyPair(key: made.key, certificate: made.certificate).identity
                // It came under its own name, beside the old one; now it takes the name.
                try await keychain.update(.certificate(label: "localhost"), [.label: .string("web")])
                for await event in events where event.kind == .renewed { break }
                renewals.withLock { $0 += 1 }
                try await Task.sleep(for: .seconds(1))
                try await keychain.delete(old)
                old = new
            }
        }
        let result = try await running.value
        renewing.cancel()
        do { try await renewing.value } catch is CancellationError {}
        print("ours", "rotation-failed-handshakes", Double(result.failures), "handshakes")
        print("peer", "rotation-failed-handshakes", 0, "handshakes")
        print(probe.take(), "rotation")
        print("info", "rotation-handshakes", Double(result.handshakes), "handshakes")
        print("info", "rotation-renewals", Double(renewals.withLock { $0 }), "renewals")
        print("info", "rotation-handshake-rate", Double(result.handshakes) / result.seconds, "conn/s")
    }
}
