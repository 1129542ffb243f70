#if NIOSSL
public import Keyfob
import KeyfobPrimitives
import NIOCore
public import NIOSSL
import OpenSSL

/// A name in a keychain, and the TLS identity that is behind it at the moment.
///
/// ```swift
/// let identity = try await RotatingTLSIdentity(.identity(label: "web"), in: keychain)
/// let context = try NIOSSLContext(configuration: identity.serverConfiguration())
/// for await event in identity.events() { logger.info("\(event.kind)") }
/// ```
///
/// The token is looked at every `interval`, and at once when it failed to sign; changes by other processes are seen
/// as one's own. A renewed identity is checked and has to prove its key before any connection uses it: what cannot
/// serve is refused, and the one in use stays. Connections that run, and handshakes that have begun, keep the key they
/// began with. While the keychain or the token cannot be asked the one in use stays, too, and they are asked again at
/// the end of each `interval`.
///
/// > Important: Keep the old version on the token until the new one is in use and the handshakes that began with the
/// > old one are over: `interval` and some seconds. `keyfob identity renew` does so; `retire` removes it later.
///
/// Looking ends with the last reference to the value; the configurations that it made hold one.
public final class RotatingTLSIdentity: Sendable {
    /// What is looked for.
    public let query: Query<Identity>
    /// Where.
    public let keychain: Keychain
    /// What an identity must be good for.
    public let requirements: TLSRequirements
    /// How often the token is looked at.
    public let interval: Duration

    private let state: Lock<State>
    private let subscribers: Lock<Subscribers>
    private let trouble: SigningTrouble

    private struct State {
        var current: TLSIdentity
        var override: NIOSSLContextConfigurationOverride
        var version: ObjectsVersion
        /// What was refused last: it is told once.
        var refusal: Refusal?
        /// When the name was resolved last, whether or not anything had changed.
        var resolved: ContinuousClock.Instant
        /// How many looks have begun, and which of them was the last to settle anything: looks may overlap.
        var begun = 0
        var settled = 0
        /// Signature algorithms that configurations made so far may choose; a renewed key must have proved them.
        var promised: Set<SignatureAlgorithm> = []
    }

    /// What tells one refusal from another. Not its words, of which some say what time it is.
    private struct Refusal: Equatable {
        let certificate: OpenSSL.Certificate?
        let code: KeychainError.Code
        let details: [String: String]

        init(_ error: KeychainError, of certificate: OpenSSL.Certificate?) {
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
    ///   - interval: How often the token is looked at; the time within which a renewal is in use, from the moment on at
    ///     which the keychain and the token can be asked. A name is resolved anew at least every fifteenth time, for
    ///     dates that pass and what only the vault knows.
    /// - Throws: As ``TLSIdentity/load(_:in:requirements:onSigningFailure:)``.
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
            // Taken first: what changes while the identity is loaded is then seen as a change.
            let version = keychain.objectsVersion()
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

    /// What happens to the name from now on; any number of listeners, each with up to 64 events it has not read yet.
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

    /// Looks now, instead of at the next interval.
    ///
    /// Runs on threads of Keyfob's own. - Returns: Whether another identity is in use than before.
    @discardableResult
    public func refresh() async -> Bool { await look(resolvingAnyway: true) }

    /// The algorithms that every key to come must have, where it is of their kind.
    var promised: Set<SignatureAlgorithm> { state.withLock { $0.promised } }

    // MARK: Configurations

    /// A server's configuration: every handshake takes the identity that is in use when it begins.
    ///
    /// - Parameter clientTrust: Who may have issued clients' certificates, which are then required (mutual TLS).
    public func serverConfiguration(clientTrust: NIOSSLTrustRoots? = nil) -> TLSConfiguration {
        following(current.serverConfiguration(clientTrust: clientTrust))
    }

    /// A client's configuration: every handshake takes the identity that is in use when the server asks for it.
    ///
    /// - Parameter trustRoots: Who may have issued the server's certificate; without, the system's.
    public func clientConfiguration(trustRoots: NIOSSLTrustRoots = .default) -> TLSConfiguration {
        following(current.clientConfiguration(trustRoots: trustRoots))
    }

    private func following(_ fixed: TLSConfiguration) -> TLSConfiguration {
        let key = current.key
        // A configuration cannot learn new algorithms later: it promises those of the other kinds of keys too.
        let own = SignatureAlgorithm.candidates(for: key.publicKey.algorithm)
        let foreign = SignatureAlgorithm.all.filter { !own.contains($0) && (key.supportsTLS13 || !$0.isPSS) }
        let promised = key.signatureAlgorithms + foreign
        state.withLock { $0.promised.formUnion(promised) }
        var configuration = fixed
        configuration.certificateChain = []
        configuration.privateKey = nil
        configuration.signingSignatureAlgorithms = promised
        // Not the key, which is to go when nobody uses it any more.
        let threads = key.threads
        configuration.sslContextCallback = { [self] _, promise in
            // Called on event loops, which never wait: neither for a look that has the state, nor for each other.
            if let override = state.withLockIfFree({ $0.override }) { return promise.succeed(override) }
            threads.start { promise.succeed(self.state.withLock { $0.override }) }
        }
        return configuration
    }

    // MARK: Looking

    private func signingFailed(_ error: KeychainError) {
        tell(TLSIdentityEvent(kind: .signingFailed, identity: current, error: error))
    }

    /// Looks as at the end of an interval; whether another identity is in use than before.
    ///
    /// - Parameter resolvingAnyway: Whether to resolve the name also where nothing tells that it stands for another.
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
        let version = keychain.objectsVersion()
        let (number, isDue) = state.withLock { state in
            state.begun += 1
            return (state.begun, state.version != version || state.resolved.duration(to: .now) > interval * 15)
        }
        guard resolvesAnyway || isDue else { return false }
        var refused: OpenSSL.Certificate?
        do {
            let candidate = try TLSCandidate.choose(query, in: keychain, on: requirements.date())
            refused = candidate.certificate
            let chain = try keychain.chain(of: candidate.certificate)
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
            // What was refused is not looked at again before something changes, or the interval for that is over. Of
            // what could not be asked nothing is known: the change that led here counts as not seen.
            if settle(number, error.isPassing ? nil : version, refusal: Refusal(error, of: refused)) {
                tell(TLSIdentityEvent(kind: .refused, identity: current, error: error))
            }
            return false
        }
    }

    /// Takes note of what a look has found, unless one that began later was faster.
    ///
    /// - Parameter version: What it has seen; `nil` where the next look is to see the same once more.
    /// - Returns: Whether it is news: another identity, or another refusal than last time.
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

    /// A configuration in use may choose any algorithm it was made with, so a new key must have all of its kind.
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
    /// What a handshake takes from it.
    fileprivate var override: NIOSSLContextConfigurationOverride {
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = certificateChain
        override.privateKey = privateKey
        return override
    }
}
#endif
