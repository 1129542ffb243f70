import Foundation
import KeyfobPrimitives
import Logging
import KeyfobOpenSSL
import PKCS11
import Synchronization

/// The token behind a keychain: its sessions, its objects, and the handles they have at the moment.
///
/// The module is loaded at the first call that needs it: a keychain that answers from its vault never
/// touches the token. All calls block.
final class TokenStore: Sendable {
    /// Which token; never a slot number.
    let uri: PKCS11URI
    /// Tells whether objects changed; `nil` for tokens that cannot tell.
    let changeDetector: (any TokenChangeDetector)?
    let softHSM: SoftHSMDirectory?
    private let openModule: @Sendable () throws -> Module
    private let pin: @Sendable () throws -> TokenPIN?
    let memory: WrongPINMemory?
    let keychain: String?
    let logger: Logger
    /// What it means to the keychain that the token is not there.
    let explain: @Sendable (KeychainError) -> KeychainError
    let configuration: SessionPool.Configuration
    private let state: Lock<State>
    // These two are read at every operation, by all threads at once: a lock would be what they wait for.
    private let madePool = AtomicLazyReference<SessionPool>()
    /// Whether the token has been reached by this process.
    let hasWorked = Atomic(false)
    /// Called when the token has refused a PIN.
    let refusedPIN = Lock<(@Sendable () -> Void)?>(nil)
    let admissions = Lock(Admissions())
    /// What opens the token ahead of its first use.
    private let opening = Lock<TokenWarmUp?>(nil)
    /// What signatures have proved of keys that do not tell their public half.
    let proofs = Lock<[KeyProof: (publicKey: PublicKey?, end: Deadline)]>([:])
    /// Counts `forgetHandles()`.
    private let forgettings = Atomic(0)
    private let ahead = Lock<[WeakSignatures]>([])
    /// Whether SoftHSM sees all that is there.
    let sight = TokenSight()
    /// The thread that is making objects on a token of ours, as `ThreadNumber` has it; 0 for none.
    let objectWriter = Atomic<UInt64>(0)

    private struct WeakSignatures {
        weak var signatures: SignaturePrefetch?
    }

    private struct State {
        /// Whether the pool's sessions were opened while there was no PIN: it has to be told that there is one now.
        var isAnonymous = false
        /// The PIN that the pool was given last, until the logout.
        var given: TokenPIN?
        var handles: [HandleKey: CachedHandle] = [:]
        /// The handles of secret keys by id. A keychain has one or two of them.
        var secretKeys: [(id: Data, cached: CachedHandle)] = []
        /// Whether the token is known to keep its handles; `nil` before anybody asked.
        var keepsHandles: Bool?
        /// The keys with which the token has refused a mechanism with its parameters. What it lists says little:
        /// SoftHSM lists OAEP and has it with SHA-1 alone. What it refuses with one key it may do with another, that is
        /// larger, or that allows other mechanisms (`CKA_ALLOWED_MECHANISMS`).
        var refusing: [Mechanism: Set<HandleKey>] = [:]
    }

    private struct HandleKey: Hashable {
        let objectClass: ObjectClass
        let id: Data
        let fingerprint: Data

        init(_ object: TokenObject) {
            objectClass = object.objectClass
            id = object.id
            fingerprint = object.fingerprint
        }
    }

    private struct CachedHandle {
        let handle: ObjectHandle
        let epoch: Int
    }

    /// A store for the token of `uri`.
    ///
    /// - Parameters:
    ///   - softHSM: The directory the token lies in, where it is one of ours.
    ///   - keepsHandles: Whether a handle never names another object within one login; `nil` asks the token.
    ///   - explain: What it means to the keychain that a token of ours is not there.
    ///   - memory: The stored PINs that were refused; `nil` where no stored PIN is sent.
    ///   - keychain: The keychain that is on the token, where there is one.
    ///   - openModule: Loads the module; called once.
    ///   - pin: Gives the PIN when the token wants a login; `nil` reads without one.
    init(
        uri: PKCS11URI, softHSM: SoftHSMDirectory?, configuration: SessionPool.Configuration,
        keepsHandles: Bool? = nil, memory: WrongPINMemory? = nil, keychain: String? = nil,
        logger: Logger = Logger(label: "keyfob") { _ in SwiftLogNoOpLogHandler() },
        explain: @escaping @Sendable (KeychainError) -> KeychainError = { $0 },
        openModule: @escaping @Sendable () throws -> Module,
        pin: @escaping @Sendable () throws -> TokenPIN?
    ) {
        // Our own directory holds nothing but SoftHSM's tokens, so that nobody need be asked.
        let keepsHandles = keepsHandles ?? (softHSM == nil ? nil : true)
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
    var label: String { uri.token ?? uri.serial ?? "token" }

    /// The module, where it has been loaded.
    var loadedModule: Module? { madePool.load()?.module }

    /// The pool of sessions, made at the first call.
    func pool() throws -> SessionPool {
        if let pool = madePool.load() { return pool }
        // Loading runs the module's code, so it happens outside the lock; of two winners one is kept.
        let module = try openModule()
        let made = SessionPool(
            module: module, token: uri, configuration: configuration,
            pin: { [weak self] in
                guard let self else { return nil }
                let pin = try pin()
                state.withLock { ($0.isAnonymous, $0.given) = (pin == nil, pin) }
                admissions.withLock { $0.sent = pin }
                return pin?.secret
            },
            admission: { [weak self] secret, send in
                guard let self else { return try send() }
                let pin = admissions.withLock { $0.sent }
                return try admit(pin?.secret == secret ? pin ?? TokenPIN(secret) : TokenPIN(secret), send) { $0 }
            })
        return madePool.storeIfNil(made)
    }

    /// Has a thread load the module, and log in where there is a PIN already, for a caller that is going to need both.
    ///
    /// Returns at once. Whoever comes to the token first waits for it. What goes wrong is met again, and reported, by
    /// the first call that needs the token. A PIN that was refused is not sent again: the pool remembers it.
    ///
    /// - Parameters:
    ///   - begun: What has begun with the module. Nobody may change the environment before `awaitOpening()` has
    ///     returned.
    ///   - restorePIN: What finds the PIN, where somebody has left one.
    func beginOpening(_ begun: TokenWarmUp, restoringPIN restorePIN: @escaping @Sendable () -> Void) {
        opening.withLock { $0 = begun }
        begun.proceed { [self] in
            restorePIN()
            openAhead()
        }
    }

    /// Waits until what `beginOpening` began has ended, if it was called.
    ///
    /// Also to be called before the process ends: SoftHSM must not be stopped while it rewrites the token's file, nor
    /// be called when it has been taken apart.
    func awaitOpening() { opening.withLock { $0 }?.join() }

    private func openAhead() {
        do {
            try alone {
                let pool = try pool()
                guard try pin() != nil else { return _ = try pool.tokenInfo() }
                // The session that is opened for a login waits in the pool for the first call.
                try pool.withSession { _ in }
                hasWorked.store(true, ordering: .relaxed)
            }
        } catch {
            // Met again.
        }
    }

    /// Runs `body` with a session, and once more with fresh handles where a handle had died, or SoftHSM had lost sight
    /// of an object.
    ///
    /// - Throws: `KeychainError` for what the token refuses; what `body` throws otherwise.
    func withSession<Result>(
        _ operation: TokenOperation, idempotent: Bool = true, _ body: (borrowing Session) throws -> Result
    ) throws -> Result {
        do {
            return try seeingAll(repeats: idempotent) {
                try patiently { pool in
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

    /// To be called after a good login, which proves the token's file: a copy of it is saved unless there is one.
    func didLogIn() throws {
        guard let softHSM, let serial = uri.serial else { return }
        try softHSM.saveCopy(serial: serial, deadline: .after(configuration.deadline))
    }

    /// Removes the empty files that an interrupted change to a token of ours left; see `removeEmptyObjects(of:since:)`.
    ///
    /// - Parameter start: When the change began.
    func removeUnfinishedObjects(since start: Date?) throws {
        guard let softHSM, let serial = uri.serial,
            case .whole(let token) = try softHSM.awaitToken(serial: serial, label: label)
        else { return }
        try softHSM.removeEmptyObjects(of: token, since: start)
    }

    /// How many logins were begun, by whatever operation.
    var loginAttempts: Int { madePool.load()?.loginAttempts ?? 0 }

    /// Logs in now, with the PIN as it is now; nothing where somebody is logged in already.
    ///
    /// - Parameter attempts: `loginAttempts` of when the PIN became what it is. One that an operation has sent since,
    ///   and that was refused, is not sent again.
    func login(unlessRefusedSince attempts: Int) throws {
        do {
            if state.withLock({ $0.isAnonymous }) { try pool().logout() }
            // Also where the way there was open: a PIN that was refused before may be another one now, and another
            // keychain of the process may be logged in.
            let prove: (SessionPool) throws -> Void = {
                try $0.login(provingPIN: true, unlessRefusedSince: attempts)
            }
            try patiently(first: prove, prove)
        } catch let error as PKCS11Error { throw refusal(error, .login) }
    }

    /// Has sessions that were opened while there was no PIN log in, now that there is one.
    func adoptPIN() throws {
        guard state.withLock({ $0.isAnonymous }) else { return }
        try logout()
        state.withLock { $0.isAnonymous = false }
    }

    /// Has the next call send the PIN, although one was refused: it is another one by now.
    func forgetRefusal() { madePool.load()?.forgetRefusal() }

    /// As `forgetRefusal()`, unless it is this PIN that was refused.
    func forgetRefusal(unlessOf pin: SecretBytes) {
        if !wasGiven(pin) { forgetRefusal() }
    }

    /// Whether it is this PIN that the token was given last.
    func wasGiven(_ pin: SecretBytes) -> Bool { state.withLock { $0.given?.secret == pin } }

    /// Ends the login; every handle of a private object dies with it.
    func logout() throws {
        guard let pool = madePool.load() else { return }
        state.withLock { $0.given = nil }
        forgetHandles()
        // Also where the token did not answer: it is used no more.
        defer { for one in ahead.withLock({ $0.compactMap(\.signatures) }) { one.drop() } }
        do { try pool.logout() } catch let error as PKCS11Error { throw refusal(error, .logout) }
    }

    /// Runs `body`, which sends the PIN for one use of a key, as the pool of the operation's session lets it.
    func authenticating<Output>(
        on slot: Slot, _ body: () throws(PKCS11Error) -> Output
    ) throws(PKCS11Error) -> Output {
        // Where there is a session, there is the pool.
        guard let pool = madePool.load() else { return try body() }
        return try pool.authenticating(on: slot, body)
    }

    /// Has what is begun with a key of this token end with the login.
    func register(_ signatures: SignaturePrefetch) {
        ahead.withLock { ahead in
            ahead.removeAll { $0.signatures == nil }
            ahead.append(WeakSignatures(signatures: signatures))
        }
    }

    // MARK: Mechanisms

    /// Whether the token has refused a mechanism with this key before.
    func refuses(_ mechanism: Mechanism, with key: TokenObject) -> Bool {
        // Hardly ever was it refused with any, so that nobody hashes the key.
        state.withLock { $0.refusing[mechanism]?.contains(HandleKey(key)) ?? false }
    }

    /// Whether an error says that the token refuses the mechanism with this key, which is remembered then.
    func learns(from error: PKCS11Error, using mechanism: Mechanism, with key: TokenObject) -> Bool {
        let refusals: Set<ReturnValue> = [
            .mechanismInvalid, .mechanismParameterInvalid, .argumentsBad, .functionNotSupported,
        ]
        guard [.signInit, .decryptInit].contains(error.function), refusals.contains(error.returnValue) else {
            return false
        }
        state.withLock { _ = $0.refusing[mechanism, default: []].insert(HandleKey(key)) }
        return true
    }

    // MARK: Handles

    /// What somebody who uses one object again and again keeps of it: its handle, and when it was found.
    typealias KnownHandle = Lock<(handle: ObjectHandle, moment: Moment)?>

    /// A time between two logins in which this process has not seen any handle die.
    struct Moment: Hashable, Sendable {
        let epoch: Int
        let forgettings: Int
    }

    /// The time that it is now. - Throws: Where the module cannot be loaded.
    func moment() throws -> Moment {
        Moment(epoch: try pool().loginEpoch, forgettings: forgettings.load(ordering: .sequentiallyConsistent))
    }

    /// Drops every cached handle, and what was learned of keys: after something was destroyed some tokens give its
    /// number away at once.
    func forgetHandles() {
        forgettings.add(1, ordering: .sequentiallyConsistent)
        state.withLock { state in
            state.handles.removeAll()
            state.secretKeys.removeAll()
            // A key that was made anew may allow what the former did not.
            state.refusing.removeAll()
        }
    }

    /// Whether a handle of this token never comes to name another object within one login.
    ///
    /// SoftHSM counts its handles up and gives none away twice (measured). Of other tokens it is not known, and some
    /// reuse the number of a destroyed object at once.
    func keepsHandles() throws -> Bool {
        if let known = state.withLock({ $0.keepsHandles }) { return known }
        let keeps = try isSoftHSM()
        state.withLock { $0.keepsHandles = keeps }
        return keeps
    }

    /// Keeps a handle that was found in a login epoch.
    func remember(_ handle: ObjectHandle, of object: TokenObject, epoch: Int) {
        state.withLock { $0.handles[HandleKey(object)] = CachedHandle(handle: handle, epoch: epoch) }
    }

    /// Keeps the handle of a secret key that was found in a login epoch.
    func remember(_ handle: ObjectHandle, ofSecretKey id: Data, epoch: Int) {
        state.withLock { state in
            state.secretKeys.removeAll { $0.id == id }
            state.secretKeys.append((id, CachedHandle(handle: handle, epoch: epoch)))
        }
    }

    /// The handle of an object, from the cache where it was found since the last login.
    ///
    /// A handle is read back when it is found: at least once for each login, and after every removal by this process,
    /// for that empties the cache. Between those moments another program may remove the object, and a token that
    /// does not keep its handles may give the number to another. No interval of reading back is short enough to rule
    /// that out, and each costs a round trip, so the callers rule it out by what they do with the handle:
    ///
    /// - before a change, and before a decryption on such a token, it is read back (`verifiedHandle`);
    /// - a signature that such a token made is verified with the public key before it is given out (`TokenKey`),
    ///   which proves its key, costs no call to the token, and less than any round trip to one;
    /// - a wrapping key is read back before it wraps on such a token (`handle(ofSecretKey:)`).
    func handle(of object: TokenObject, in session: borrowing Session) throws -> ObjectHandle {
        let key = HandleKey(object)
        let epoch = try pool().loginEpoch
        if let cached = state.withLock({ $0.handles[key] }), cached.epoch == epoch { return cached.handle }
        let handle = try search(for: object, in: session)
        remember(handle, of: object, epoch: epoch)
        return handle
    }

    /// As `handle(of:in:)`, for a caller that keeps the handle itself: nothing has to be hashed to find it.
    func handle(
        of object: TokenObject, known: KnownHandle, in session: borrowing Session
    ) throws -> ObjectHandle {
        let moment = try moment()
        if let last = known.withLock({ $0 }), last.moment == moment { return last.handle }
        let handle = try handle(of: object, in: session)
        known.withLock { $0 = (handle, moment) }
        return handle
    }

    /// The handle of an object if it was found in this process, else 0: the hint of a reference.
    func knownHandle(of object: TokenObject) -> UInt64 {
        let key = HandleKey(object)
        return state.withLock { UInt64($0.handles[key]?.handle.rawValue ?? 0) }
    }

    /// The handle of an object that is about to be changed: class and fingerprint are read back first.
    ///
    /// A handle that now belongs to another object is forgotten and the object searched once more.
    func verifiedHandle(of object: TokenObject, in session: borrowing Session) throws -> ObjectHandle {
        let handle = try handle(of: object, in: session)
        if try isCurrent(handle, object, in: session) { return handle }
        forgetHandles()
        let found = try search(for: object, in: session)
        return found
    }

    /// The handle of a secret key by its id, found once for each login; `nil` where the token has none.
    ///
    /// - Parameter isSealing: Whether it is going to seal something. It is read back then on tokens that may give
    ///   handles away: what a wrong key has sealed could never be opened. A wrong key cannot open what this one
    ///   sealed, and the error says so.
    func handle(
        ofSecretKey id: Data, isSealing: Bool = false, in session: borrowing Session
    ) throws -> ObjectHandle? {
        let epoch = try pool().loginEpoch
        let known = state.withLock { state in state.secretKeys.first { $0.id == id }?.cached }
        if let cached = known, cached.epoch == epoch {
            if try !isSealing || keepsHandles() || isSecretKey(cached.handle, id, in: session) { return cached.handle }
            forgetHandles()
        }
        // A private one: of those that anybody may put on the token, none seals anything.
        let template: AttributeTemplate = [
            .objectClass(.secretKey), .id([UInt8](id)), .token(true), .isPrivate(true),
        ]
        guard let handle = try session.findObjects(template, limit: 1).first else { return nil }
        remember(handle, ofSecretKey: id, epoch: epoch)
        return handle
    }

    private func isSecretKey(_ handle: ObjectHandle, _ id: Data, in session: borrowing Session) throws -> Bool {
        do throws(PKCS11Error) {
            let values = try session.attributes([.objectClass, .id], of: handle)
            return values.objectClass == .secretKey && values[.id] == [UInt8](id)
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

    /// The handles of an object; several where the token has it several times.
    ///
    /// - Throws: `KeychainError`; `itemNotFound`, `ambiguous` for keys that are not told apart.
    func searchAll(_ object: TokenObject, in session: borrowing Session) throws -> [ObjectHandle] {
        var template: AttributeTemplate = [.objectClass(object.objectClass)]
        if !object.id.isEmpty {
            template.append(.id([UInt8](object.id)))
        } else if let der = object.certificateDER {
            template.append(.value([UInt8](der)))
        }
        template.append(.token(true))
        func look() throws -> [ObjectHandle] {
            try session.findObjects(template).filter { try isCurrent($0, object, in: session) }
        }
        var found = try look()
        // SoftHSM overlooks an object for a moment while another program, or pool, writes to the token.
        for pause in Self.pauses.prefix(6) where found.isEmpty {
            guard try isSoftHSM() else { break }
            usleep(pause)
            found = try look()
        }
        guard !found.isEmpty else { throw gone() }
        // Two certificates with the same bytes are as good as one; two keys that tell nothing but the same id may be
        // any keys.
        guard found.count == 1 || object.knownPublicKeyInfo != nil || object.objectClass == .certificate else {
            throw KeychainError(
                .ambiguous,
                "token \"\(label)\" has \(found.count) keys of the same id, and does not tell them apart.",
                hint: "Give them different ids: pkcs11-tool --set-id")
        }
        return found
    }

    func gone() -> KeychainError {
        KeychainError(
            .itemNotFound, "the object is no longer on token \"\(label)\".",
            remedies: [
                "Another program removed or replaced it.", Remedy("See what is there", .listObjects()),
            ])
    }
}
