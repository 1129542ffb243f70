import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// A private key on the token, ready for use.
///
/// ```swift
/// let key = try keychain.keys.tokenKey(for: identity.key)
/// let signature = try key.sign(message, using: .ecdsa(.sha256))
/// ```
///
/// One value serves any number of threads: each call takes a session from the keychain's pool. Calls block; the
/// asynchronous forms run on Keyfob's own threads. The handle is found once and kept until the login changes. On tokens
/// that may reuse a handle for another key, every signature is verified before it is returned.
public struct TokenKey: Sendable {
    /// The public key.
    public let publicKey: PublicKey
    /// The keychain that the key belongs to.
    package let keychain: Keychain
    let object: TokenObject
    let ahead = SignaturePrefetch()
    /// Whether Keyfob has to apply the padding of RSA-PSS for this key; found out by trying.
    let padsHere = AtomicFlag()

    init(keychain: Keychain, object: TokenObject, publicKey: PublicKey) {
        self.keychain = keychain
        self.object = object
        self.publicKey = publicKey
    }

    /// Signs a message. Keyfob hashes it, and the token receives the digest.
    ///
    /// For schemes over prepared input, `message` is that input.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - scheme: The signature scheme.
    /// - Returns: The signature in the form that X.509 and TLS use: DER for ECDSA, the plain value otherwise.
    /// - Throws: `KeychainError`; `mechanismUnsupported` if key or token does not support `scheme`, `itemNotFound` if
    ///   the key is gone, `tokenContractViolation` if the signature is not the key's, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func sign(_ message: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        guard let digest = scheme.digest else { return try signDigest(message, using: scheme) }
        return try signDigest(digest.array(of: message), using: scheme)
    }

    /// Signs a digest that the caller has computed.
    ///
    /// If the token does not support the padding of `scheme`, Keyfob applies the padding and the token does raw RSA.
    ///
    /// - Parameters:
    ///   - digest: The digest.
    ///   - scheme: The signature scheme.
    /// - Returns: The signature in the form that X.509 and TLS use.
    /// - Throws: `KeychainError`; the errors of `sign(_:using:)`, and `invalidArgument` for a wrong length.
    @available(*, noasync, message: "use the asynchronous form")
    public func signDigest(_ digest: [UInt8], using scheme: SignatureScheme) throws -> [UInt8] {
        try keychain.withDeadline { [self] in
            if let expected = scheme.digest?.count, digest.count != expected {
                throw KeychainError(
                    .invalidArgument, "a \(scheme) signature needs a digest of \(expected) bytes, not \(digest.count).")
            }
            guard scheme.fits(publicKey.algorithm) else { throw unfit(scheme) }
            _ = try keychain.vaultKeys()
            let token = keychain.token
            func made() throws -> [UInt8] {
                if let (mechanism, input) = plain(scheme, digest),
                    let signature = try ahead.sign(input, using: mechanism, on: token)
                {
                    return try encoded(signature)
                }
                return try token.withSession(.sign) { session in
                    try sign(digest, scheme, with: token.handle(of: object, in: session), in: session)
                }
            }
            let signature = try made()
            guard try !token.keepsHandles(), try !publicKey.verify(signature, ofDigest: digest, using: scheme) else {
                return signature
            }
            // The handle now names another key. Sign again with the key's current handle.
            token.forgetHandles()
            let second = try made()
            guard try publicKey.verify(second, ofDigest: digest, using: scheme) else {
                throw disobedience(nil)
            }
            return second
        }
    }

    /// Signs a message on one of Keyfob's threads.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - scheme: The signature scheme.
    /// - Returns: The signature in the form that X.509 and TLS use.
    /// - Throws: `KeychainError`; the errors of the blocking form, and `timedOut` if the module does not return.
    public func sign(_ message: [UInt8], using scheme: SignatureScheme) async throws -> [UInt8] {
        try await ModuleWatch.run(limit: keychain.moduleLimit) { try self.sign(message, using: scheme) }
    }

    /// Starts the next signature with `scheme`, so that less work is left when it is needed.
    ///
    /// For callers that sign repeatedly, to be called when they are idle. Blocks. Does nothing on tokens that cannot
    /// report changes by other programs, and for keys that need the PIN at each use.
    package func beginNextSignature(using scheme: SignatureScheme) {
        guard !object.flags.contains(.alwaysAuthenticate), let (mechanism, _) = plain(scheme, []) else { return }
        let token = keychain.token
        ahead.begin(mechanism, on: token) { try token.handle(of: object, in: $0) }
    }

    /// The mechanism and input for a signature without padding by Keyfob; `nil` if the token is known to refuse it with
    /// this key.
    private func plain(_ scheme: SignatureScheme, _ digest: [UInt8]) -> (Mechanism, [UInt8])? {
        switch publicKey.algorithm {
        case .rsa:
            guard let (mechanism, input) = Self.mechanism(scheme, digest),
                !keychain.token.refuses(mechanism, with: object), !scheme.isPSS || !padsHere.isSet
            else { return nil }
            return (mechanism, input)
        case .ec(let curve):
            // Tokens differ in the handling of a digest that is longer than the order of the curve, so truncate it.
            return (Mechanism(.ecdsa), curve.bits.map { Array(digest.prefix(($0 + 7) / 8)) } ?? digest)
        default: return (.eddsa, digest)
        }
    }

    private func unfit(_ scheme: SignatureScheme) -> KeychainError {
        KeychainError(.mechanismUnsupported, "a key of type \(publicKey.algorithm) cannot sign with \(scheme).")
    }

    /// Converts a signature to the form that X.509 and TLS use.
    private func encoded(_ signature: [UInt8]) throws -> [UInt8] {
        guard case .ec = publicKey.algorithm else { return signature }
        // A signature of wrong length is the token's fault, not the caller's: some tokens return an empty one.
        do { return try ECDSASignature(raw: signature).der } catch { throw disobedience(error) }
    }

    /// Runs `body`, which uses a signature of this key.
    ///
    /// - Parameter body: Uses the signature.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError` with code `tokenContractViolation` if `body` finds that the signature is not the
    ///   key's; other errors of `body`.
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
                // Tokens that do not check parameters in advance refuse PSS in the middle of the operation, with
                // various errors.
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
            // If both attempts are refused, report the refusal of the scheme itself.
            throw refusal ?? error
        }
    }

    /// Runs `body` with the PIN if the token needs it at each use of this key, otherwise without.
    ///
    /// Such keys have `CKA_ALWAYS_AUTHENTICATE`, like the PIV signature key. No process sends a refused PIN again.
    ///
    /// - Parameters:
    ///   - slot: The slot of the token.
    ///   - body: Uses the key.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError` with code `pinRemembered` for a stored PIN that was refused before, `timedOut` if
    ///   another process takes too long; errors of `body`.
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
                        // Record the refusal before another thread can send the PIN.
                        if error.function == .login, error.returnValue == .pinIncorrect {
                            keychain.pinWasRefused(pin.secret)
                        }
                        throw error
                    }
                }
            }
        } catch let error as PKCS11Error where error.function == .login && Self.mayBeCounted.contains(error.returnValue)
        {
            // Throw a `KeychainError`: on a `PKCS11Error` the pool would restart the operation and send the PIN again.
            throw keychain.token.refusal(error, .login)
        }
    }

    /// Failures of a login after which the token may have counted the try.
    private static let mayBeCounted: Set<ReturnValue> = [.generalError, .functionFailed, .deviceError]

    /// The token's mechanism for an RSA scheme, and the input it expects.
    private static func mechanism(_ scheme: SignatureScheme, _ digest: [UInt8]) -> (Mechanism, [UInt8])? {
        if scheme == .rsaPKCS1Prepared { return (Mechanism(.rsaPKCS), digest) }
        guard let hash = scheme.digest, let algorithm = HashAlgorithm(hash) else { return nil }
        if scheme == .rsaPKCS1(hash) { return (Mechanism(.rsaPKCS), hash.informationPrefix + digest) }
        return scheme == .rsaPSS(hash) ? (.rsaPSS(hash: algorithm, saltLength: hash.count), digest) : nil
    }
}

extension KeychainKeys {
    /// The private key of an item, ready for use.
    ///
    /// - Parameter key: The item.
    /// - Returns: The key.
    /// - Throws: `KeychainError`; `invalidArgument` for an item that is not a private key on the token, or whose public
    ///   key is unknown; and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func tokenKey(for key: KeyItem) throws -> TokenKey {
        guard let object = key.item.object, object.objectClass == .privateKey else {
            throw KeychainError(.invalidArgument, "the item is not a private key on the token.")
        }
        return try tokenKey(object, knownPublicKey(of: key))
    }

    /// The private key of an identity.
    ///
    /// - Parameter identity: The identity.
    /// - Returns: The key.
    /// - Throws: `KeychainError`; `invalidArgument` if the identity was not found in a keychain, `identityMismatch` if
    ///   the key is of another kind than the certificate's.
    @available(*, noasync, message: "use the asynchronous form")
    public func tokenKey(for identity: Identity) throws -> TokenKey {
        guard let object = identity.item.object else {
            throw KeychainError(.invalidArgument, "the identity was not found in a keychain.")
        }
        return try tokenKey(object, identity.certificate().publicKey)
    }

    /// Checks that the key fits the public key.
    ///
    /// - Throws: `KeychainError` with code `identityMismatch` if the token reports another kind of key.
    private func tokenKey(_ object: TokenObject, _ publicKey: PublicKey) throws -> TokenKey {
        // SoftHSM accepts every key for every mechanism, and crashes on a key of the wrong kind.
        guard object.keyType?.fits(publicKey.algorithm) ?? true else {
            throw KeychainError(
                .identityMismatch,
                "the certificate was not issued for the key that token \"\(keychain.token.label)\" has for it, "
                    + "which is of another kind than \(publicKey.algorithm).",
                remedies: [Remedy("Find the key", .listKeys())])
        }
        return TokenKey(keychain: keychain, object: object, publicKey: publicKey)
    }
}
