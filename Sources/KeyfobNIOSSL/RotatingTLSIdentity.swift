#if NIOSSL
public import Keyfob
import KeyfobPrimitives
import NIOCore
public import NIOSSL
import KeyfobOpenSSL

/// The TLS identity currently behind a name in a keychain.
///
/// ```swift
/// let identity = try await RotatingTLSIdentity(.identity(label: "web"), in: keychain)
/// let context = try NIOSSLContext(configuration: identity.serverConfiguration())
/// for await event in identity.events() { logger.info("\(event.kind)") }
/// ```
///
/// The token is checked every `interval`, and at once when it failed to sign; changes by other processes are seen like
/// those of this one. A renewed identity is checked and must prove its key before a connection uses it. An identity
/// that cannot serve is refused, and the current one stays in use. Established connections, and handshakes that have
/// begun, keep their key. While the keychain or the token cannot be read, the current identity stays in use, too, and
/// the check is repeated after each `interval`.
///
/// > Important: Keep the old version on the token until the new one is in use and the handshakes that began with the
/// > old one are over: `interval` and some seconds. `keyfob identity renew` does so; `retire` removes it later.
///
/// Checking ends when the last reference to the value is released; the configurations that it created hold one.
public final class RotatingTLSIdentity: Sendable {
    /// The query for the identity.
    public let query: Query<Identity>
    /// The keychain that is searched.
    public let keychain: Keychain
    /// The requirements that an identity must meet.
    public let requirements: TLSRequirements
    /// The time between two checks of the token.
    public let interval: Duration

    private let state: Lock<State>
    private let subscribers: Lock<Subscribers>
    private let trouble: SigningTrouble

    private struct State {
        var current: TLSIdentity
        var override: NIOSSLContextConfigurationOverride
        var version: ObjectsVersion
        /// The last refusal, which is reported only once.
        var refusal: Refusal?
        /// The time when the name was last resolved, whether or not anything had changed.
        var resolved: ContinuousClock.Instant
        /// The number of checks that have begun, and of the last one whose result was stored; checks may overlap.
        var begun = 0
        var settled = 0
        /// Signature algorithms that existing configurations may choose; a renewed key must have proved them.
        var promised: Set<SignatureAlgorithm> = []
    }

    /// Identifies a refusal. The message is not compared, because some messages contain the time.
    private struct Refusal: Equatable {
        let certificate: KeyfobOpenSSL.Certificate?
        let code: KeychainError.Code
        let details: [String: String]

        init(_ error: KeychainError, of certificate: KeyfobOpenSSL.Certificate?) {
            (self.certificate, code, details) = (certificate, error.code, error.details)
        }
    }

    private struct Subscribers {
        var next = 0
        var continuations: [Int: AsyncStream<TLSIdentityEvent>.Continuation] = [:]
    }

    /// Resolves the name and begins to follow it.
    ///
    /// - Parameters:
    ///   - query: Such as `.identity(label: "web")` or `.identities.host("www.example.org")`. A reference names one
    ///     certificate and so never rotates.
    ///   - keychain: The keychain to search.
    ///   - requirements: The requirements that an identity must meet; a server's by default.
    ///   - interval: The time between two checks of the token. A renewed identity is in use after this time at most, if
    ///     the keychain and the token can be read. The name is resolved anew at every fifteenth check at least, because
    ///     dates pass and some changes are only in the vault.
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous`, `certificateExpired`, `certificateNotYetValid`,
    ///   `certificateHostMismatch`, `certificateUsageMismatch`, `chainIncomplete`, `identityMismatch`,
    ///   `mechanismUnsupported`, and the errors of `unlock()`.
    public init(
        _ query: Query<Identity>, in keychain: Keychain, requirements: TLSRequirements = .server,
        interval: Duration = .seconds(2)
    ) async throws {
        self.query = query
        self.keychain = keychain
        self.requirements = requirements
        self.interval = interval
        let trouble = SigningTrouble()
        self.trouble = trouble
        let first = try await BlockingExecutor.shared.run {
            // Read the version first: changes while the identity is loaded are then detected later.
            let version = keychain.objects.version()
            let identity = try TLSIdentity(
                query, in: keychain, requirements: requirements, onSigningFailure: { trouble.report($0) })
            return (version, identity)
        }
        state = Lock(State(
            current: first.1, override: first.1.override, version: first.0, refusal: nil, resolved: .now))
        subscribers = Lock(Subscribers())
        trouble.begin { [weak self] error in self?.signingFailed(error) }
        Task.detached { [weak self, interval, trouble] in
            while let wait = await trouble.wait(interval), let self { await self.look(resolvingAnyway: wait) }
        }
    }

    deinit {
        trouble.end()
        for continuation in subscribers.withLock({ Array($0.continuations.values) }) { continuation.finish() }
    }

    /// The identity that new connections use.
    public var current: TLSIdentity { state.withLock { $0.current } }

    /// Returns a stream of events from now on. Any number of streams may exist; each buffers up to 64 unread events.
    public func events() -> AsyncStream<TLSIdentityEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TLSIdentityEvent.self, bufferingPolicy: .bufferingNewest(64))
        let number = subscribers.withLock { subscribers -> Int in
            subscribers.next += 1
            subscribers.continuations[subscribers.next] = continuation
            return subscribers.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.subscribers.withLock { $0.continuations[number] = nil }
        }
        return stream
    }

    /// Checks now, instead of after the next interval.
    ///
    /// Runs on Keyfob's threads.
    ///
    /// - Returns: Whether a different identity is now in use.
    @discardableResult
    public func refresh() async -> Bool { await look(resolvingAnyway: true) }

    /// The algorithms that every later key of their kind must support.
    var promised: Set<SignatureAlgorithm> { state.withLock { $0.promised } }

    // MARK: Configurations

    /// A server's configuration: every handshake uses the identity that is current when it begins.
    ///
    /// - Parameter clientTrust: The issuers of clients' certificates; if given, clients must present one (mutual TLS).
    public func serverConfiguration(clientTrust: NIOSSLTrustRoots? = nil) -> TLSConfiguration {
        following(current.serverConfiguration(clientTrust: clientTrust))
    }

    /// A client's configuration: every handshake uses the identity that is current when the server requests a
    /// certificate.
    ///
    /// - Parameter trustRoots: The issuers of servers' certificates; the system's by default.
    public func clientConfiguration(trustRoots: NIOSSLTrustRoots = .default) -> TLSConfiguration {
        following(current.clientConfiguration(trustRoots: trustRoots))
    }

    private func following(_ fixed: TLSConfiguration) -> TLSConfiguration {
        let key = current.key
        // A configuration cannot learn algorithms later, so it also offers those of the other kinds of keys.
        let own = SignatureAlgorithm.candidates(for: key.publicKey.algorithm)
        let foreign = SignatureAlgorithm.all.filter { !own.contains($0) && (key.supportsTLS13 || !$0.isPSS) }
        let promised = key.signatureAlgorithms + foreign
        state.withLock { $0.promised.formUnion(promised) }
        var configuration = fixed
        configuration.certificateChain = []
        configuration.privateKey = nil
        configuration.signingSignatureAlgorithms = promised
        // Capture the threads rather than the key, which is released when it is no longer used.
        let threads = key.threads
        configuration.sslContextCallback = { [self] _, promise in
            // Called on event loops, which must never wait, neither for a check that holds the state nor for each
            // other.
            if let override = state.withLockIfFree({ $0.override }) { return promise.succeed(override) }
            threads.start { promise.succeed(self.state.withLock { $0.override }) }
        }
        return configuration
    }

    // MARK: Looking

    private func signingFailed(_ error: KeychainError) {
        tell(TLSIdentityEvent(kind: .signingFailed, identity: current, error: error))
    }

    /// Checks like at the end of an interval; returns whether a different identity is now in use.
    ///
    /// - Parameter resolvingAnyway: Whether to resolve the name even without a sign of a change.
    @discardableResult
    func look(resolvingAnyway: Bool) async -> Bool {
        do {
            return try await BlockingExecutor.shared.run { self.lookNow(resolvingAnyway) }
        } catch {
            // `lookNow` does not throw.
            return false
        }
    }

    private func lookNow(_ resolvesAnyway: Bool) -> Bool {
        let version = keychain.objects.version()
        let (number, isDue) = state.withLock { state in
            state.begun += 1
            return (state.begun, state.version != version || state.resolved.duration(to: .now) > interval * 15)
        }
        guard resolvesAnyway || isDue else { return false }
        var refused: KeyfobOpenSSL.Certificate?
        do {
            let candidate = try TLSCandidate.choose(query, in: keychain, on: requirements.date())
            refused = candidate.certificate
            let chain = try keychain.certificates.chain(of: candidate.certificate)
            if requirements.presented(chain) == current.chain {
                try requirements.checkDates(candidate, chain: chain)
                settle(number, version, refusal: nil)
                return false
            }
            let identity = try TLSIdentity(
                candidate, in: keychain, requirements: requirements,
                onSigningFailure: { [trouble] in trouble.report($0) })
            try checkPromises(identity, candidate.name)
            guard settle(number, version, refusal: nil, identity) else { return false }
            tell(TLSIdentityEvent(kind: .renewed, identity: identity, error: nil))
            return true
        } catch {
            let error = (error as? KeychainError)
                ?? KeychainError(.failed, "the identity cannot be loaded.", cause: error)
            // A refused identity is not checked again before something changes or the name is due. After a passing
            // error nothing is known, so the change that led here counts as not seen.
            if settle(number, error.isTransient ? nil : version, refusal: Refusal(error, of: refused)) {
                tell(TLSIdentityEvent(kind: .refused, identity: current, error: error))
            }
            return false
        }
    }

    /// Stores the result of a check, unless a check that began later has already stored its own.
    ///
    /// - Parameter version: The version that the check has seen; `nil` if the next check must look at it again.
    /// - Returns: Whether the result is new: a different identity, or a different refusal.
    @discardableResult
    private func settle(
        _ number: Int, _ version: ObjectsVersion?, refusal: Refusal?, _ identity: TLSIdentity? = nil
    ) -> Bool {
        state.withLock { state in
            guard number > state.settled else { return false }
            let isNews = identity.map { $0.chain != state.current.chain } ?? (refusal != state.refusal)
            state.settled = number
            if let version {
                state.version = version
                state.resolved = .now
            }
            state.refusal = refusal
            if let identity {
                state.current = identity
                state.override = identity.override
            }
            return isNews
        }
    }

    /// A configuration in use may choose any algorithm that it was created with, so a new key must support all of its
    /// kind.
    private func checkPromises(_ identity: TLSIdentity, _ name: String) throws {
        let own = SignatureAlgorithm.candidates(for: identity.key.publicKey.algorithm)
        let promised = promised
        guard promised.allSatisfy({ !own.contains($0) || identity.key.signatureAlgorithms.contains($0) }) else {
            throw KeychainError(
                .mechanismUnsupported,
                "the token can do less with the new key of \"\(name)\" than the running configuration offers.",
                hint: "Make the configuration anew, or renew with a key of another kind.")
        }
    }

    private func tell(_ event: TLSIdentityEvent) {
        for continuation in subscribers.withLock({ Array($0.continuations.values) }) { continuation.yield(event) }
    }
}

extension TLSIdentity {
    /// The certificates and the key for a handshake.
    fileprivate var override: NIOSSLContextConfigurationOverride {
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = certificateChain
        override.privateKey = privateKey
        return override
    }
}
#endif
