import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives
import PKCS11

/// A process that uses a keychain from eight threads, while the test takes its token away and brings it back.
extension TestChild {
    /// The results of the calls since the test last reset them.
    private struct Tally: Sendable {
        /// When the token came back; `nil` until then.
        var back: ContinuousClock.Instant?
        /// For each thread, when its first call that began after `back` returned, as a duration since then.
        var firsts: [Int: Duration] = [:]
        /// The errors of calls that began after `back`.
        var failures: [String: Int] = [:]
        /// The answers of all logins.
        var logins: [ReturnValue] = []
    }

    private static let tally = Lock(Tally())
    private static let threads = 8

    /// Makes a keychain on a token, and uses it until the input ends. Each line of the input is a command:
    ///
    /// - `away`: Forgets the results. The test is about to take the token away.
    /// - `stopped`: Makes two asynchronous and two blocking calls with the deadline of the keychain, and prints their
    ///   errors.
    /// - `back`: Waits until each thread has completed a call, for at most 15 seconds, and prints the results.
    static func load(_ directories: Directories, _ name: String, _ words: [String]) throws {
        // p11-kit's client writes to the connection of a server that has ended.
        signal(SIGPIPE, SIG_IGN)
        var uri = PKCS11URI()
        uri.token = words[0]
        var options = Keychain.Options()
        options.timeout = .seconds(3)
        let made = try Keychains(directories).create(
            name, on: .existing(uri, .path(words[1]), pin: SecretBytes(utf8: words[2]), pinSource: nil),
            wrappingKey: words[3].isEmpty ? nil : PKCS11URI(words[3]), options: options)
        let keychain = made.keychain
        let item = try keychain.add(GenericPassword(service: "load"), secret: SecretBytes(utf8: "secret"))
        let key = try signingKey(of: keychain)
        let calls: [@Sendable () throws -> Void] = [
            { _ = try key.sign([1, 2, 3], using: Self.scheme(of: key)) },
            { guard try keychain.secret(of: item)?.count == 6 else { throw KeychainError(.failed, "wrong secret") } },
            { _ = try keychain.find(.keys) },
            { _ = try keychain.objects.slot().tokenInfo() },
        ]
        CallTrace.observe { function, value in
            if function == .login { tally.withLock { $0.logins.append(value) } }
        }
        for index in 0..<threads {
            Thread.detachNewThread {
                // Signatures and secrets are the calls that log in; every fourth thread lists and asks.
                let number = index % 4
                while true { count(index, number < 3 ? calls[number] : calls[Int.random(in: 0..<4)]) }
            }
        }
        say("ready")
        while let line = readLine() {
            switch line {
            case "away":
                tally.withLock { $0 = Tally() }
                say("noted")
            case "stopped":
                askStopped(keychain, item, key)
            default:
                say(report())
            }
        }
        exit(0)
    }

    private static func count(_ thread: Int, _ call: () throws -> Void) {
        let start = ContinuousClock.now
        var failure: String?
        do { try call() } catch let error as KeychainError {
            failure = "\(error.code): \(error.message) (\(error.cause.map { "\($0)" } ?? ""))"
        } catch {
            failure = "\(error)"
        }
        tally.withLock { tally in
            guard let back = tally.back, start >= back else { return }
            if let failure {
                tally.failures[failure, default: 0] += 1
            } else if tally.firsts[thread] == nil {
                tally.firsts[thread] = .now - back
            }
        }
        // Leaves time for the daemon on a machine with few processors.
        usleep(failure == nil ? 1_000 : 20_000)
    }

    /// The results as `slowest MS|failures …|logins …`.
    private static func report() -> String {
        let back = ContinuousClock.now
        tally.withLock { $0.back = back }
        let deadline = Deadline.after(.seconds(15))
        while !deadline.hasPassed, tally.withLock({ $0.firsts.count < threads }) { usleep(10_000) }
        // Later calls must succeed as well.
        usleep(500_000)
        let result = tally.withLock { $0 }
        let slowest = result.firsts.count < threads ? nil : result.firsts.values.max()
        let failures = result.failures.map { "\($1) × \($0)" }.joined(separator: "; ")
        return "slowest \(slowest.map { "\(Int($0 / .milliseconds(1)))" } ?? "never")|failures \(failures)|logins "
            + result.logins.map { "\($0)" }.joined(separator: " ")
    }

    private static func askStopped(_ keychain: Keychain, _ item: GenericPassword, _ key: TokenKey) {
        for call in 0..<2 {
            let done = DispatchSemaphore(value: 0)
            Task {
                let start = ContinuousClock.now
                var failure: (any Error)?
                do {
                    if call == 0 {
                        _ = try await key.sign([1, 2, 3], using: Self.scheme(of: key))
                    } else {
                        _ = try await keychain.secret(of: item)
                    }
                } catch { failure = error }
                say(failure, since: start)
                done.signal()
            }
            done.wait()
        }
        for call in [{ try key.signDigest(Array(repeating: 0, count: 32), using: Self.scheme(of: key)).count },
            { try keychain.secret(of: item)?.count ?? 0 }]
        {
            let start = ContinuousClock.now
            var failure: (any Error)?
            do { _ = try call() } catch { failure = error }
            say(failure, since: start)
        }
    }

    private static func say(_ failure: (any Error)?, since start: ContinuousClock.Instant) {
        let result = failure.map { ($0 as? KeychainError).map { "\($0.code)" } ?? "\($0)" } ?? "done"
        say("\(result) \(Int((ContinuousClock.now - start) / .milliseconds(1)))")
    }

    private static func scheme(of key: TokenKey) -> SignatureScheme {
        if case .rsa = key.publicKey.algorithm { return .rsaPKCS1(.sha256) }
        return .ecdsa(.sha256)
    }

    /// A new key; on a card, which makes none, one that signs without another PIN.
    private static func signingKey(of keychain: Keychain) throws -> TokenKey {
        for kind in [KeySpecification.p256, .rsa(bits: 2048)] {
            do { return try keychain.keys.tokenKey(for: keychain.keys.generate(kind, label: "load")) } catch {
                say("note: \(error)")
            }
        }
        for key in try keychain.find(.keys) where key.keyClass == .private {
            // The RSA key that signs on a PIV card wants the PIN at each use.
            guard let candidate = try? keychain.keys.tokenKey(for: key), case .ec = candidate.publicKey.algorithm,
                (try? candidate.sign([1], using: scheme(of: candidate))) != nil
            else { continue }
            return candidate
        }
        throw KeychainError(.itemNotFound, "no key signs.")
    }
}
