import CP11Kit

/// Keys: generated, wrapped, unwrapped and derived.
///
/// The templates of new keys should name `token`, `isPrivate`, `sensitive`, `extractable` and every use, for the
/// defaults of tokens differ widely; and what came of them should be read back, for some tokens do not obey.
extension Session {
    /// Generates a key pair.
    ///
    /// > Important: NSS destroys a key on the token that has the same `id` as the new one. Look first.
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
    /// > Important: NSS destroys a key on the token that has the same `id` as the new one. Look first.
    ///
    /// Corresponds to `C_GenerateKey`.
    ///
    /// - Throws: as `generateKeyPair(_:publicTemplate:privateTemplate:)`; `functionNotSupported` by tpm2.
    public func generateKey(
        _ mechanism: Mechanism, template: AttributeTemplate
    ) throws(PKCS11Error) -> ObjectHandle {
        let generate = try unsafe functions.entry(functions.table.pointee.C_GenerateKey, .generateKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            try unsafe make(.generateKey, template) { unsafe generate(handle, mechanism, $0, $1, &$2) }
        }
    }

    /// Encrypts a key with another, without either leaving the token in clear.
    ///
    /// With `MechanismType.aesKeyWrap` SoftHSM fills a key up with zeroes to a multiple of 8 bytes and does not
    /// say so: wrap only such lengths, or keep the length.
    ///
    /// Corresponds to `C_WrapKey`.
    ///
    /// - Parameters:
    ///   - key: the one to be encrypted, which must be `extractable`.
    ///   - wrappingKey: the one to encrypt it with.
    /// - Throws: `ReturnValue.keyUnextractable`, `keyNotWrappable`, `keyFunctionNotPermitted`, `keyHandleInvalid`,
    ///   `wrappingKeyHandleInvalid`, `mechanismInvalid`.
    public func wrap(
        _ key: ObjectHandle, with wrappingKey: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> [UInt8] {
        let wrapKey = try unsafe functions.entry(functions.table.pointee.C_WrapKey, .wrapKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) -> [UInt8] in
            // Enough for an RSA key of 8192 bits; a longer one gets the size that the token names.
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

    /// Makes a key object from a wrapped key.
    ///
    /// Corresponds to `C_UnwrapKey`.
    ///
    /// - Parameter template: class and kind at least, and for a new key on the token all that the extension's
    ///   documentation names. openCryptoki refuses `sensitive` and `extractable` here.
    /// - Throws: `ReturnValue.wrappedKeyInvalid`, `wrappedKeyLengthRange` or, from SoftHSM, `generalError` when the
    ///   bytes were changed; `unwrappingKeyHandleInvalid`, `mechanismInvalid`, `templateIncomplete`;
    ///   `functionNotSupported` by tpm2.
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

    /// Makes a key from another and the mechanism's parameters, such as a peer's public point.
    ///
    /// Corresponds to `C_DeriveKey`.
    ///
    /// - Parameter template: class, kind and mostly `valueLength`.
    /// - Throws: `ReturnValue.mechanismInvalid`, `mechanismParameterInvalid`, `keyFunctionNotPermitted`,
    ///   `keyHandleInvalid`, `templateIncomplete`; `functionNotSupported` by tpm2.
    public func derive(
        from key: ObjectHandle, using mechanism: Mechanism, template: AttributeTemplate
    ) throws(PKCS11Error) -> ObjectHandle {
        let deriveKey = try unsafe functions.entry(functions.table.pointee.C_DeriveKey, .deriveKey)
        return try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            try unsafe make(.deriveKey, template) { unsafe deriveKey(handle, mechanism, key.rawValue, $0, $1, &$2) }
        }
    }
}
