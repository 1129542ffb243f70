import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// A private key on the token, ready to be used.
///
/// ```swift
/// let key = try keychain.tokenKey(for: identity.key)
/// let signature = try key.sign(message, using: .ecdsa(.sha256))
/// ```
///
/// One value serves any number of threads: each call takes a session of the keychain's pool. Calls block;
/// the asynchronous forms run on threads of Keyfob's own. The handle is found once and kept until the login
/// changes. On tokens that may give a handle to another key every signature is verified before it is returned.
public struct TokenKey: Sendable {
    /// The public key.
    public let publicKey: PublicKey
    /// Where it was found.
    package let keychain: Keychain
    let object: TokenObject
    let handle = TokenStore.KnownHandle(nil)
    let ahead = SignaturePrefetch()
    /// Whether this key needs the padding of RSA-PSS made here; found out by trying.
    let padsHere = AtomicFlag()

    init(keychain: Keychain, object: TokenObject, publicKey: PublicKey) {
        self.keychain = keychain
        self.object = object
        self.publicKey = publicKey
    }

    /// Signs a message; it is hashed here, and the token sees the digest. For schemes over what the caller has
    /// prepared, `message` is that.
    ///
    /// - Returns: The signature in the form that X.509 and TLS use: DER for ECDSA, the plain value otherwise.
    /// - Throws: `KeychainError`; `mechanismUnsupported` where key or token cannot do `scheme`, `itemNotFound`
    ///   where the key is gone, `tokenContractViolation` where the signature is not the key's, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func sign(_ message: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        guard let digest = scheme.digest else { return try signDigest(message, using: scheme) }
        return try signDigest(digest.array(of: message), using: scheme)
    }

    /// Signs a digest that the caller made.
    ///
    /// Where the token has not the padding that `scheme` asks for, the padding is made here and the token does plain
    /// RSA.
    ///
    /// - Throws: As `sign(_:using:)`; `invalidArgument` for a wrong length.
    @available(*, noasync, message: "use the asynchronous form")
    public func signDigest(_ digest: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        if let expected = scheme.digest?.count, digest.count != expected {
            throw KeychainError(
                .invalidArgument, "a \(scheme) signature needs a digest of \(expected) bytes, not \(digest.count).")
        }
        guard scheme.fits(publicKey.algorithm) else { throw unfit(scheme) }
        try keychain.unlockIfLocked()
        let token = keychain.token
        func made() throws -> [UInt8] {
            if let (mechanism, input) = plain(scheme, digest),
                let signature = try ahead.sign(input, using: mechanism, on: token)
            {
                return try encoded(signature)
            }
            return try token.withSession(.sign) { session in
                try sign(digest, scheme, with: token.handle(of: object, known: handle, in: session), in: session)
            }
        }
        let signature = try made()
        guard try !token.keepsHandles(), try !publicKey.verify(signature, ofDigest: digest, using: scheme) else {
            return signature
        }
        // The handle has become another key's: once more, with the handle that the key has now.
        token.forgetHandles()
        let second = try made()
        guard try publicKey.verify(second, ofDigest: digest, using: scheme) else {
            throw disobedience(nil)
        }
        return second
    }

    /// Signs a message on a thread of Keyfob's own. - Throws: As the blocking form.
    public func sign(_ message: [UInt8], using scheme: SignatureScheme) async throws -> [UInt8] {
        try await ModuleWatch.run(limit: keychain.moduleLimit) { try self.sign(message, using: scheme) }
    }

    /// Begins the next signature by `scheme`, so that less of it is left to be done when somebody waits for it.
    ///
    /// For who signs again and again, when he has nothing else to do. Blocks. Where the token is of no kind that can
    /// tell what other programs do to it, and for keys that want the PIN at each use, it does nothing.
    package func beginNextSignature(using scheme: SignatureScheme) {
        guard !object.flags.contains(.alwaysAuthenticate), let (mechanism, _) = plain(scheme, []) else { return }
        let token = keychain.token
        ahead.begin(mechanism, on: token) { try token.handle(of: object, known: handle, in: $0) }
    }

    /// How the token makes a signature by itself, and of what; `nil` where it is known not to with this key.
    private func plain(_ scheme: SignatureScheme, _ digest: [UInt8]) -> (Mechanism, [UInt8])? {
        switch publicKey.algorithm {
        case .rsa:
            guard let (mechanism, input) = Self.mechanism(scheme, digest),
                !keychain.token.refuses(mechanism, with: object), !scheme.isPSS || !padsHere.isSet
            else { return nil }
            return (mechanism, input)
        case .ec(let curve):
            // Tokens differ in what they make of a digest that is longer than the order of the curve.
            return (Mechanism(.ecdsa), curve.bits.map { Array(digest.prefix(($0 + 7) / 8)) } ?? digest)
        default: return (.eddsa, digest)
        }
    }

    private func unfit(_ scheme: SignatureScheme) -> KeychainError {
        KeychainError(.mechanismUnsupported, "a key of type \(publicKey.algorithm) cannot sign with \(scheme).")
    }

    /// The form that X.509 and TLS use.
    private func encoded(_ signature: [UInt8]) throws -> [UInt8] {
        guard case .ec = publicKey.algorithm else { return signature }
        // A token that is at fault, and not who asked it: some answer with nothing at all.
        do { return try ECDSASignature(raw: signature).der } catch { throw disobedience(error) }
    }

    /// What `body` makes of a signature of this key.
    ///
    /// - Throws: `KeychainError` with code `tokenContractViolation` where `body` finds that the signature is not the key's;
    ///   else what `body` throws.
    func checkingSignature<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CryptoError where error.code == .authenticationFailed {
            throw disobedience(error)
        }
    }

    private func disobedience(_ cause: (any Error)?) -> KeychainError {
        let name = object.label?.text.map { "key \"\($0)\"" } ?? "a key"
        let label = keychain.token.label
        return KeychainError(
            .tokenContractViolation,
            "token \"\(label)\" made a signature with \(name) that the key's public half does not verify.",
            remedies: [
                Remedy(
                    "Try again. If it fails again the token or its module is broken, or a public key or certificate "
                        + "has the key's identifier and is not its own",
                    .listObjects(token: label))
            ],
            details: ["token": label], cause: cause)
    }

    private func sign(
        _ digest: [UInt8], _ scheme: SignatureScheme, with key: ObjectHandle, in session: borrowing Session
    ) throws -> [UInt8] {
        var refusal: PKCS11Error?
        var signature: [UInt8]?
        if let (mechanism, input) = plain(scheme, digest) {
            do {
                signature = try authenticating(on: session.slot) { (pin) throws(PKCS11Error) in
                    try session.sign(input, with: key, using: mechanism, authenticatingWith: pin)
                }
            } catch let error as PKCS11Error {
                // Tokens that do not check parameters beforehand refuse PSS in the middle, under many names.
                guard case .rsa = publicKey.algorithm,
                    keychain.token.learns(from: error, using: mechanism, with: object)
                        || scheme.isPSS && error.isRefusalOfMechanism
                else { throw error }
                refusal = error
            }
        }
        if let signature { return try encoded(signature) }
        guard case .rsa(let bits) = publicKey.algorithm else { throw unfit(scheme) }
        let block: [UInt8]
        do { block = try RSAPadding.block(toSign: digest, using: scheme, bits: bits) } catch let error as CryptoError {
            throw KeychainError(.invalidArgument, "cannot sign this way: \(error.detail).", cause: error)
        }
        do {
            let signature = try authenticating(on: session.slot) { (pin) throws(PKCS11Error) in
                try session.sign(block, with: key, using: Mechanism(.rsaX509), authenticatingWith: pin)
            }
            if scheme.isPSS, refusal != nil { padsHere.set(true) }
            return signature
        } catch let error as PKCS11Error {
            // Of two refusals that of the scheme itself is the better answer.
            throw refusal ?? error
        }
    }

    /// Runs `body` with the PIN, where the token wants it at each use of this key (`CKA_ALWAYS_AUTHENTICATE`, as PIV's
    /// key for signatures), else without. One that is refused is not sent again, by no process.
    ///
    /// - Throws: What `body` throws; as `TokenStore.admit(_:_:isProof:)`.
    func authenticating<Output>(
        on slot: Slot, _ body: (SecretBytes?) throws(PKCS11Error) -> Output
    ) throws -> Output {
        guard object.flags.contains(.alwaysAuthenticate) else { return try body(nil) }
        guard let pin = keychain.lockState.withLock({ $0.tokenPIN }) else {
            return try keychain.token.authenticating(on: slot) { () throws(PKCS11Error) in try body(nil) }
        }
        do {
            return try keychain.token.admit(pin) {
                try keychain.token.authenticating(on: slot) { () throws(PKCS11Error) -> Output in
                    do throws(PKCS11Error) { return try body(pin.secret) } catch {
                        // Before the next thread's turn.
                        if error.function == .login, error.returnValue == .pinIncorrect {
                            keychain.pinWasRefused(pin.secret)
                        }
                        throw error
                    }
                }
            }
        } catch let error as PKCS11Error where error.function == .login && Self.mayBeCounted.contains(error.returnValue) {
            // Not as the pool's affair, which would begin the operation anew, and send the PIN once more.
            throw keychain.token.refusal(error, .login)
        }
    }

    /// Failures of a login after which the token may have counted the try.
    private static let mayBeCounted: Set<ReturnValue> = [.generalError, .functionFailed, .deviceError]

    /// The token's own padding for a scheme of RSA, and what it wants to be given.
    private static func mechanism(_ scheme: SignatureScheme, _ digest: [UInt8]) -> (Mechanism, [UInt8])? {
        if scheme == .rsaPKCS1Prepared { return (Mechanism(.rsaPKCS), digest) }
        guard let hash = scheme.digest, let algorithm = HashAlgorithm(hash) else { return nil }
        if scheme == .rsaPKCS1(hash) { return (Mechanism(.rsaPKCS), hash.informationPrefix + digest) }
        return scheme == .rsaPSS(hash) ? (.rsaPSS(hash: algorithm, saltLength: hash.count), digest) : nil
    }
}

extension Keychain {
    /// The key of an item, ready to be used.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` for an item that is not on the token, `invalidArgument` for one
    ///   that is no private key or whose public key nobody knows.
    @available(*, noasync, message: "use the asynchronous form")
    public func tokenKey(for key: KeyItem) throws -> TokenKey {
        guard let object = key.item.object, object.objectClass == .privateKey else {
            throw KeychainError(.invalidArgument, "the item is not a private key on the token.")
        }
        return try tokenKey(object, knownPublicKey(of: key))
    }

    /// The private key of an identity. - Throws: As `tokenKey(for:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public func tokenKey(for identity: Identity) throws -> TokenKey {
        guard let object = identity.item.object else {
            throw KeychainError(.invalidArgument, "the identity was not found in a keychain.")
        }
        return try tokenKey(object, identity.certificate().publicKey)
    }

    /// - Throws: `KeychainError` with code `identityMismatch` where the token says that the key is of another kind.
    private func tokenKey(_ object: TokenObject, _ publicKey: PublicKey) throws -> TokenKey {
        // SoftHSM takes every key for every mechanism, and crashes with one of another kind.
        guard object.keyType?.fits(publicKey.algorithm) ?? true else {
            throw KeychainError(
                .identityMismatch,
                "the certificate was not issued for the key that token \"\(token.label)\" has for it, which is of "
                    + "another kind than \(publicKey.algorithm).",
                remedies: [Remedy("Find the key", .listKeys())])
        }
        return TokenKey(keychain: self, object: object, publicKey: publicKey)
    }
}
