import CP11Kit
import KeyfobPrimitives

extension Module {
    /// The slots of the module, listed anew: with readers and tokens that came since the last time.
    ///
    /// Blocks. SoftHSM always lists one slot with an uninitialised token behind those in use.
    ///
    /// Corresponds to `C_GetSlotList`.
    ///
    /// - Parameter tokenPresent: only slots with a token in them, initialised or not.
    /// - Throws: what the module answered, such as `ReturnValue.deviceError` from a lost daemon.
    public func slots(tokenPresent: Bool = true) throws(PKCS11Error) -> [Slot] {
        try slots(tokenPresent: tokenPresent, until: nil)
    }

    /// As `slots(tokenPresent:)`, with a deadline as that of `callForSlots`.
    func slots(tokenPresent: Bool = true, until deadline: Deadline?) throws(PKCS11Error) -> [Slot] {
        let getSlotList = try unsafe functions.entry(functions.table.pointee.C_GetSlotList, .getSlotList)
        let numbers = unsafe try list(.getSlotList, until: deadline) {
            unsafe getSlotList(tokenPresent ? CK_BBOOL(CK_TRUE) : CK_BBOOL(CK_FALSE), $0, &$1)
        }
        return numbers.map { Slot(module: self, id: $0) }
    }

    /// Makes one C call that concerns slots; such calls are made one at a time.
    ///
    /// - Parameter deadline: Until when other calls are waited for, and a second longer; for ``patience`` where it is
    ///   `nil`.
    /// - Throws: What the module answered; `ReturnValue.cantLock` where another call has not returned by then.
    func callForSlots(
        _ function: PKCS11Function, until deadline: Deadline? = nil, _ body: () -> CK_RV
    ) throws(PKCS11Error) {
        // The gate first: whoever waits for it must not hold the lock that a call in progress may want.
        try call(function, until: deadline) { () throws(PKCS11Error) -> CK_RV in
            if let returnValue = alone(until: deadline, { PendingCalls.during(function, of: path, body) }) {
                return returnValue
            }
            throw .wantOfTurn(function)
        }
    }

    /// Runs `body` while no other such call runs; `nil` where one did not return in time.
    private func alone(until deadline: Deadline?, _ body: () -> CK_RV) -> CK_RV? {
        // Mostly there is none, and nobody need look at the clock.
        if let returnValue = slotLock.withLockIfFree({ _ in body() }) { return returnValue }
        let end = deadline ?? .after(Self.patience)
        if let returnValue = slotLock.withLock(until: end, { _ in body() }) { return returnValue }
        // Who has used up his time before, for a person who typed a PIN, must not fail by a call that lasts a moment.
        return slotLock.withLock(until: .after(.seconds(1)), { _ in body() })
    }

    /// Reads a list by its two calls, the first of which asks for the length, and makes the module look again.
    func list(
        _ function: PKCS11Function, until deadline: Deadline? = nil,
        _ body: (UnsafeMutablePointer<CK_ULONG>?, inout CK_ULONG) -> CK_RV
    ) throws(PKCS11Error) -> [UInt] {
        var result: [UInt] = []
        try callForSlots(function, until: deadline) {
            var returnValue = CKR_BUFFER_TOO_SMALL
            // The list may grow between the two calls; each round leaves more room.
            for round in 1...4 where returnValue == CKR_BUFFER_TOO_SMALL {
                var count = CK_ULONG(0)
                returnValue = body(nil, &count)
                guard returnValue == CKR_OK else { return returnValue }
                // A number no module can mean is cut down rather than allocated.
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
