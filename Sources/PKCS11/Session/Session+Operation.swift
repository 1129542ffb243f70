import CP11Kit
import KeyfobPrimitives

/// The two calls of which signing, encryption and decryption consist.
extension Session {
    typealias Initialize = @convention(c) (CK_SESSION_HANDLE, UnsafeMutablePointer<CK_MECHANISM>?, CK_OBJECT_HANDLE)
        -> CK_RV
    typealias Transform = @convention(c) (
        CK_SESSION_HANDLE, UnsafeMutablePointer<UInt8>?, CK_ULONG, UnsafeMutablePointer<UInt8>?,
        UnsafeMutablePointer<CK_ULONG>?
    ) -> CK_RV

    /// One operation of the token: how it starts, what it does, and on what.
    @safe struct Operation {
        let initializeName: PKCS11Function
        let initialize: Initialize
        let transformName: PKCS11Function
        let transform: Transform
        let key: ObjectHandle
        /// For a key that wants a login at every use.
        let contextPIN: SecretBytes?
    }

    /// Output of this size and less passes through the stack.
    static var stackBytes: Int { 1024 }

    /// Runs `operation` on `input`; `capacity` bytes are offered for the output, and more if the token wants more.
    ///
    /// Sizes are not asked for beforehand: that costs a call, and tokens answer wrongly.
    @inline(__always)
    func run(
        _ operation: Operation, on input: UnsafeMutablePointer<UInt8>?, count: Int, using mechanism: Mechanism,
        capacity: Int
    ) throws(PKCS11Error) -> [UInt8] {
        try begin(operation.initializeName)
        defer { end() }
        try start(operation, using: mechanism)
        var attempt = Attempt(capacity: capacity)
        while true {
            var output: [UInt8] = []
            var returnValue = CKR_OK
            var length = CK_ULONG(attempt.capacity)
            // Scratch first, so that the result is allocated once and at its true size.
            unsafe withUnsafeTemporaryAllocation(byteCount: attempt.capacity, alignment: 1) { scratch in
                let base = unsafe scratch.baseAddress?.assumingMemoryBound(to: UInt8.self)
                returnValue = pending(operation.transformName) {
                    unsafe operation.transform(handle, input, CK_ULONG(count), base, &length)
                }
                if returnValue == CKR_OK {
                    let received = min(attempt.capacity, Int(clamping: length))
                    output = unsafe Array(UnsafeBufferPointer(start: base, count: received))
                }
            }
            if returnValue == CKR_OK {
                CallTrace.note(operation.transformName, returnValue)
                return output
            }
            try prepare(&attempt, after: returnValue, needed: length, operation, using: mechanism)
        }
    }

    /// The same for output that is secret: it goes straight into memory that is wiped.
    func runSecret(
        _ operation: Operation, on input: UnsafeMutablePointer<UInt8>?, count: Int, using mechanism: Mechanism,
        capacity: Int
    ) throws(PKCS11Error) -> SecretBytes {
        try begin(operation.initializeName)
        defer { end() }
        try start(operation, using: mechanism)
        var attempt = Attempt(capacity: capacity)
        while true {
            var returnValue = CKR_OK
            var length = CK_ULONG(attempt.capacity)
            let output = unsafe SecretBytes(count: attempt.capacity) { buffer in
                returnValue = pending(operation.transformName) {
                    unsafe operation.transform(handle, input, CK_ULONG(count), buffer.baseAddress, &length)
                }
            }
            if returnValue == CKR_OK {
                CallTrace.note(operation.transformName, returnValue)
                return output.prefix(min(attempt.capacity, Int(clamping: length)))
            }
            try prepare(&attempt, after: returnValue, needed: length, operation, using: mechanism)
        }
    }

    /// Starts the operation, with the key's own login where it wants one.
    @inline(__always)
    func start(_ operation: Operation, using mechanism: Mechanism) throws(PKCS11Error) {
        let returnValue = try unsafe mechanism.withCMechanism { (mechanism) throws(PKCS11Error) in
            pending(operation.initializeName) {
                unsafe operation.initialize(handle, mechanism, operation.key.rawValue)
            }
        }
        try check(operation.initializeName, returnValue)
        if let pin = operation.contextPIN { try authenticate(pin) }
    }

    /// The login for one use of one key, between the two calls of an operation.
    func authenticate(_ pin: SecretBytes) throws(PKCS11Error) {
        let login = unsafe try functions.entry(unsafe functions.table.pointee.C_Login, .login)
        let returnValue = unsafe pin.withUnsafeBytes { pin in
            pending(.login) { unsafe login(handle, CKU_CONTEXT_SPECIFIC, pin.mutableBytes, CK_ULONG(pin.count)) }
        }
        // The operation is started and will not be ended: only closing the session does that.
        if returnValue != CKR_OK { markBroken() }
        try check(.login, returnValue)
    }

    /// How far an operation has got.
    private struct Attempt {
        var capacity: Int
        var isEnlarged = false
        var isRestarted = false
    }

    /// Makes ready for another attempt; throws unless the last one failed for want of room.
    private func prepare(
        _ attempt: inout Attempt, after returnValue: CK_RV, needed: CK_ULONG, _ operation: Operation,
        using mechanism: Mechanism
    ) throws(PKCS11Error) {
        if returnValue == CKR_BUFFER_TOO_SMALL, !attempt.isEnlarged {
            CallTrace.note(operation.transformName, returnValue)
            attempt.isEnlarged = true
            // Sizes that tokens name may be too small by a tag, or absurd.
            attempt.capacity = max(min(Int(clamping: needed), 1 << 26), attempt.capacity * 2) + 64
        } else if returnValue == CKR_OPERATION_NOT_INITIALIZED, attempt.isEnlarged, !attempt.isRestarted {
            // The specification lets the operation live on after a buffer that was too small; NSS ends it.
            attempt.isRestarted = true
            try start(operation, using: mechanism)
        } else {
            try finish(operation.transformName, returnValue)
        }
    }

    /// Throws unless the operation succeeded. After a refusal it may stand half done, except where data were bad.
    func finish(_ function: PKCS11Function, _ returnValue: CK_RV) throws(PKCS11Error) {
        switch returnValue {
        case CKR_OK:
            break
        case CKR_SIGNATURE_INVALID, CKR_SIGNATURE_LEN_RANGE, CKR_DATA_LEN_RANGE, CKR_DATA_INVALID,
            CKR_ENCRYPTED_DATA_INVALID, CKR_ENCRYPTED_DATA_LEN_RANGE:
            break
        default:
            markBroken()
        }
        try check(function, returnValue)
    }
}
