package import Foundation
package import KeyfobPrimitives
package import Logging
package import KeyfobOpenSSL
package import PKCS11
package import Synchronization

/// The token behind a keychain: its sessions, its objects, and their current handles.
///
/// The module is loaded at the first call that needs it: a keychain that answers from its vault never uses the token.
/// All calls block.
package final class TokenStore: Sendable {
    /// Identifies the token. It never contains a slot number.
    package let uri: PKCS11URI
    /// Detects changes to the objects; `nil` for tokens without that ability.
    package let changeDetector: SoftHSMChangeDetector?
    package let softHSM: SoftHSMDirectory?
    private let openModule: @Sendable () throws -> Module
    private let pin: @Sendable () throws -> TokenPIN?
    package let memory: WrongPINMemory?
    package let keychain: String?
    package let logger: Logger
    /// Converts the error of an absent token into one about the keychain.
    package let explain: @Sendable (KeychainError) -> KeychainError
    package let configuration: SessionPool.Configuration
    /// Whether the token is in files that each login rewrites.
    let isInFiles: Bool
    let state: Lock<State>
    // These two are read at every operation by all threads at once, so they are not behind the lock.
    private let madePool = AtomicLazyReference<SessionPool>()
    /// Whether this process has reached the token.
    package let hasWorked = Atomic(false)
    /// Called when the token has refused a PIN.
    package let refusedPIN = Lock<(@Sendable () -> Void)?>(nil)
    package let loginRecord = Lock(LoginRecord())
    /// The warm-up that opens the token ahead of its first use.
    private let opening = Lock<TokenWarmUp?>(nil)
    /// Public keys that signatures have proved for keys that do not reveal their public half.
    package let proofs = Lock<[KeyProof: (publicKey: PublicKey?, end: Deadline)]>([:])
    /// Counts calls of `forgetHandles()`.
    private let forgettings = Atomic(0)
    private let ahead = Lock<[WeakSignatures]>([])
    /// Whether SoftHSM sees all objects of the token.
    package let visibility = ObjectVisibility()
    /// The thread that is creating objects on one of Keyfob's tokens, as a `ThreadNumber`; 0 for none.
    package let objectWriter = Atomic<UInt64>(0)

    private struct WeakSignatures {
        weak var signatures: SignaturePrefetch?
    }

    struct State {
        /// Whether the pool's sessions were opened without a PIN. If a PIN is there now, the pool has to log in.
        var isAnonymous = false
        /// The PIN that the pool was given last, until the logout.
        var given: TokenPIN?
        var handles: [HandleKey: CachedHandle] = [:]
        /// Whether the token never reuses handles; `nil` to ask its profile.
        var keepsHandles: Bool?
        /// The keys with which the token has refused a mechanism with its parameters.
        ///
        /// The token's list of mechanisms is not reliable: SoftHSM lists OAEP and supports it with SHA-1 only. A
        /// mechanism that is refused with one key may work with another that is larger or allows other mechanisms
        /// (`CKA_ALLOWED_MECHANISMS`).
        var refusing: [Mechanism: Set<HandleKey>] = [:]
    }

    struct HandleKey: Hashable {
        let objectClass: ObjectClass
        let id: Data
        let fingerprint: Data

        init(_ object: TokenObject) {
            objectClass = object.objectClass
            id = object.id
            fingerprint = object.fingerprint
        }

        /// A wrapping key, which is known by its id only.
        init(wrappingKey id: Data) {
            objectClass = .secretKey
            self.id = id
            fingerprint = Data()
        }
    }

    struct CachedHandle {
        let handle: ObjectHandle
        let epoch: Int
    }

    /// Creates a store for a token.
    ///
    /// - Parameters:
    ///   - softHSM: The directory the token lies in, if it is one of Keyfob's.
    ///   - keepsHandles: Whether a handle never names another object within one login; `nil` to ask the token.
    ///   - memory: The stored PINs that were refused; `nil` if no stored PIN is sent.
    ///   - keychain: The name of the keychain on the token, if there is one.
    ///   - explain: Converts the error of an absent token of Keyfob's into one about the keychain.
    ///   - openModule: Loads the module. Threads that need it first at the same time may each call it.
    ///   - pin: Returns the PIN when the token needs a login; `nil` to read without one.
    package init(
        uri: PKCS11URI, softHSM: SoftHSMDirectory?, configuration: SessionPool.Configuration,
        keepsHandles: Bool? = nil, memory: WrongPINMemory? = nil, keychain: String? = nil,
        logger: Logger = Logger(label: "keyfob") { _ in SwiftLogNoOpLogHandler() },
        explain: @escaping @Sendable (KeychainError) -> KeychainError = { $0 },
        openModule: @escaping @Sendable () throws -> Module,
        pin: @escaping @Sendable () throws -> TokenPIN?
    ) {
        isInFiles = softHSM != nil || TokenProfile(expectedAt: uri).has(.vanishesDuringLogin)
        state = Lock(State(keepsHandles: keepsHandles))
        self.uri = uri
        self.softHSM = softHSM
        changeDetector = softHSM.map { SoftHSMChangeDetector(directory: $0, uri: uri) }
        self.configuration = configuration
        self.explain = explain
        self.openModule = openModule
        self.pin = pin
        (self.memory, self.keychain, self.logger) = (memory, keychain, logger)
    }

    /// The token's label, for messages.
    package var label: String { uri.token ?? uri.serial ?? "token" }

    /// The pool of sessions, if the module is loaded.
    var loadedPool: SessionPool? { madePool.load() }

    /// The pool of sessions, created at the first call.
    package func pool() throws -> SessionPool {
        if let pool = madePool.load() { return pool }
        // Loading runs the module's code, so it happens outside the lock. If two threads do it at once, one pool is
        // kept.
        let module = try openModule()
        let made = SessionPool(
            module: module, token: uri, configuration: configuration,
            pin: { [weak self] in
                guard let self else { return nil }
                let pin = try pin()
                state.withLock { ($0.isAnonymous, $0.given) = (pin == nil, pin) }
                loginRecord.withLock { $0.sent = pin }
                return pin?.secret
            },
            admission: { [weak self] secret, send in
                guard let self else { return try send() }
                let pin = loginRecord.withLock { $0.sent }
                return try admit(pin?.secret == secret ? pin ?? TokenPIN(secret) : TokenPIN(secret), send) { $0 }
            })
        return madePool.storeIfNil(made)
    }

    /// Makes a thread load the module, and log in if there is a PIN already, for a caller that is going to need both.
    ///
    /// Returns at once. The first call that uses the token waits for it. Errors are ignored here; that call meets and
    /// reports them. A refused PIN is not sent again, because the pool remembers it.
    ///
    /// - Parameters:
    ///   - begun: The warm-up that has started with the module. The environment must not change before `awaitOpening()`
    ///     has returned.
    ///   - restorePIN: Restores the PIN, if an earlier command has left one.
    package func beginOpening(_ begun: TokenWarmUp, restoringPIN restorePIN: @escaping @Sendable () -> Void) {
        opening.withLock { $0 = begun }
        begun.proceed { [self] in
            restorePIN()
            openAhead()
        }
    }

    /// Waits until the work that `beginOpening` started has ended, if it was called.
    ///
    /// Call it also before the process ends: SoftHSM must not be stopped while it rewrites the token's file, nor be
    /// called after its static objects are destroyed.
    package func awaitOpening() { opening.withLock { $0 }?.join() }

    private func openAhead() {
        do {
            try holdingLoginLock {
                let pool = try pool()
                guard try pin() != nil else { return _ = try pool.tokenInfo() }
                // The session opened for the login stays in the pool for the first call.
                try pool.withSession { _ in }
                hasWorked.store(true, ordering: .relaxed)
            }
        } catch {
            // The first call that needs the token reports the error.
        }
    }

    /// Runs `body` with a session, and again if a handle had become invalid or SoftHSM had dropped an object.
    ///
    /// - Throws: `KeychainError` for errors of the token; other errors of `body`.
    package func withSession<Result>(
        _ operation: TokenOperation, idempotent: Bool = true, _ body: (borrowing Session) throws -> Result
    ) throws -> Result {
        do {
            return try recoveringDroppedObjects(repeats: idempotent) {
                try retryingIfUnreadable { pool in
                    do { return try pool.withSession(idempotent: idempotent, body) } catch let error as PKCS11Error
                        where idempotent && error.recovery == .lookUpAgain
                    {
                        forgetHandles()
                        return try pool.withSession(idempotent: idempotent, body)
                    }
                }
            }
        } catch let error as PKCS11Error {
            throw refusal(error, operation)
        }
    }

    /// Saves a copy of the token's file unless there is one. Call it after a successful login, which proves the file.
    package func didLogIn() throws {
        guard let softHSM, let serial = uri.serial else { return }
        try softHSM.saveCopy(serial: serial, deadline: .after(configuration.deadline))
    }

    /// Removes the empty files that an interrupted change to one of Keyfob's tokens left; see
    /// `removeEmptyObjects(of:since:)`.
    ///
    /// - Parameter start: When the change began; `nil` to remove empty files of any age.
    package func removeUnfinishedObjects(since start: Date?) throws {
        guard let softHSM, let serial = uri.serial,
            case .whole(let token) = try softHSM.awaitToken(serial: serial, label: label)
        else { return }
        try softHSM.removeEmptyObjects(of: token, since: start)
    }

    /// The number of logins that were started, by any operation.
    package var loginAttempts: Int { madePool.load()?.loginAttempts ?? 0 }

    /// Logs in with the current PIN, unless the process is logged in already.
    ///
    /// - Parameter attempts: The value of `loginAttempts` when the PIN was set. If an operation has sent the PIN since
    ///   and it was refused, it is not sent again.
    package func login(unlessRefusedSince attempts: Int) throws {
        do {
            if state.withLock({ $0.isAnonymous }) { try pool().logout() }
            // Also needed if the token was reached before: the PIN may differ from one refused earlier, and another
            // keychain of this process may be logged in.
            let prove: (SessionPool) throws -> Void = {
                try $0.login(provingPIN: true, unlessRefusedSince: attempts)
            }
            try retryingIfUnreadable(first: prove, prove)
        } catch let error as PKCS11Error { throw refusal(error, .login) }
    }

    /// Makes sessions that were opened without a PIN log in, if there is a PIN now.
    package func adoptPIN() throws {
        guard state.withLock({ $0.isAnonymous }) else { return }
        try logout()
        state.withLock { $0.isAnonymous = false }
    }

    /// Allows the next call to send the PIN although one was refused, because the PIN has changed.
    package func forgetRefusal() { madePool.load()?.forgetRefusal() }

    /// Like `forgetRefusal()`, unless this PIN is the one that the token was given last.
    package func forgetRefusal(unlessOf pin: SecretBytes) {
        if !wasGiven(pin) { forgetRefusal() }
    }

    /// Whether this PIN is the one that the token was given last.
    package func wasGiven(_ pin: SecretBytes) -> Bool { state.withLock { $0.given?.secret == pin } }

    /// Ends the login. All handles of private objects become invalid.
    package func logout() throws {
        guard let pool = madePool.load() else { return }
        state.withLock { $0.given = nil }
        forgetHandles()
        // Also if the token did not answer, since it is not used any more.
        defer { for one in ahead.withLock({ $0.compactMap(\.signatures) }) { one.drop() } }
        do { try pool.logout() } catch let error as PKCS11Error { throw refusal(error, .logout) }
    }

    /// Runs `body`, which sends the PIN for one use of a key, under the session pool's rules for authentication.
    package func authenticating<Output>(
        on slot: Slot, _ body: () throws(PKCS11Error) -> Output
    ) throws(PKCS11Error) -> Output {
        // A session exists, so the pool does too.
        guard let pool = madePool.load() else { return try body() }
        return try pool.authenticating(on: slot, body)
    }

    /// Registers started signatures, which are dropped at the logout.
    package func register(_ signatures: SignaturePrefetch) {
        ahead.withLock { ahead in
            ahead.removeAll { $0.signatures == nil }
            ahead.append(WeakSignatures(signatures: signatures))
        }
    }

    // MARK: Handles

    /// An interval between two logins in which this process has not found any handle invalid.
    package struct Moment: Hashable, Sendable {
        package let epoch: Int
        package let forgettings: Int
    }

    /// The current moment.
    ///
    /// - Throws: Errors of loading the module.
    package func moment() throws -> Moment {
        Moment(epoch: try pool().loginEpoch, forgettings: forgettings.load(ordering: .sequentiallyConsistent))
    }

    /// Drops all cached handles and refused mechanisms. Some tokens reuse the handle of a destroyed object at once.
    package func forgetHandles() {
        forgettings.add(1, ordering: .sequentiallyConsistent)
        state.withLock { state in
            state.handles.removeAll()
            // A new key may allow mechanisms that its predecessor did not.
            state.refusing.removeAll()
        }
    }

    /// Whether a handle of this token never comes to name another object within one login.
    ///
    /// Some tokens reuse the handle of a destroyed object at once.
    package func keepsHandles() throws -> Bool {
        if let known = state.withLock({ $0.keepsHandles }) { return known }
        let keeps = try profile().has(.keepsHandles)
        state.withLock { $0.keepsHandles = keeps }
        return keeps
    }

    /// Caches a handle that was found in a login epoch.
    package func remember(_ handle: ObjectHandle, of object: TokenObject, epoch: Int) {
        state.withLock { $0.handles[HandleKey(object)] = CachedHandle(handle: handle, epoch: epoch) }
    }

    /// Caches the handle of a wrapping key that was found in a login epoch.
    package func remember(_ handle: ObjectHandle, ofWrappingKey id: Data, epoch: Int) {
        state.withLock { $0.handles[HandleKey(wrappingKey: id)] = CachedHandle(handle: handle, epoch: epoch) }
    }

    /// The handle of an object, from the cache if it was found since the last login.
    ///
    /// A handle is verified when it is found: at least once for each login, and after every removal by this process,
    /// which clears the cache. In between, another program may remove the object, and a token that does not keep its
    /// handles may reuse the number for another object. No interval of verifying is short enough to exclude that, and
    /// each check costs a round trip. So callers exclude it depending on the use of the handle:
    ///
    /// - before a change, and before a decryption on such a token, the handle is verified (`verifiedHandle`);
    /// - a signature by such a token is verified with the public key before it is returned (`TokenKey`), which proves
    ///   the key and takes less time than a round trip to the token;
    /// - a wrapping key is verified before it wraps on such a token (`handle(ofWrappingKey:)`).
    package func handle(of object: TokenObject, in session: borrowing Session) throws -> ObjectHandle {
        let key = HandleKey(object)
        let epoch = try pool().loginEpoch
        if let cached = state.withLock({ $0.handles[key] }), cached.epoch == epoch { return cached.handle }
        let handle = try search(for: object, in: session)
        remember(handle, of: object, epoch: epoch)
        return handle
    }

    /// The handle of an object if this process has found it, otherwise 0. It serves as the hint of a reference.
    package func knownHandle(of object: TokenObject) -> UInt64 {
        let key = HandleKey(object)
        return state.withLock { UInt64($0.handles[key]?.handle.rawValue ?? 0) }
    }

    /// The handle of an object that is about to be changed. Class and fingerprint are read back first; if they differ,
    /// the object is searched again.
    package func verifiedHandle(of object: TokenObject, in session: borrowing Session) throws -> ObjectHandle {
        let handle = try handle(of: object, in: session)
        if try isCurrent(handle, object, in: session) { return handle }
        forgetHandles()
        let found = try search(for: object, in: session)
        return found
    }

    /// The handle of a wrapping key by its id, searched once for each login; `nil` if the token has no such key.
    ///
    /// - Parameters:
    ///   - id: The `CKA_ID` of the key.
    ///   - keyClass: The class of the key: a secret or private key.
    ///   - isSealing: Whether the key is going to seal something. Then, on tokens that may reuse handles, a cached
    ///     handle is verified, because nothing could open what a wrong key has sealed. Opening needs no check: a wrong
    ///     key fails, and the error says so.
    ///   - session: A session of the token.
    package func handle(
        ofWrappingKey id: Data, _ keyClass: ObjectClass, isSealing: Bool = false, in session: borrowing Session
    ) throws -> ObjectHandle? {
        let epoch = try pool().loginEpoch
        if let cached = state.withLock({ $0.handles[HandleKey(wrappingKey: id)] }), cached.epoch == epoch {
            if try !isSealing || keepsHandles() || isKey(cached.handle, keyClass, id, in: session) {
                return cached.handle
            }
            forgetHandles()
        }
        // Only private keys: any program can put public ones on the token, so those must not seal anything.
        let template: AttributeTemplate = [
            .objectClass(keyClass), .id([UInt8](id)), .token(true), .isPrivate(true),
        ]
        let found = try searching(with: session) { () throws -> ObjectHandle? in
            let handle = try session.findObjects(template, limit: 1).first
            if handle == nil { try requireLogin(session) }
            return handle
        }
        guard let handle = found else { return nil }
        remember(handle, ofWrappingKey: id, epoch: epoch)
        return handle
    }

    private func isKey(
        _ handle: ObjectHandle, _ keyClass: ObjectClass, _ id: Data, in session: borrowing Session
    ) throws -> Bool {
        do throws(PKCS11Error) {
            let values = try session.attributes([.objectClass, .id], of: handle)
            return values.objectClass == keyClass && values[.id] == [UInt8](id)
        } catch {
            guard error.recovery == .lookUpAgain else { throw error }
            return false
        }
    }

    private func isCurrent(
        _ handle: ObjectHandle, _ object: TokenObject, in session: borrowing Session
    ) throws -> Bool {
        let values: AttributeValues
        do throws(PKCS11Error) {
            values = try session.attributes(TokenObject.attributeTypes(of: object.objectClass), of: handle)
        } catch {
            guard error.recovery == .lookUpAgain else { throw error }
            return false
        }
        guard var current = TokenObject(reading: values, parsesCertificate: false) else { return false }
        guard current.objectClass == object.objectClass, current.id == object.id else { return false }
        if current.fingerprint != object.fingerprint, current.objectClass == .privateKey, current.publicKeyInfo == nil {
            let halves = try session.findObjects([.objectClass(.publicKey), .id([UInt8](current.id))])
                .compactMap { try read($0, in: session) }
            current = Self.completing([current] + halves)[0]
        }
        return current.fingerprint == object.fingerprint
    }

    private func search(for object: TokenObject, in session: borrowing Session) throws -> ObjectHandle {
        try searchAll(object, in: session)[0]
    }

    /// The handles of an object; several if the token has duplicates of it.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous` for keys that cannot be distinguished.
    package func searchAll(_ object: TokenObject, in session: borrowing Session) throws -> [ObjectHandle] {
        var template: AttributeTemplate = [.objectClass(object.objectClass)]
        if !object.id.isEmpty {
            template.append(.id([UInt8](object.id)))
        } else if let der = object.certificateDER {
            template.append(.value([UInt8](der)))
        }
        template.append(.token(true))
        func look() throws -> [ObjectHandle] {
            try searching(with: session) {
                let found = try session.findObjects(template).filter { try isCurrent($0, object, in: session) }
                if found.isEmpty { try requireLogin(session) }
                return found
            }
        }
        var found = try look()
        // An object may be missing for a moment while another program or pool writes to the token.
        for pause in Self.pauses.prefix(6) where found.isEmpty {
            guard try profile().has(.failsMomentarily) else { break }
            usleep(pause)
            found = try look()
        }
        guard !found.isEmpty else { throw gone() }
        // Two certificates with the same bytes are equivalent. Two keys that reveal only the same id may be different
        // keys.
        guard found.count == 1 || object.knownPublicKeyInfo != nil || object.objectClass == .certificate else {
            throw KeychainError(
                .ambiguous,
                "token \"\(label)\" has \(found.count) keys of the same id, and does not tell them apart.",
                hint: "Give them different ids: pkcs11-tool --set-id")
        }
        return found
    }

    package func gone() -> KeychainError {
        KeychainError(
            .itemNotFound, "the object is no longer on token \"\(label)\".",
            remedies: ["Another program removed or replaced it.", Remedy("See what is there", .listObjects())])
    }
}
