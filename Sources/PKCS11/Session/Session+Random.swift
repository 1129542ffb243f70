import CP11Kit
public import KeyfobPrimitives

/// Random numbers of the token.
extension Session {
    /// Generates `count` random bytes.
    ///
    /// Corresponds to `C_GenerateRandom`.
    ///
    /// - Throws: `ReturnValue.randomNoRNG` if the token has no random number generator, `generalError` from cards
    ///   without a challenge.
    public func random(count: Int) throws(PKCS11Error) -> [UInt8] {
        let generateRandom = try unsafe functions.entry(functions.table.pointee.C_GenerateRandom, .generateRandom)
        var bytes = [UInt8](repeating: 0, count: count)
        try call(.generateRandom) {
            unsafe bytes.withUnsafeMutableBufferPointer { buffer in
                unsafe generateRandom(handle, buffer.baseAddress, CK_ULONG(buffer.count))
            }
        }
        return bytes
    }

    /// Generates `count` random bytes in memory that is wiped on release.
    ///
    /// Corresponds to `C_GenerateRandom`.
    ///
    /// - Throws: `ReturnValue.randomNoRNG` if the token has no random number generator, `generalError` from cards
    ///   without a challenge.
    public func randomSecret(count: Int) throws(PKCS11Error) -> SecretBytes {
        let generateRandom = try unsafe functions.entry(functions.table.pointee.C_GenerateRandom, .generateRandom)
        return try unsafe SecretBytes(count: count) { (buffer) throws(PKCS11Error) in
            try call(.generateRandom) { unsafe generateRandom(handle, buffer.baseAddress, CK_ULONG(buffer.count)) }
        }
    }

    /// Mixes `seed` into the token's random number generator.
    ///
    /// Corresponds to `C_SeedRandom`.
    ///
    /// - Throws: `ReturnValue.randomSeedNotSupported` if the token does not accept a seed.
    public func seedRandom(_ seed: [UInt8]) throws(PKCS11Error) {
        let seedRandom = try unsafe functions.entry(functions.table.pointee.C_SeedRandom, .seedRandom)
        try call(.seedRandom) {
            unsafe seed.withUnsafeBufferPointer { unsafe seedRandom(handle, $0.mutableBytes, CK_ULONG($0.count)) }
        }
    }
}
