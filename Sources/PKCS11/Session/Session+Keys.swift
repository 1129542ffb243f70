import CP11Kit

/// Generating, wrapping, unwrapping and deriving keys.
///
/// Templates of new keys should contain `token`, `isPrivate`, `sensitive`, `extractable` and every use, because the
/// defaults of tokens differ widely. Read the attributes back afterwards, because some tokens ignore some of them.
extension Session {
    /// Generates a key pair.
    ///
    /// > Important: NSS destroys a key on the token that has the same `id` as the new one. Check for such a key first.
    ///
    /// Corresponds to `C_GenerateKeyPair`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid`, `templateIncomplete`, `templateInconsistent`,
    ///   `attributeValueInvalid`, `keySizeRange`, `curveNotSupported`, `userNotLoggedIn`, `sessionReadOnly`,
    ///   `deviceMemory`.
    public func generateKeyPair(
        _ mechanism: Mechanism, publicTemplate: AttributeTemplate, privateTemplate: AttributeTemplate
    ) throws(PKCS11Error) -> (publicKey: ObjectHandle, privateKey: ObjectHandle) {
        let generate = try unsafe functions.entry(functions.table.pointee.C_GenerateKeyPair, .generateKeyPair)
        var publicKey = CK_OBJECT_HANDLE()
        var privateKey = CK_OBJECT_HANDLE()
        try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            try unsafe publicTemplate.withCTemplate { (publics, publicCount) throws(PKCS11Error) in
                try unsafe privateTemplate.withCTemplate { (privates, privateCount) throws(PKCS11Error) in
                    try callInTurn(.generateKeyPair) {
                        unsafe generate(
                            handle, mechanism, publics, publicCount, privates, privateCount, &publicKey, &privateKey)
                    }
                }
            }
        }
        return (ObjectHandle(rawValue: publicKey), ObjectHandle(rawValue: privateKey))
    }

    /// Generates a secret key.
    ///
    /// > Important: NSS destroys a key on the token that has the same `id` as the new one. Check for such a key first.
    ///
    /// Corresponds to `C_GenerateKey`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid`, `templateIncomplete`, `templateInconsistent`, `attributeValueInvalid`,
    ///   `keySizeRange`, `userNotLoggedIn`, `sessionReadOnly`, `deviceMemory`; `functionNotSupported` from tpm2.
    public func generateKey(
        _ mechanism: Mechanism, template: AttributeTemplate
    ) throws(PKCS11Error) -> ObjectHandle {
        let generate = try unsafe functions.entry(functions.table.pointee.C_GenerateKey, .generateKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            try unsafe make(.generateKey, template) { unsafe generate(handle, mechanism, $0, $1, &$2) }
        }
    }

    /// Encrypts a key with another key, inside the token.
    ///
    /// With `MechanismType.aesKeyWrap`, SoftHSM pads a key with zeroes to a multiple of 8 bytes and does not report it.
    /// Wrap only keys of such a length, or store the length.
    ///
    /// Corresponds to `C_WrapKey`.
    ///
    /// - Parameters:
    ///   - key: The key to encrypt, which must be `extractable`.
    ///   - wrappingKey: The key to encrypt it with.
    /// - Throws: `ReturnValue.keyUnextractable`, `keyNotWrappable`, `keyFunctionNotPermitted`, `keyHandleInvalid`,
    ///   `wrappingKeyHandleInvalid`, `mechanismInvalid`.
    public func wrap(
        _ key: ObjectHandle, with wrappingKey: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> [UInt8] {
        let wrapKey = try unsafe functions.entry(functions.table.pointee.C_WrapKey, .wrapKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) -> [UInt8] in
            // Enough for an RSA key of 8192 bits; for a longer key, use the size that the token reports.
            var capacity = 8192
            var returnValue = CKR_OK
            for _ in 1...2 {
                var length = CK_ULONG(capacity)
                var wrapped: [UInt8] = []
                try begin(.wrapKey)
                unsafe withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { scratch in
                    let base = unsafe scratch.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    returnValue = pending(.wrapKey) {
                        unsafe wrapKey(handle, mechanism, wrappingKey.rawValue, key.rawValue, base, &length)
                    }
                    if returnValue == CKR_OK {
                        wrapped = unsafe Array(
                            UnsafeBufferPointer(start: base, count: min(capacity, Int(clamping: length))))
                    }
                }
                end()
                CallTrace.note(.wrapKey, returnValue)
                if returnValue == CKR_OK { return wrapped }
                if returnValue != CKR_BUFFER_TOO_SMALL { break }
                capacity = max(min(Int(clamping: length), 1 << 20), capacity * 2) + 64
            }
            throw failure(.wrapKey, returnValue)
        }
    }

    /// Creates a key object from a wrapped key.
    ///
    /// Corresponds to `C_UnwrapKey`.
    ///
    /// - Parameter template: Class and key type at least; for a new key on the token, also `token`, `isPrivate`,
    ///   `sensitive`, `extractable` and every use. openCryptoki rejects `sensitive` and `extractable` here.
    /// - Throws: `ReturnValue.wrappedKeyInvalid`, `wrappedKeyLengthRange` or, from SoftHSM, `generalError` if the bytes
    ///   were changed; `unwrappingKeyHandleInvalid`, `mechanismInvalid`, `templateIncomplete`; `functionNotSupported`
    ///   from tpm2.
    public func unwrap(
        _ bytes: [UInt8], with unwrappingKey: ObjectHandle, using mechanism: Mechanism, template: AttributeTemplate
    ) throws(PKCS11Error) -> ObjectHandle {
        let unwrapKey = try unsafe functions.entry(functions.table.pointee.C_UnwrapKey, .unwrapKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(PKCS11Error) in
                try unsafe make(.unwrapKey, template) {
                    unsafe unwrapKey(
                        handle, mechanism, unwrappingKey.rawValue, bytes.mutableBytes, CK_ULONG(bytes.count), $0, $1,
                        &$2)
                }
            }
        }
    }

    /// Derives a key from another key and the mechanism's parameters, such as a peer's public point.
    ///
    /// Corresponds to `C_DeriveKey`.
    ///
    /// - Parameter template: Class, key type and usually `valueLength`.
    /// - Throws: `ReturnValue.mechanismInvalid`, `mechanismParameterInvalid`, `keyFunctionNotPermitted`,
    ///   `keyHandleInvalid`, `templateIncomplete`; `functionNotSupported` from tpm2.
    public func derive(
        from key: ObjectHandle, using mechanism: Mechanism, template: AttributeTemplate
    ) throws(PKCS11Error) -> ObjectHandle {
        let deriveKey = try unsafe functions.entry(functions.table.pointee.C_DeriveKey, .deriveKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            try unsafe make(.deriveKey, template) { unsafe deriveKey(handle, mechanism, key.rawValue, $0, $1, &$2) }
        }
    }
}
