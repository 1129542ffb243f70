import CP11Kit
public import KeyfobPrimitives

/// Signatures in one part.
extension Session {
    /// Signs `data` with a private key, or computes a MAC with a secret key.
    ///
    /// The mechanism determines the form of `data`: a digest for `MechanismType.ecdsa` and `rsaPSS`, a DigestInfo for
    /// `rsaPKCS`, the message for `eddsa` and for mechanisms named after a hash. An ECDSA signature is r followed by s,
    /// not DER. SoftHSM has no ECDSA mechanism with a hash: compute the hash first.
    ///
    /// Corresponds to `C_SignInit` and `C_Sign`.
    ///
    /// - Parameter pin: The PIN for this use, if the key is `alwaysAuthenticate`.
    /// - Throws: `ReturnValue.mechanismInvalid` if the token lacks the mechanism, `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`, `keyTypeInconsistent`, `userNotLoggedIn`,
    ///   `dataLengthRange`; NSS and tpm2 answer `hostMemory` for some of these.
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

    /// Begins a signature of data that `endSignature(_:)` takes later.
    ///
    /// The session can do nothing else until then; a signature that is never made ends with the session. Do not use it
    /// with a library that has the quirk `operatesAlone`: a card that is removed in between may crash it. With SoftHSM,
    /// `endSignature(_:)` then has only a third of the work of an EC signature left.
    ///
    /// Corresponds to `C_SignInit`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid` if the token lacks the mechanism, `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`, `keyTypeInconsistent`, `userNotLoggedIn`;
    ///   `operationActive` if another operation has begun.
    public func beginSignature(with key: ObjectHandle, using mechanism: Mechanism) throws(PKCS11Error) {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_SignInit, .signInit)
        try begin(.signInit)
        defer { end() }
        let returnValue = try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            pending(.signInit) { unsafe initialize(handle, mechanism, key.rawValue) }
        }
        try check(.signInit, returnValue)
    }

    /// Makes the signature that was begun. The operation is over afterwards, even if it failed.
    ///
    /// Corresponds to `C_Sign`.
    ///
    /// - Throws: `ReturnValue.operationNotInitialized` if none was begun, `dataLengthRange`, `bufferTooSmall` for a
    ///   signature of more than a kilobyte.
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

    /// Verifies `signature` over `data`, with a public key or a secret key.
    ///
    /// Corresponds to `C_VerifyInit` and `C_Verify`.
    ///
    /// - Returns: Whether the signature is valid; false also for one of a wrong length.
    /// - Throws: `ReturnValue.mechanismInvalid` if the token lacks the mechanism, `keyHandleInvalid` or
    ///   `objectHandleInvalid` for a stale handle, `keyFunctionNotPermitted`, `keyTypeInconsistent`, `dataLengthRange`.
    public func verify(
        signature: [UInt8], of data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> Bool {
        try begin(.verifyInit)
        defer { end() }
        return try slot.module.operating(.verifyInit) { () throws(PKCS11Error) in
            try isValid(signature, of: data, with: key, using: mechanism)
        }
    }

    private func isValid(
        _ signature: [UInt8], of data: [UInt8], with key: ObjectHandle, using mechanism: Mechanism
    ) throws(PKCS11Error) -> Bool {
        let initialize = try unsafe functions.entry(functions.table.pointee.C_VerifyInit, .verifyInit)
        let verify = try unsafe functions.entry(functions.table.pointee.C_Verify, .verify)
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
