import CP11Kit

/// A mechanism with its parameters, ready for an operation.
///
/// Corresponds to `CK_MECHANISM`.
public struct Mechanism: Hashable, Sendable, CustomStringConvertible {
    /// The type of the mechanism.
    public let type: MechanismType

    /// The parameters.
    public let parameters: MechanismParameters

    /// Creates a mechanism, by default without parameters.
    public init(_ type: MechanismType, parameters: MechanismParameters = .none) {
        self.type = type
        self.parameters = parameters
    }

    /// The mechanism's name only, because parameters may be as private as the data.
    public var description: String { type.name }

    /// EdDSA over the message itself. Corresponds to `CKM_EDDSA`.
    public static let eddsa = Mechanism(.eddsa)

    /// RSA-PSS, with a mask by the same hash, as SoftHSM and tpm2 require.
    ///
    /// Corresponds to `CKM_RSA_PKCS_PSS` over a digest by `hash`, or to the mechanism given as `type`.
    ///
    /// - Parameter saltLength: The length of the salt in bytes; if `nil`, that of the digest, the only one that tpm2
    ///   accepts.
    public static func rsaPSS(
        hash: HashAlgorithm, saltLength: Int? = nil, type: MechanismType = .rsaPSS
    ) -> Mechanism {
        Mechanism(type, parameters: .rsaPSS(
            hash: hash, maskHash: hash, saltLength: saltLength ?? hash.digestLength))
    }

    /// RSA-OAEP, with a mask by the same hash. SoftHSM only supports SHA-1 without a label.
    ///
    /// Corresponds to `CKM_RSA_PKCS_OAEP`.
    public static func rsaOAEP(hash: HashAlgorithm, label: [UInt8] = []) -> Mechanism {
        Mechanism(.rsaOAEP, parameters: .rsaOAEP(hash: hash, maskHash: hash, label: label))
    }

    /// AES in Galois/Counter mode.
    ///
    /// Corresponds to `CKM_AES_GCM`.
    ///
    /// > Important: Tokens do not detect that an initialisation vector is used twice with a key. That reveals both
    /// > plaintexts and allows forgeries.
    public static func aesGCM(iv: [UInt8], additionalData: [UInt8] = [], tagBits: Int = 128) -> Mechanism {
        Mechanism(.aesGCM, parameters: .gcm(iv: iv, additionalData: additionalData, tagBits: tagBits))
    }

    /// AES in cipher block chaining, whole blocks only. Corresponds to `CKM_AES_CBC`.
    public static func aesCBC(iv: [UInt8]) -> Mechanism {
        Mechanism(.aesCBC, parameters: .bytes(iv))
    }

    /// AES in cipher block chaining with PKCS #7 padding. Corresponds to `CKM_AES_CBC_PAD`.
    public static func aesCBCPad(iv: [UInt8]) -> Mechanism {
        Mechanism(.aesCBCPad, parameters: .bytes(iv))
    }

    /// AES in counter mode. Corresponds to `CKM_AES_CTR`.
    public static func aesCTR(block: [UInt8], counterBits: Int = 128) -> Mechanism {
        Mechanism(.aesCTR, parameters: .ctr(counterBits: counterBits, block: block))
    }

    /// Elliptic-curve Diffie-Hellman with a peer's public point.
    ///
    /// Corresponds to `CKM_ECDH1_DERIVE`.
    public static func ecdh1Derive(
        peerPoint: ECPoint, kdf: KeyDerivationFunction = .null, sharedData: [UInt8] = []
    ) -> Mechanism {
        // The raw form: the specification's, and accepted by every token that can derive keys.
        Mechanism(
            .ecdh1Derive, parameters: .ecdh1Derive(kdf: kdf, sharedData: sharedData, peerPoint: peerPoint.rawBytes))
    }
}

extension Mechanism {
    /// Calls `body` with the C structure, which is valid only during the call.
    ///
    /// Allocates nothing for a mechanism without parameters, since every signature passes through here.
    @inline(__always)
    func withCMechanism<Result>(
        _ body: (UnsafeMutablePointer<CK_MECHANISM>) throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        try unsafe parameters.withCParameters { (pointer, count) throws(PKCS11Error) -> Result in
            var mechanism = unsafe CK_MECHANISM(mechanism: type.rawValue, pParameter: pointer, ulParameterLen: count)
            return try unsafe body(&mechanism)
        }
    }
}
