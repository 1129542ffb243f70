import CP11Kit
import KeyfobPrimitives

/// The pair of calls with which a token signs, encrypts or decrypts.
extension Session {
    typealias Initialize = @convention(c) (CK_SESSION_HANDLE, UnsafeMutablePointer<CK_MECHANISM>?, CK_OBJECT_HANDLE)
        -> CK_RV
    typealias Transform = @convention(c) (
        CK_SESSION_HANDLE, UnsafeMutablePointer<UInt8>?, CK_ULONG, UnsafeMutablePointer<UInt8>?,
        UnsafeMutablePointer<CK_ULONG>?
    ) -> CK_RV

    /// One operation of the token: its two functions, their names, and the key.
    @safe struct Operation {
        let initializeName: PKCS11Function
        let initialize: Initialize
        let transformName: PKCS11Function
        let transform: Transform
        let key: ObjectHandle
        /// The PIN for a key that requires a login at every use.
        let contextPIN: SecretBytes?
    }

    /// Output up to this size passes through the stack.
    static var stackBytes: Int { 1024 }

    /// Runs `operation` on `input`. The first output buffer has `capacity` bytes; it grows if the token needs more.
    ///
    /// The size is not requested beforehand: that costs a call, and some tokens answer wrongly.
    @inline(__always)
    func run(
        _ operation: Operation, on input: UnsafeMutablePointer<UInt8>?, count: Int, using mechanism: Mechanism,
        capacity: Int
    ) throws(PKCS11Error) -> [UInt8] {
        try begin(operation.initializeName)
        defer { end() }
        return try slot.module.operating(operation.initializeName) { () throws(PKCS11Error) in
            try unsafe transform(operation, on: input, count: count, using: mechanism, capacity: capacity)
        }
    }

    @inline(__always)
    private func transform(
        _ operation: Operation, on input: UnsafeMutablePointer<UInt8>?, count: Int, using mechanism: Mechanism,
        capacity: Int
    ) throws(PKCS11Error) -> [UInt8] {
        try start(operation, using: mechanism)
        var attempt = Attempt(capacity: capacity)
        while true {
            var output: [UInt8] = []
            var returnValue = CKR_OK
            var length = CK_ULONG(attempt.capacity)
            // Use a scratch buffer, so that the result is allocated once and in its actual size.
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

    /// Runs `operation` like `run`, with the output in memory that is wiped on release.
    func runSecret(
        _ operation: Operation, on input: UnsafeMutablePointer<UInt8>?, count: Int, using mechanism: Mechanism,
        capacity: Int
    ) throws(PKCS11Error) -> SecretBytes {
        try begin(operation.initializeName)
        defer { end() }
        return try slot.module.operating(operation.initializeName) { () throws(PKCS11Error) in
            try unsafe transformSecret(operation, on: input, count: count, using: mechanism, capacity: capacity)
        }
    }

    private func transformSecret(
        _ operation: Operation, on input: UnsafeMutablePointer<UInt8>?, count: Int, using mechanism: Mechanism,
        capacity: Int
    ) throws(PKCS11Error) -> SecretBytes {
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

    /// Starts the operation, and logs in for the key if it requires that.
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

    /// Logs in for one use of one key, between the two calls of an operation.
    func authenticate(_ pin: SecretBytes) throws(PKCS11Error) {
        let login = unsafe try functions.entry(unsafe functions.table.pointee.C_Login, .login)
        let returnValue = unsafe pin.withUnsafeBytes { pin in
            pending(.login) { unsafe login(handle, CKU_CONTEXT_SPECIFIC, pin.mutableBytes, CK_ULONG(pin.count)) }
        }
        // The operation is started and will not be completed; only closing the session ends it.
        if returnValue != CKR_OK { markBroken() }
        try check(.login, returnValue)
    }

    /// The state of an operation's attempts.
    private struct Attempt {
        var capacity: Int
        var isEnlarged = false
        var isRestarted = false
    }

    /// Prepares another attempt; throws unless the last one failed because the buffer was too small.
    private func prepare(
        _ attempt: inout Attempt, after returnValue: CK_RV, needed: CK_ULONG, _ operation: Operation,
        using mechanism: Mechanism
    ) throws(PKCS11Error) {
        if returnValue == CKR_BUFFER_TOO_SMALL, !attempt.isEnlarged {
            CallTrace.note(operation.transformName, returnValue)
            attempt.isEnlarged = true
            // Sizes that tokens report may lack the tag, or be absurd.
            attempt.capacity = max(min(Int(clamping: needed), 1 << 26), attempt.capacity * 2) + 64
        } else if returnValue == CKR_OPERATION_NOT_INITIALIZED, attempt.isEnlarged, !attempt.isRestarted {
            // By the specification the operation stays active after a buffer that was too small, but NSS ends it.
            attempt.isRestarted = true
            try start(operation, using: mechanism)
        } else {
            try finish(operation.transformName, returnValue)
        }
    }

    /// Throws unless the operation succeeded. Unless the data were invalid, the operation may still be active, so the
    /// session is marked as broken.
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
