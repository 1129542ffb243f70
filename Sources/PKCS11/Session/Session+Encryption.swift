import CP11Kit
public import KeyfobPrimitives

/// Encryption and decryption in one part.
extension Session {
    /// Encrypts `data`. With GCM the tag follows the ciphertext.
    ///
    /// Corresponds to `C_EncryptInit` and `C_Encrypt`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid` if the token lacks the mechanism, `argumentsBad` or
    ///   `mechanismParameterInvalid` if it lacks that variant (SoftHSM: OAEP with SHA-256), `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`, `dataLengthRange`.
    public func encrypt(
        _ data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> [UInt8] {
        let operation = try encryption(key)
        return try unsafe data.withUnsafeBufferPointer { (data) throws(PKCS11Error) in
            try unsafe run(
                operation, on: data.mutableBytes, count: data.count, using: mechanism,
                capacity: Self.encryptedCapacity(data.count))
        }
    }

    /// Encrypts a secret without copying it out of its protected memory.
    ///
    /// Corresponds to `C_EncryptInit` and `C_Encrypt`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid` if the token lacks the mechanism, `argumentsBad` or
    ///   `mechanismParameterInvalid` if it lacks that variant (SoftHSM: OAEP with SHA-256), `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`, `dataLengthRange`.
    public func encryptSecret(
        _ secret: SecretBytes, with key: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> [UInt8] {
        let operation = try encryption(key)
        return try unsafe secret.withUnsafeBytes { (secret) throws(PKCS11Error) in
            try unsafe run(
                operation, on: secret.mutableBytes, count: secret.count, using: mechanism,
                capacity: Self.encryptedCapacity(secret.count))
        }
    }

    /// Decrypts `data`. With GCM the tag follows the ciphertext.
    ///
    /// Corresponds to `C_DecryptInit` and `C_Decrypt`.
    ///
    /// - Parameter pin: The PIN for this use, if the key is `alwaysAuthenticate`.
    /// - Throws: `ReturnValue.encryptedDataInvalid`, `aeadDecryptFailed` or, from SoftHSM, `generalError` if the data,
    ///   the tag or the additional data were changed; `mechanismInvalid` if the token lacks the mechanism,
    ///   `argumentsBad` or `mechanismParameterInvalid` if it lacks that variant, `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`; `pinIncorrect` for a wrong `pin`.
    public func decrypt(
        _ data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism, authenticatingWith pin: SecretBytes? = nil
    ) throws(PKCS11Error) -> [UInt8] {
        let operation = try decryption(key, pin)
        return try unsafe data.withUnsafeBufferPointer { (data) throws(PKCS11Error) in
            try unsafe run(
                operation, on: data.mutableBytes, count: data.count, using: mechanism,
                capacity: Self.decryptedCapacity(data.count))
        }
    }

    /// Decrypts `data` into memory that is wiped on release. With GCM the tag follows the ciphertext.
    ///
    /// Corresponds to `C_DecryptInit` and `C_Decrypt`.
    ///
    /// - Parameter pin: The PIN for this use, if the key is `alwaysAuthenticate`.
    /// - Throws: `ReturnValue.encryptedDataInvalid`, `aeadDecryptFailed` or, from SoftHSM, `generalError` if the data,
    ///   the tag or the additional data were changed; `mechanismInvalid` if the token lacks the mechanism,
    ///   `argumentsBad` or `mechanismParameterInvalid` if it lacks that variant, `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`; `pinIncorrect` for a wrong `pin`.
    public func decryptSecret(
        _ data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism, authenticatingWith pin: SecretBytes? = nil
    ) throws(PKCS11Error) -> SecretBytes {
        let operation = try decryption(key, pin)
        return try unsafe data.withUnsafeBufferPointer { (data) throws(PKCS11Error) in
            try unsafe runSecret(
                operation, on: data.mutableBytes, count: data.count, using: mechanism,
                capacity: Self.decryptedCapacity(data.count))
        }
    }

    /// Room for a tag, a block of padding or, for short data, the modulus of an RSA key.
    private static func encryptedCapacity(_ count: Int) -> Int { max(stackBytes, count + 64) }

    /// SoftHSM rejects a buffer that is smaller than the ciphertext, even if the plaintext would fit.
    private static func decryptedCapacity(_ count: Int) -> Int { max(64, count) }

    private func encryption(_ key: ObjectHandle) throws(PKCS11Error) -> Operation {
        unsafe Operation(
            initializeName: .encryptInit,
            initialize: try unsafe functions.entry(functions.table.pointee.C_EncryptInit, .encryptInit),
            transformName: .encrypt,
            transform: try unsafe functions.entry(functions.table.pointee.C_Encrypt, .encrypt),
            key: key, contextPIN: nil)
    }

    private func decryption(_ key: ObjectHandle, _ pin: SecretBytes?) throws(PKCS11Error) -> Operation {
        unsafe Operation(
            initializeName: .decryptInit,
            initialize: try unsafe functions.entry(functions.table.pointee.C_DecryptInit, .decryptInit),
            transformName: .decrypt,
            transform: try unsafe functions.entry(functions.table.pointee.C_Decrypt, .decrypt),
            key: key, contextPIN: pin)
    }
}
