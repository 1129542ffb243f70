import CP11Kit
public import KeyfobPrimitives

/// Signatures, in one go.
extension Session {
    /// Signs `data` with a private key, or makes a MAC with a secret one.
    ///
    /// What the mechanism wants as data is the caller's to know: `MechanismType.ecdsa` and `rsaPSS` take a digest,
    /// `rsaPKCS` a DigestInfo, `eddsa` and those named after a hash the message. An ECDSA signature is r and s side
    /// by side, not DER. SoftHSM has no ECDSA with a hash of its own: hash first.
    ///
    /// Corresponds to `C_SignInit` and `C_Sign`.
    ///
    /// - Parameter pin: for a key that is `alwaysAuthenticate`, the PIN for this use.
    /// - Throws: `ReturnValue.mechanismInvalid` when the token lacks the mechanism, `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`, `keyTypeInconsistent`,
    ///   `userNotLoggedIn`, `dataLengthRange`; `hostMemory`, as which NSS and tpm2 disguise some of them.
    public func sign(
        _ data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism, authenticatingWith pin: SecretBytes? = nil
    ) throws(PKCS11Error) -> [UInt8] {
        let operation = unsafe Operation(
            initializeName: .signInit,
            initialize: try unsafe functions.entry(functions.table.pointee.C_SignInit, .signInit),
            transformName: .sign, transform: try unsafe functions.entry(functions.table.pointee.C_Sign, .sign),
            key: key, contextPIN: pin)
        return try unsafe data.withUnsafeBufferPointer { (data) throws(PKCS11Error) in
            try unsafe run(
                operation, on: data.mutableBytes, count: data.count, using: mechanism, capacity: Self.stackBytes)
        }
    }

    /// Begins a signature for data that come later, and that `endSignature(_:)` takes.
    ///
    /// Until then the session can do nothing else; what was begun in vain ends with the session. Where the token is
    /// SoftHSM, what is left to be done then is a third of an EC signature.
    ///
    /// Corresponds to `C_SignInit`.
    ///
    /// - Throws: as `sign(_:with:using:authenticatingWith:)`; `operationActive` where something was begun already.
    public func beginSignature(with key: ObjectHandle, using mechanism: Mechanism) throws(PKCS11Error) {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_SignInit, .signInit)
        try begin(.signInit)
        defer { end() }
        let returnValue = try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            pending(.signInit) { unsafe initialize(handle, mechanism, key.rawValue) }
        }
        try check(.signInit, returnValue)
    }

    /// Makes the signature that was begun. It is over then, also where it failed.
    ///
    /// Corresponds to `C_Sign`.
    ///
    /// - Throws: `ReturnValue.operationNotInitialized` where none was begun; as
    ///   `sign(_:with:using:authenticatingWith:)`. `bufferTooSmall` for a signature of more than a kilobyte.
    public func endSignature(_ data: [UInt8]) throws(PKCS11Error) -> [UInt8] {
        let sign = try unsafe functions.entry(functions.table.pointee.C_Sign, .sign)
        try begin(.sign)
        defer { end() }
        var returnValue = CKR_OK
        var signature: [UInt8] = []
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.stackBytes, alignment: 1) { scratch in
            let base = unsafe scratch.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var length = CK_ULONG(Self.stackBytes)
            returnValue = unsafe data.withUnsafeBufferPointer { data in
                pending(.sign) { unsafe sign(handle, data.mutableBytes, CK_ULONG(data.count), base, &length) }
            }
            guard returnValue == CKR_OK else { return }
            signature = unsafe Array(
                UnsafeBufferPointer(start: base, count: min(Self.stackBytes, Int(clamping: length))))
        }
        try finish(.sign, returnValue)
        return signature
    }

    /// Whether `signature` is the one of `data` by the private counterpart of a public key, or by a secret key.
    ///
    /// Corresponds to `C_VerifyInit` and `C_Verify`.
    ///
    /// - Throws: as `sign(_:with:using:authenticatingWith:)`. A signature that is wrong, also by its length, is no
    ///   error.
    public func verify(
        signature: [UInt8], of data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> Bool {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_VerifyInit, .verifyInit)
        let verify = try unsafe functions.entry(functions.table.pointee.C_Verify, .verify)
        try begin(.verifyInit)
        defer { end() }
        let initialized = try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            pending(.verifyInit) { unsafe initialize(handle, mechanism, key.rawValue) }
        }
        try check(.verifyInit, initialized)
        let returnValue = unsafe data.withUnsafeBufferPointer { data in
            unsafe signature.withUnsafeBufferPointer { signature in
                pending(.verify) {
                    unsafe verify(
                        handle, data.mutableBytes, CK_ULONG(data.count), signature.mutableBytes,
                        CK_ULONG(signature.count))
                }
            }
        }
        if returnValue == CKR_SIGNATURE_INVALID || returnValue == CKR_SIGNATURE_LEN_RANGE {
            CallTrace.note(.verify, returnValue)
            return false
        }
        try finish(.verify, returnValue)
        return true
    }
}
