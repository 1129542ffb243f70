import Foundation
public import KeyfobPrimitives
import KeyfobOpenSSL

/// A PIN sealed under a passphrase: scrypt (RFC 7914), then AES-256-GCM.
///
/// The keychain and the purpose are additional data. So a seal cannot be opened after it was moved to another keychain,
/// or from the recovery slot to the passphrase slot. Its `Codable` form is a record with base64 members, and needs no
/// more secrecy than the strength of the passphrase demands.
public struct PassphraseSeal: Sendable, Hashable, Codable {
    /// The purpose of a seal. Extensible, so that later versions can add purposes.
    public struct Purpose: RawRepresentable, Hashable, Sendable {
        /// The name that is bound to the seal.
        public let rawValue: String

        /// Creates a purpose from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Sealed under the passphrase that a person types.
        public static let passphrase = Self(rawValue: "passphrase")
        /// Sealed under a `RecoveryCode`.
        public static let recovery = Self(rawValue: "recovery")
    }

    /// The cost of deriving a key from a passphrase: the parameters of scrypt.
    struct Cost {
        let n: Int
        let r: Int
        let p: Int

        /// The cost of new seals: about 0.1 s and 32 MiB.
        static let present = Cost(n: 1 << 15, r: 8, p: 1)

        /// Derives the AES-256 key of a passphrase. Blocks.
        ///
        /// - Throws: `CryptoError`, `OpenSSLError`.
        func key(of passphrase: SecretBytes, salt: [UInt8]) throws -> SecretBytes {
            try Scrypt.derive(passphrase: passphrase, salt: salt, n: n, r: r, p: p, count: 32)
        }
    }

    private let kdf: String
    private let n: Int
    private let r: Int
    private let p: Int
    private let salt: Data
    private let nonce: Data
    private let ciphertext: Data
    private let tag: Data

    /// The maximum length of a sealed secret, in bytes.
    public static let maximumLength = 4096

    /// The maximum memory for opening a seal, regardless of its parameters: 256 MiB.
    static let memoryLimit = 256 << 20

    /// Seals a secret. Blocks for about 0.1 s and uses 32 MiB, which makes guessing expensive.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - passphrase: The passphrase.
    ///   - keychain: The UUID of the keychain.
    ///   - purpose: The purpose of the seal.
    /// - Throws: `KeychainError` with code `invalidArgument` for an empty passphrase or a secret of more than
    ///   `maximumLength` bytes.
    public init(
        _ secret: SecretBytes, under passphrase: SecretBytes, keychain: String, purpose: Purpose
    ) throws(KeychainError) {
        guard !passphrase.isEmpty else { throw KeychainError(.invalidArgument, "a passphrase may not be empty.") }
        guard secret.count <= Self.maximumLength else {
            throw KeychainError(.invalidArgument, "a PIN of more than \(Self.maximumLength) bytes cannot be sealed.")
        }
        kdf = "scrypt"
        let cost = Cost.present
        (n, r, p) = (cost.n, cost.r, cost.p)
        let salt = try KeychainError.wrapping("cannot make random bytes.") { try RandomBytes.bytes(count: 16) }
        let nonce = try KeychainError.wrapping("cannot make random bytes.") {
            try RandomBytes.bytes(count: AESGCM.nonceCount)
        }
        let data = Self.additionalData(keychain, purpose, n: n, r: r, p: p)
        let sealed = try KeychainError.wrapping("cannot seal the PIN.") {
            try AESGCM.seal(secret, key: cost.key(of: passphrase, salt: salt), nonce: nonce, additionalData: data)
        }
        self.salt = Data(salt)
        self.nonce = Data(nonce)
        ciphertext = Data(sealed.ciphertext)
        tag = Data(sealed.tag)
    }

    /// Reads the `Codable` form from a configuration; `nil` if a member is missing or has the wrong type.
    init?(_ value: JSONText) {
        func data(_ name: String) -> Data? { value[name]?.text.flatMap { Data(base64Encoded: $0) } }
        guard let kdf = value["kdf"]?.text, let n = value["n"]?.integer, let r = value["r"]?.integer,
            let p = value["p"]?.integer, let salt = data("salt"), let nonce = data("nonce"),
            let ciphertext = data("ciphertext"), let tag = data("tag")
        else { return nil }
        self.kdf = kdf
        (self.n, self.r, self.p) = (n, r, p)
        (self.salt, self.nonce, self.ciphertext, self.tag) = (salt, nonce, ciphertext, tag)
    }

    /// Opens the seal. Blocks for about as long as sealing.
    ///
    /// - Parameters:
    ///   - passphrase: The passphrase.
    ///   - keychain: The UUID of the keychain.
    ///   - purpose: The purpose of the seal.
    /// - Returns: The secret.
    /// - Throws: `KeychainError` with code `passphraseIncorrect` if the passphrase is wrong or the seal was made for
    ///   another keychain or purpose, which authenticated encryption cannot distinguish; `fileDamaged` if the
    ///   parameters are outside the range that this version accepts.
    public func open(
        with passphrase: SecretBytes, keychain: String, purpose: Purpose
    ) throws(KeychainError) -> SecretBytes {
        guard kdf == "scrypt", n >= 1 << 10, n <= 1 << 20, n & (n - 1) == 0, (1...32).contains(r), (1...16).contains(p),
            128 * n * r <= Self.memoryLimit, (16...64).contains(salt.count), nonce.count == AESGCM.nonceCount,
            tag.count == AESGCM.tagCount, ciphertext.count <= Self.maximumLength
        else {
            throw KeychainError(
                .fileDamaged, "the sealed PIN of the keychain is damaged: its parameters are out of range.",
                hint: "Restore the keychain's configuration from a backup. The passphrase was not checked.")
        }
        let data = Self.additionalData(keychain, purpose, n: n, r: r, p: p)
        do {
            let key = try Cost(n: n, r: r, p: p).key(of: passphrase, salt: Array(salt))
            return try AESGCM.open(
                ciphertext: Array(ciphertext), tag: Array(tag), nonce: Array(nonce), additionalData: data, key: key)
        } catch let error as CryptoError where error.code == .authenticationFailed {
            throw KeychainError(
                .passphraseIncorrect,
                purpose == .recovery
                    ? "this recovery code is not the keychain's." : "wrong passphrase for the keychain.",
                hint: "You can try again; there is no limit.")
        } catch {
            throw KeychainError(.failed, "the sealed PIN cannot be opened.", cause: error)
        }
    }

    private static func additionalData(_ keychain: String, _ purpose: Purpose, n: Int, r: Int, p: Int) -> [UInt8] {
        Array("keyfob-seal-1\0\(keychain)\0\(purpose.rawValue)\0scrypt\0\(n)\0\(r)\0\(p)".utf8)
    }
}
