import Foundation
public import KeyfobPrimitives
import KeyfobOpenSSL

/// A PIN sealed under a passphrase: scrypt (RFC 7914), then AES-256-GCM.
///
/// The keychain and the purpose are additional data, so that a seal that is moved to another keychain,
/// or from the recovery slot to the passphrase slot, does not open. As `Codable` it is a record with
/// base64 members; it holds nothing that must be kept secret beyond what the passphrase is worth.
public struct PassphraseSeal: Sendable, Hashable, Codable {
    /// What a seal is for; open, so that later versions can add purposes.
    public struct Purpose: RawRepresentable, Hashable, Sendable {
        /// The name that is bound into the seal.
        public let rawValue: String

        /// A purpose by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Under the passphrase that a person types.
        public static let passphrase = Self(rawValue: "passphrase")
        /// Under a `RecoveryCode`.
        public static let recovery = Self(rawValue: "recovery")
    }

    /// What making a key of a passphrase costs: scrypt's parameters.
    struct Cost {
        let n: Int
        let r: Int
        let p: Int

        /// What everything is sealed with now: about 0.1 s and 32 MiB.
        static let present = Cost(n: 1 << 15, r: 8, p: 1)

        /// The AES-256 key of a passphrase. Blocks. - Throws: `CryptoError`, `OpenSSLError`.
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

    /// The most bytes that a seal holds.
    public static let maximumLength = 4096

    /// The most memory that opening a seal may take, whatever its file says: 256 MiB.
    static let memoryLimit = 256 << 20

    /// Seals `secret`. Blocks for about 0.1 s and takes 32 MiB, which is what makes guessing costly.
    ///
    /// - Throws: `invalidArgument` for an empty passphrase or a secret of more than `maximumLength` bytes.
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

    /// The seal in a configuration's text, as `Codable` writes it; `nil` where a member is missing or of another kind.
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

    /// Opens the seal. Blocks as sealing does.
    ///
    /// - Throws: `passphraseIncorrect` when the passphrase is wrong or the seal was made for another
    ///   keychain or purpose, which authenticated encryption cannot tell apart; `fileDamaged` when the
    ///   parameters are not ones that this version ever writes or would dare to follow.
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
