import CP11Kit
import KeyfobPrimitives

extension Module {
    /// Makes one C call that concerns slots. Such calls are made one at a time.
    ///
    /// - Parameter deadline: Until when to wait for other calls, plus one second; ``patience`` from now if `nil`.
    /// - Throws: The module's answer; `ReturnValue.cantLock` if another call has not returned by then.
    func callForSlots(
        _ function: PKCS11Function, until deadline: Deadline? = nil, _ body: () -> CK_RV
    ) throws(PKCS11Error) {
        // The gate first: a thread that waits at the gate must not hold the lock, which a call in progress may need.
        try call(function, until: deadline) { () throws(PKCS11Error) -> CK_RV in
            if let returnValue = alone(until: deadline, { pending(function, body) }) {
                return returnValue
            }
            throw .busy(function)
        }
    }

    /// Makes the calls of one operation, from its start to its end.
    ///
    /// If the library has the quirk `operatesAlone`, no call that concerns slots and no other operation runs meanwhile.
    ///
    /// - Throws: The errors of `body`; `ReturnValue.cantLock` if another call has not returned after ``patience``.
    @inline(__always)
    func operating<Result: Sendable>(
        _ function: PKCS11Function, _ body: () throws(PKCS11Error) -> Result
    ) throws(PKCS11Error) -> Result {
        guard operatesAlone else { return try body() }
        guard let result = try alone(until: nil, body) else { throw .busy(function) }
        return result
    }

    /// Runs `body` while no other such call runs; returns `nil` if another one did not return in time.
    private func alone<Result: Sendable, Failure: Error>(
        until deadline: Deadline?, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        // The lock is mostly free; then the clock need not be read.
        if let result = try slotLock.withLockIfFree({ _ throws(Failure) in try body() }) { return result }
        let end = deadline ?? .after(Self.patience)
        if let result = try slotLock.withLock(until: end, { _ throws(Failure) in try body() }) { return result }
        // The deadline may have passed while a person typed the PIN. A call that takes only a moment must not make this
        // one fail.
        return try slotLock.withLock(until: .after(.seconds(1)), { _ throws(Failure) in try body() })
    }

    /// Reads a list in two calls, the first of which asks for the length and makes the module look for tokens again.
    func list(
        _ function: PKCS11Function, until deadline: Deadline? = nil,
        _ body: (UnsafeMutablePointer<CK_ULONG>?, inout CK_ULONG) -> CK_RV
    ) throws(PKCS11Error) -> [UInt] {
        var result: [UInt] = []
        try callForSlots(function, until: deadline) {
            var returnValue = CKR_BUFFER_TOO_SMALL
            // The list may grow between the two calls, so each round leaves more room.
            for round in 1...4 where returnValue == CKR_BUFFER_TOO_SMALL {
                var count = CK_ULONG(0)
                returnValue = body(nil, &count)
                guard returnValue == CKR_OK else { return returnValue }
                // Do not allocate what a faulty module claims.
                let capacity = Int(min(count, 1 << 16)) + 8 * round
                count = CK_ULONG(capacity)
                result = [UInt](repeating: 0, count: capacity)
                returnValue = unsafe result.withUnsafeMutableBufferPointer { buffer in
                    unsafe body(buffer.baseAddress, &count)
                }
                result.removeLast(capacity - min(capacity, Int(clamping: count)))
            }
            return returnValue
        }
        return result
    }
}
