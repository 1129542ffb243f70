extension Remedy {
    /// An operation on a keychain that a remedy proposes.
    ///
    /// A name is as the user gave it, not quoted; `nil` is a name or a file that the user has to choose. An operation
    /// without the name of a keychain concerns the keychain of the error.
    public enum Operation: Sendable, Hashable {
        /// Repeat the failed operation with another setting.
        case change(Setting)

        /// Create the first keychain.
        case createKeychain
        /// List the keychains.
        case listKeychains
        /// Choose the keychain that is used if none is named.
        case setDefaultKeychain
        /// Look for damage. Without a name, the keychain of the error.
        case checkKeychain(String? = nil, Check = .quick)
        /// Remove a keychain.
        case removeKeychain(String, lacking: Part? = nil)
        /// Unlock a keychain. Without a name, the keychain of the error.
        case unlock(keychain: String? = nil, Unlocking = .usual)
        /// Use another token for a keychain, to which its wrapping key was moved, or whose label changed.
        case repointKeychain(String?, token: String?)

        /// List the tokens.
        case listTokens
        /// List the objects on a token. Without a label, the token of the error's keychain.
        case listObjects(token: String? = nil)
        /// List what a token can do.
        case listMechanisms
        /// Give a keychain a passphrase, or another one.
        case setPassphrase(keychain: String)
        /// Change the PIN of a token.
        case changePIN(token: String)
        /// Set the PIN of a token that has none.
        case setPIN(token: String)
        /// Set a new PIN for a token whose PIN is blocked.
        case unblockPIN(token: String)
        /// Make a token anew, which destroys its objects.
        case initializeToken(String)
        /// Make a key on the token.
        case generateKey

        /// List the passwords.
        case listItems

        /// List the keys, or find the one whose public key has a fingerprint, such as `sha256:77be`.
        case listKeys(fingerprint: String? = nil)
        /// Destroy a key.
        case removeKey(String)

        /// List the identities.
        case listIdentities
        /// Show an identity.
        case showIdentity(String)
        /// Import a key and its certificate in place of an identity.
        case replaceIdentity(String?)
        /// Give an identity, or a key, a new certificate.
        case installCertificate(identity: String?)
        /// Renew an identity.
        case renewIdentity(String, [Renewal] = [])
        /// Put an older version of an identity back into use.
        case useIdentity(String)
        /// Destroy the older versions of an identity.
        case retireIdentity(String)
        /// Destroy an identity.
        case removeIdentity(String?)
        /// Get the URI under which other programs use a key.
        case showURI(String?)

        /// List the certificates.
        case listCertificates
        /// Show a certificate.
        case showCertificate(String)
        /// Import a certificate.
        case importCertificate
        /// Remove a certificate.
        case removeCertificate(String?)
        /// Show the chain of a certificate.
        case showChain(String)
        /// Fetch the missing certificates of a chain.
        case fetchChain(String?)
        /// Export a certificate and those above it.
        case exportChain(String)
        /// Trust a certificate for usages; for all if there are none.
        case trust(String?, usages: [String] = [], isForUser: Bool = false)
        /// Take the trust in a certificate back.
        case distrust(String)
    }

    /// How to unlock a keychain.
    public enum Unlocking: Sendable, Hashable {
        /// With the PIN source that applies.
        case usual
        /// With a PIN that the user types.
        case typing
        /// Lock it first.
        case anew
    }

    /// What a check of a keychain does.
    public enum Check: Sendable, Hashable {
        /// It reads what can be read without decrypting secrets.
        case quick
        /// It decrypts the secrets too.
        case secrets
        /// It removes damaged items.
        case removingDamage
    }

    /// A part of a keychain that is missing.
    public enum Part: Sendable, Hashable { case token, vault }

    /// How a renewal differs from the usual one.
    public enum Renewal: Sendable, Hashable {
        /// Before it is due.
        case early
        /// With a new key of the same kind.
        case newKey
        /// With a new RSA key.
        case rsaKey
        /// Signed by the identity itself.
        case selfSigned
        /// By an issuer that the user names.
        case namedIssuer
    }

    /// A setting of an operation.
    public enum Setting: Sendable, Hashable {
        /// More time.
        case timeout
        /// The source of the PIN.
        case pinSource
        /// The source of a new PIN.
        case newPINSource
        /// The source of the security officer's PIN (PUK).
        case securityOfficerPINSource
        /// The source of a file's passphrase.
        case passphraseSource
        /// No source of a passphrase.
        case noPassphrase
        /// Accept a short passphrase.
        case weakPassphrase
        /// A file that others can read may be used.
        case insecureFile
        /// The encryption of old PKCS#12 files may be used.
        case legacyEncryption

        /// The keychain.
        case keychain
        /// The token.
        case token
        /// The module.
        case module
        /// The parameters of the module, such as `"configdir='sql:DIRECTORY'"`.
        case moduleParameters(String)
        /// The key on the token that seals a new keychain.
        case wrappingKey
        /// A new keychain takes no passwords.
        case noPasswords
        /// The last try of a PIN may be used.
        case finalTry
        /// Another name for what is made.
        case name
        /// What exists may be replaced.
        case replacing
        /// What exists may stay.
        case keeping
        /// A file that exists may be replaced.
        case overwriting
        /// A protected item may be removed.
        case unprotecting

        /// The issuer of a certificate, in the form of `IssuerDescription`.
        case issuer(String)
        /// The host names and addresses of a certificate.
        case alternativeNames
        /// Grant a request the certificate of an authority.
        case authority
        /// Choose the usages of a certificate.
        case usage
        /// No common name in a certificate.
        case noCommonName
        /// The roots of a private ACME server.
        case authorityFile
        /// The kind of certificate, by the name that the authority gives it.
        case profile
        /// The terms of service of an ACME server are accepted.
        case terms
        /// The external account and the source of its key.
        case externalAccount
        /// The source of the key of the external account.
        case externalAccountKeySource
        /// ACME challenges are answered by HTTP.
        case httpChallenge
        /// ACME challenges are answered by a web server that already runs.
        case webRoot
        /// ACME challenges are answered by DNS.
        case dnsChallenge
    }
}
