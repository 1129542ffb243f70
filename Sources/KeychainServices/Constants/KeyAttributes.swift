public import Foundation

// MARK: Attributes of keys

/// The half of a key pair; one of the `kSecAttrKeyClass…` values. Part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrKeyClass: CFString = "kcls"
/// SHA-1 of the public key's bytes, the same for both halves; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrApplicationLabel: CFString = "klbl"
/// Bytes that the application chooses; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrApplicationTag: CFString = "atag"
/// A number; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrKeyCreator: CFString = "crtr"
/// The algorithm; one of the `kSecAttrKeyType…` values. Part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrKeyType: CFString = "type"
/// The size in bits; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = "bsiz"
/// The effective size in bits; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrEffectiveKeySize: CFString = "esiz"
/// When the key's use begins; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrStartDate: CFString = "sdat"
/// When the key's use ends; part of the primary key.
@safe nonisolated(unsafe) public let kSecAttrEndDate: CFString = "edat"
/// Whether the key is, or is to be, stored in the keychain.
@safe nonisolated(unsafe) public let kSecAttrIsPermanent: CFString = "perm"
/// Whether the key is visible only after a login.
@safe nonisolated(unsafe) public let kSecAttrIsPrivate: CFString = "priv"
/// Whether attributes may change.
@safe nonisolated(unsafe) public let kSecAttrIsModifiable: CFString = "modi"
/// Whether the key leaves its token only in wrapped form.
@safe nonisolated(unsafe) public let kSecAttrIsSensitive: CFString = "sens"
/// Whether the key has been sensitive since its creation.
@safe nonisolated(unsafe) public let kSecAttrWasAlwaysSensitive: CFString = "asen"
/// Whether the key can leave its token.
@safe nonisolated(unsafe) public let kSecAttrIsExtractable: CFString = "extr"
/// Whether the key has been unextractable since its creation.
@safe nonisolated(unsafe) public let kSecAttrWasNeverExtractable: CFString = "next"
/// Whether the key encrypts.
@safe nonisolated(unsafe) public let kSecAttrCanEncrypt: CFString = "encr"
/// Whether the key decrypts.
@safe nonisolated(unsafe) public let kSecAttrCanDecrypt: CFString = "decr"
/// Whether the key derives other keys.
@safe nonisolated(unsafe) public let kSecAttrCanDerive: CFString = "drve"
/// Whether the key signs.
@safe nonisolated(unsafe) public let kSecAttrCanSign: CFString = "sign"
/// Whether the key verifies signatures.
@safe nonisolated(unsafe) public let kSecAttrCanVerify: CFString = "vrfy"
/// Whether the key makes signatures with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanSignRecover: CFString = "snrc"
/// Whether the key verifies signatures with message recovery.
@safe nonisolated(unsafe) public let kSecAttrCanVerifyRecover: CFString = "vyrc"
/// Whether the key wraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanWrap: CFString = "wrap"
/// Whether the key unwraps other keys.
@safe nonisolated(unsafe) public let kSecAttrCanUnwrap: CFString = "unwp"

// MARK: Parameters of the generation and derivation of keys

/// A dictionary of attributes for the private half only.
@safe nonisolated(unsafe) public let kSecPrivateKeyAttrs: CFString = "private"
/// A dictionary of attributes for the public half only.
@safe nonisolated(unsafe) public let kSecPublicKeyAttrs: CFString = "public"
/// A dictionary of attributes for a symmetric key.
@safe nonisolated(unsafe) public let kSecSymmetricKeyAttrs: CFString = "symmetric"
/// The pseudo-random function of a derivation.
@safe nonisolated(unsafe) public let kSecAttrPRF: CFString = "prf"
/// The salt of a derivation.
@safe nonisolated(unsafe) public let kSecAttrSalt: CFString = "salt"
/// The number of rounds of a derivation.
@safe nonisolated(unsafe) public let kSecAttrRounds: CFString = "rounds"
/// HMAC with SHA-1.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA1: CFString = "hsha1"
/// HMAC with SHA-224.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA224: CFString = "hsha224"
/// HMAC with SHA-256.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA256: CFString = "hsha256"
/// HMAC with SHA-384.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA384: CFString = "hsha384"
/// HMAC with SHA-512.
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA512: CFString = "hsha512"

// MARK: Values of kSecAttrKeyClass; given as strings, returned as numbers

/// The public half.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPublic: CFString = "0"
/// The private half.
@safe nonisolated(unsafe) public let kSecAttrKeyClassPrivate: CFString = "1"
/// A symmetric key.
@safe nonisolated(unsafe) public let kSecAttrKeyClassSymmetric: CFString = "2"

// MARK: Values of kSecAttrKeyType; given as strings, returned as numbers

/// RSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = "42"
/// An elliptic curve of NIST: P-256, P-384 or P-521.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEC: CFString = "73"
/// The later name of `kSecAttrKeyTypeEC`.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// An elliptic-curve key of Apple's accelerator.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandomPKA: CFString = "2147483678"
/// An attestation key of the Secure Enclave.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAttestation: CFString = "2147483679"
/// An anonymous attestation key of the Secure Enclave.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeSecureEnclaveAnonymousAttestation: CFString = "2147483680"
/// Ed25519, RFC 8032.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd25519: CFString = "105"
/// X25519, RFC 7748.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX25519: CFString = "106"
/// Ed448, RFC 8032.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEd448: CFString = "107"
/// X448, RFC 7748.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeX448: CFString = "108"
/// Kyber.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeKyber: CFString = "109"
/// ML-KEM, FIPS 203; sizes 768 and 1024.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLKEM: CFString = "110"
/// ML-DSA, FIPS 204; sizes 65 and 87.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeMLDSA: CFString = "111"
/// DSA.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDSA: CFString = "43"
/// AES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeAES: CFString = "2147483649"
/// DES.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDES: CFString = "14"
/// Triple DES.
@safe nonisolated(unsafe) public let kSecAttrKeyType3DES: CFString = "17"
/// RC2.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC2: CFString = "23"
/// RC4.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC4: CFString = "25"
/// CAST.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeCAST: CFString = "56"
/// The older name of `kSecAttrKeyTypeEC`.
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECDSA: CFString = "73"
