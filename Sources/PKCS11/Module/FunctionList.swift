import CP11Kit

/// The table of C functions of one module.
@safe struct FunctionList: Sendable {
    // Written before the module hands it out and constant from then on; whoever made it keeps it
    // allocated for as long as the `Module` lives.
    nonisolated(unsafe) let table: UnsafeMutablePointer<CK_FUNCTION_LIST>

    init(_ table: UnsafeMutablePointer<CK_FUNCTION_LIST>) {
        unsafe self.table = unsafe table
    }

    /// The function of a table entry; an entry that the module left empty is an error, not a crash.
    ///
    /// - Throws: `ReturnValue.functionNotSupported` for an empty entry.
    @inline(__always)
    func entry<Function>(
        _ entry: Function?, _ function: @autoclosure () -> PKCS11Function
    ) throws(PKCS11Error) -> Function {
        guard let entry else {
            throw PKCS11Error(
                function: function(), returnValue: .functionNotSupported, detail: "the module has no such function")
        }
        return entry
    }
}
