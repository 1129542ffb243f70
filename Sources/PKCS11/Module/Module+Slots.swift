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
        let getSlotList = try unsafe functions.entry(functions.table.pointee.C_GetSlotList, .getSlotList)
        let numbers = unsafe try list(.getSlotList) {
            unsafe getSlotList(tokenPresent ? CK_BBOOL(CK_TRUE) : CK_BBOOL(CK_FALSE), $0, &$1)
        }
        return numbers.map { Slot(module: self, id: $0) }
    }

    /// Makes one C call that concerns slots; such calls are made one at a time.
    func callForSlots(_ function: PKCS11Function, _ body: () -> CK_RV) throws(PKCS11Error) {
        // The gate first: whoever waits for it must not hold the lock that a call in progress may want.
        try call(function) { slotLock.withLock { _ in body() } }
    }

    /// Reads a list by its two calls, the first of which asks for the length, and makes the module look again.
    func list(
        _ function: PKCS11Function, _ body: (UnsafeMutablePointer<CK_ULONG>?, inout CK_ULONG) -> CK_RV
    ) throws(PKCS11Error) -> [UInt] {
        var result: [UInt] = []
        try callForSlots(function) {
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
