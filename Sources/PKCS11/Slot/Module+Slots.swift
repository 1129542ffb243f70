import CP11Kit
import KeyfobPrimitives

extension Module {
    /// Lists the slots of the module anew, including readers and tokens that have been added since the last call.
    ///
    /// Blocks. SoftHSM always lists one slot with an uninitialised token after those in use.
    ///
    /// Corresponds to `C_GetSlotList`.
    ///
    /// - Parameter tokenPresent: Whether to return only slots with a token in them, initialised or not.
    /// - Throws: The module's answer, such as `ReturnValue.deviceError` from a lost daemon; `cantLock` if another call
    ///   of the module has not returned after twenty seconds.
    public func slots(tokenPresent: Bool = true) throws(PKCS11Error) -> [Slot] {
        try slots(tokenPresent: tokenPresent, until: nil)
    }

    /// Lists the slots, with a deadline as in `callForSlots`.
    func slots(tokenPresent: Bool = true, until deadline: Deadline?) throws(PKCS11Error) -> [Slot] {
        let getSlotList = try unsafe functions.entry(functions.table.pointee.C_GetSlotList, .getSlotList)
        let numbers = unsafe try list(.getSlotList, until: deadline) {
            unsafe getSlotList(tokenPresent ? CK_BBOOL(CK_TRUE) : CK_BBOOL(CK_FALSE), $0, &$1)
        }
        return numbers.map { Slot(module: self, id: $0) }
    }
}
