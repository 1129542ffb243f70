import CP11Kit

/// The parameters of a mechanism.
///
/// The values are copied for each call, so that a token that writes into them does not change the original.
public struct MechanismParameters: Hashable, Sendable {
    /// The known layouts. Private, so that adding one does not break a `switch` in other code.
    private enum Layout: Hashable {
        case none
        case bytes([UInt8])
        case pss(hash: UInt, mask: UInt, saltLength: Int)
        case oaep(hash: UInt, mask: UInt, label: [UInt8])
        case gcm(iv: [UInt8], additionalData: [UInt8], tagBits: Int)
        case ctr(counterBits: Int, block: [UInt8])
        case ecdh(kdf: KeyDerivationFunction, sharedData: [UInt8], peerPoint: [UInt8])
    }

    private let layout: Layout

    /// No parameters.
    public static let none = MechanismParameters(layout: .none)

    /// Bytes passed on as they are: the initialisation vector of CBC and of AES key wrap.
    public static func bytes(_ bytes: [UInt8]) -> MechanismParameters {
        MechanismParameters(layout: .bytes(bytes))
    }

    /// Stands for `CK_RSA_PKCS_PSS_PARAMS`.
    ///
    /// - Parameter saltLength: The length of the salt in bytes.
    public static func rsaPSS(
        hash: HashAlgorithm, maskHash: HashAlgorithm, saltLength: Int
    ) -> MechanismParameters {
        precondition(saltLength >= 0, "a salt has no negative length")
        return MechanismParameters(layout: .pss(
            hash: hash.mechanismType.rawValue, mask: maskHash.maskGenerationFunction, saltLength: saltLength))
    }

    /// Stands for `CK_RSA_PKCS_OAEP_PARAMS`. The source is `CKZ_DATA_SPECIFIED` even without a label, because SoftHSM
    /// rejects zero there.
    public static func rsaOAEP(
        hash: HashAlgorithm, maskHash: HashAlgorithm, label: [UInt8]
    ) -> MechanismParameters {
        MechanismParameters(layout: .oaep(
            hash: hash.mechanismType.rawValue, mask: maskHash.maskGenerationFunction, label: label))
    }

    /// Stands for `CK_GCM_PARAMS` of Cryptoki 2.40. Its `ulIvBits` is filled in, because NSS requires it.
    public static func gcm(iv: [UInt8], additionalData: [UInt8], tagBits: Int) -> MechanismParameters {
        precondition((0...128).contains(tagBits), "a GCM tag has at most 128 bits")
        return MechanismParameters(layout: .gcm(iv: iv, additionalData: additionalData, tagBits: tagBits))
    }

    /// Stands for `CK_AES_CTR_PARAMS`.
    ///
    /// - Parameters:
    ///   - counterBits: The number of low bits of the block that count.
    ///   - block: The first counter block, 16 bytes.
    public static func ctr(counterBits: Int, block: [UInt8]) -> MechanismParameters {
        precondition(block.count == 16 && (1...128).contains(counterBits), "a counter block has 16 bytes")
        return MechanismParameters(layout: .ctr(counterBits: counterBits, block: block))
    }

    /// Stands for `CK_ECDH1_DERIVE_PARAMS`.
    public static func ecdh1Derive(
        kdf: KeyDerivationFunction, sharedData: [UInt8], peerPoint: [UInt8]
    ) -> MechanismParameters {
        MechanismParameters(layout: .ecdh(kdf: kdf, sharedData: sharedData, peerPoint: peerPoint))
    }
}

extension MechanismParameters {
    /// Calls `body` with the parameters in the layout of C, valid only during the call. Without parameters, passes
    /// `nil` and 0 and allocates nothing.
    @inline(__always)
    func withCParameters<Result>(
        _ body: (UnsafeMutableRawPointer?, UInt) throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        if case .none = layout { return try body(nil, 0) }
        return try unsafe withCStructure(body)
    }

    private func withCStructure<Result>(
        _ body: (UnsafeMutableRawPointer?, UInt) throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        switch layout {
        case .none:
            return try body(nil, 0)
        case .bytes(let bytes):
            return try unsafe Self.withCopy(of: bytes, body)
        case .pss(let hash, let mask, let saltLength):
            var parameters = CK_RSA_PKCS_PSS_PARAMS()
            parameters.hashAlg = hash
            parameters.mgf = mask
            parameters.sLen = UInt(saltLength)
            return try unsafe Self.withPointer(to: &parameters, body)
        case .oaep(let hash, let mask, let label):
            return try unsafe Self.withCopy(of: label) { (pointer, count) throws(PKCS11Error) -> Result in
                var parameters = unsafe CK_RSA_PKCS_OAEP_PARAMS()
                unsafe parameters.hashAlg = hash
                unsafe parameters.mgf = mask
                unsafe parameters.source = CKZ_DATA_SPECIFIED
                unsafe parameters.pSourceData = pointer
                unsafe parameters.ulSourceDataLen = count
                return try unsafe Self.withPointer(to: &parameters, body)
            }
        case .gcm(let iv, let additionalData, let tagBits):
            return try unsafe Self.withCopy(of: iv) { (ivPointer, ivCount) throws(PKCS11Error) -> Result in
                try unsafe Self.withCopy(of: additionalData) { (pointer, count) throws(PKCS11Error) -> Result in
                    var parameters = unsafe CK_GCM_PARAMS()
                    unsafe parameters.pIv = ivPointer?.assumingMemoryBound(to: UInt8.self)
                    unsafe parameters.ulIvLen = ivCount
                    unsafe parameters.ulIvBits = ivCount * 8
                    unsafe parameters.pAAD = pointer?.assumingMemoryBound(to: UInt8.self)
                    unsafe parameters.ulAADLen = count
                    unsafe parameters.ulTagBits = UInt(tagBits)
                    return try unsafe Self.withPointer(to: &parameters, body)
                }
            }
        case .ctr(let counterBits, let block):
            var parameters = CK_AES_CTR_PARAMS()
            parameters.ulCounterBits = UInt(counterBits)
            unsafe withUnsafeMutableBytes(of: &parameters.cb) { unsafe $0.copyBytes(from: block) }
            return try unsafe Self.withPointer(to: &parameters, body)
        case .ecdh(let kdf, let sharedData, let peerPoint):
            return try unsafe Self.withCopy(of: sharedData) { (shared, sharedCount) throws(PKCS11Error) -> Result in
                try unsafe Self.withCopy(of: peerPoint) { (point, pointCount) throws(PKCS11Error) -> Result in
                    var parameters = unsafe CK_ECDH1_DERIVE_PARAMS()
                    unsafe parameters.kdf = kdf.rawValue
                    unsafe parameters.ulSharedDataLen = sharedCount
                    unsafe parameters.pSharedData = shared?.assumingMemoryBound(to: UInt8.self)
                    unsafe parameters.ulPublicDataLen = pointCount
                    unsafe parameters.pPublicData = point?.assumingMemoryBound(to: UInt8.self)
                    return try unsafe Self.withPointer(to: &parameters, body)
                }
            }
        }
    }

    /// Copies the bytes into memory that C may write to; `nil` for no bytes, as the specification requires.
    private static func withCopy<Result>(
        of bytes: [UInt8], _ body: (UnsafeMutableRawPointer?, UInt) throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        if bytes.isEmpty { return try body(nil, 0) }
        var copy = bytes
        return try unsafe copy.withUnsafeMutableBufferPointer { (buffer) throws(PKCS11Error) -> Result in
            try unsafe body(UnsafeMutableRawPointer(buffer.baseAddress), UInt(buffer.count))
        }
    }

    private static func withPointer<Structure, Result>(
        to structure: inout Structure, _ body: (UnsafeMutableRawPointer?, UInt) throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        try unsafe withUnsafeMutablePointer(to: &structure) { (pointer) throws(PKCS11Error) -> Result in
            try unsafe body(UnsafeMutableRawPointer(pointer), UInt(MemoryLayout<Structure>.size))
        }
    }
}

/// The function that turns the shared point of a key agreement into key bytes: `CKD_*`.
public struct KeyDerivationFunction: RawRepresentable, Hashable, Sendable {
    /// The number in the C interface.
    public let rawValue: UInt

    /// Wraps a number, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The x coordinate as it is; the only function that SoftHSM supports. Corresponds to `CKD_NULL`.
    public static let null = KeyDerivationFunction(rawValue: CKD_NULL)
    /// ANSI X9.63 with SHA-1. Corresponds to `CKD_SHA1_KDF`.
    public static let sha1 = KeyDerivationFunction(rawValue: CKD_SHA1_KDF)
    /// ANSI X9.63 with SHA-256. Corresponds to `CKD_SHA256_KDF`.
    public static let sha256 = KeyDerivationFunction(rawValue: CKD_SHA256_KDF)
    /// ANSI X9.63 with SHA-384. Corresponds to `CKD_SHA384_KDF`.
    public static let sha384 = KeyDerivationFunction(rawValue: CKD_SHA384_KDF)
    /// ANSI X9.63 with SHA-512. Corresponds to `CKD_SHA512_KDF`.
    public static let sha512 = KeyDerivationFunction(rawValue: CKD_SHA512_KDF)
}
