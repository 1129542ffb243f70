/// An error of a keychain, in words that a person can act on.
///
/// Three layers report errors. `PKCS11Error` and `OpenSSLError` name the C function. This error names the operation,
/// the object and the remedies, and keeps the lower one as `cause`. Branch on `code`; print `message` and `hint`.
///
/// No description ever holds a PIN, a secret or the value of an attribute other than an item's name.
public struct KeychainError: Error, Sendable {
    /// The kind of failure; an open set, so that later versions can add codes.
    public let code: Code

    /// One sentence: what failed, and on what.
    public let message: String

    /// What to do about it; each on a line of its own.
    public let remedies: [Remedy]

    /// Facts for programs: names of keychains, tokens and files, never secrets.
    public let details: [String: String]

    /// The error of the lower layer.
    public let cause: (any Error)?

    /// Creates an error with remedies.
    public init(
        _ code: Code, _ message: String, remedies: [Remedy], details: [String: String] = [:],
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.remedies = remedies
        self.details = details
        self.cause = cause
    }

    /// Creates an error whose remedy, if any, proposes no operation.
    public init(
        _ code: Code, _ message: String, hint: String? = nil, details: [String: String] = [:], cause: (any Error)? = nil
    ) {
        self.init(code, message, remedies: hint.map { [Remedy($0)] } ?? [], details: details, cause: cause)
    }

    /// What to do about it, if anything, without the operations that `remedies` name.
    public var hint: String? { remedies.hint }

    /// The same error with other parts; `nil` keeps a part.
    package func with(
        message: String? = nil, remedies: [Remedy]? = nil, details: [String: String]? = nil,
        cause: (any Error)? = nil
    ) -> KeychainError {
        KeychainError(
            code, message ?? self.message, remedies: remedies ?? self.remedies, details: details ?? self.details,
            cause: cause ?? self.cause)
    }
}

extension KeychainError {
    /// The kinds of failure. The raw value is the stable name that `--json` prints.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The stable name, such as `item.not_found`.
        public let rawValue: String

        /// Creates a code from its stable name. Unknown names are kept.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }
    }
}

extension KeychainError.Code {
    /// No item matches, and the operation needs one.
    public static let itemNotFound = Self(rawValue: "item.not_found")
    /// An item with the same primary key exists.
    public static let duplicateItem = Self(rawValue: "item.exists")
    /// A name matches more than one item.
    public static let ambiguous = Self(rawValue: "item.ambiguous")
    /// An attribute that the item's class does not have.
    public static let noSuchAttribute = Self(rawValue: "attribute.unknown")
    /// An item class that does not exist.
    public static let noSuchClass = Self(rawValue: "class.unknown")
    /// A value of the wrong type or form: a malformed query, reference, name or option.
    public static let invalidArgument = Self(rawValue: "argument.invalid")
    /// A malformed persistent reference.
    public static let invalidReference = Self(rawValue: "reference.invalid")
    /// A secret larger than the keychain accepts.
    public static let dataTooLarge = Self(rawValue: "secret.too_large")

    /// The PIN was wrong.
    public static let pinIncorrect = Self(rawValue: "pin.incorrect")
    /// The token has blocked its PIN.
    public static let pinLocked = Self(rawValue: "pin.locked")
    /// A PIN or passphrase is needed, and it cannot be asked for.
    public static let pinRequired = Self(rawValue: "pin.required")
    /// The next wrong PIN would block the token, so none is tried.
    public static let pinFinalTry = Self(rawValue: "pin.final_try")
    /// This stored PIN has failed before, so it is not sent again.
    public static let pinRemembered = Self(rawValue: "pin.known_wrong")
    /// The keychain's passphrase was wrong.
    public static let passphraseIncorrect = Self(rawValue: "passphrase.incorrect")
    /// The keychain is locked.
    public static let locked = Self(rawValue: "keychain.locked")

    /// The token is not present.
    public static let tokenAbsent = Self(rawValue: "token.absent")
    /// More than one token matches.
    public static let tokenAmbiguous = Self(rawValue: "token.ambiguous")
    /// The PKCS#11 module cannot be loaded.
    public static let moduleNotLoaded = Self(rawValue: "module.not_loaded")
    /// The token is write-protected.
    public static let tokenReadOnly = Self(rawValue: "token.read_only")
    /// The token has no room for another object.
    public static let tokenFull = Self(rawValue: "token.full")
    /// The token does not support the operation.
    public static let mechanismUnsupported = Self(rawValue: "mechanism.unsupported")
    /// The token accepted a template and created an object that differs from it.
    public static let tokenContractViolation = Self(rawValue: "token.disobeyed")
    /// The key must not leave the token.
    public static let keyNotExtractable = Self(rawValue: "key.not_extractable")
    /// The key that seals the keychain is not on the token.
    public static let wrappingKeyMissing = Self(rawValue: "wrapping_key.missing")

    /// There is no keychain of that name.
    public static let noSuchKeychain = Self(rawValue: "keychain.not_found")
    /// A keychain of that name exists.
    public static let duplicateKeychain = Self(rawValue: "keychain.exists")
    /// No keychain has been set up yet.
    public static let notInitialized = Self(rawValue: "keychain.not_initialized")
    /// The configuration cannot be read.
    public static let invalidConfiguration = Self(rawValue: "configuration.invalid")

    /// The vault file is damaged, or a row fails its integrity check.
    ///
    /// For a row, `details` has `item`, its identity in hex, and `reference`, its persistent reference in base64.
    /// `delete(Criteria(reference))` removes the row without opening it.
    public static let vaultDamaged = Self(rawValue: "db.damaged")
    /// The vault was written by a newer version.
    public static let vaultTooNew = Self(rawValue: "db.too_new")
    /// Another process uses the vault for longer than the timeout.
    public static let vaultBusy = Self(rawValue: "db.busy")
    /// The vault or another file cannot be opened, read or written.
    public static let vaultUnavailable = Self(rawValue: "db.unavailable")

    /// A PKCS#12 file, certificate or key file is damaged.
    public static let fileDamaged = Self(rawValue: "file.damaged")
    /// A PKCS#12 file is damaged.
    public static let pkcs12Damaged = Self(rawValue: "pkcs12.damaged")
    /// The passphrase of a PKCS#12 or key file is wrong.
    public static let filePassphraseIncorrect = Self(rawValue: "pkcs12.passphrase")
    /// A PKCS#12 file was changed after it was made: it can be decrypted, but its MAC is wrong.
    public static let pkcs12Tampered = Self(rawValue: "pkcs12.tampered")
    /// A PKCS#12 file uses encryption that is not allowed here.
    public static let legacyEncryption = Self(rawValue: "pkcs12.legacy")
    /// A file format that is not supported.
    public static let unsupportedFormat = Self(rawValue: "format.unsupported")
    /// A file that other users can read, or that cannot be read at all.
    public static let unsafeFile = Self(rawValue: "file.unsafe")
    /// A file cannot be read or written.
    public static let fileUnavailable = Self(rawValue: "file.unavailable")
    /// The disk is full, or the user's quota is used up.
    public static let diskFull = Self(rawValue: "disk.full")
    /// The certificate was not issued for the key.
    public static let identityMismatch = Self(rawValue: "identity.mismatch")
    /// The certificate has expired.
    public static let certificateExpired = Self(rawValue: "cert.expired")
    /// The certificate is not valid yet.
    public static let certificateNotYetValid = Self(rawValue: "cert.not_yet_valid")
    /// No issuer certificate is known.
    public static let chainIncomplete = Self(rawValue: "cert.chain_incomplete")
    /// The certificate does not lead to a trusted one.
    public static let certificateUntrusted = Self(rawValue: "cert.untrusted")
    /// The certificate is for another host.
    public static let certificateHostMismatch = Self(rawValue: "cert.host_mismatch")
    /// The certificate, or one above it, does not allow the usage.
    public static let certificateUsageMismatch = Self(rawValue: "cert.wrong_usage")
    /// The certificate, or one above it, is invalid: for example, its signature does not verify or its issuer is not an
    /// authority.
    public static let certificateInvalid = Self(rawValue: "cert.invalid")
    /// The issuer did not issue a certificate.
    public static let issuerFailed = Self(rawValue: "issuer.failed")

    /// A wait reached its deadline.
    public static let timedOut = Self(rawValue: "timeout")
    /// Refused by a permission, a policy, or a protection that must be lifted explicitly.
    public static let refused = Self(rawValue: "refused")
    /// The user interrupted the operation.
    public static let cancelled = Self(rawValue: "cancelled")
    /// A failure without a code of its own; see `cause`.
    public static let failed = Self(rawValue: "failed")
}

extension KeychainError {
    /// The error of an operation that was asked to stop and has stopped.
    package static let stopped = KeychainError(.cancelled, "stopped.")
}

extension KeychainError: CustomStringConvertible {
    /// The message and, on lines of their own, the remedies.
    public var description: String {
        guard let hint else { return message }
        return "\(message)\n    \(hint.replacing("\n", with: "\n    "))"
    }
}
