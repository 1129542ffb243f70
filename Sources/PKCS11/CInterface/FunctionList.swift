import CP11Kit

/// The table of C functions of a module.
@safe struct FunctionList: Sendable {
    // The module fills the table before it hands it out, and it is constant from then on. The owner of the `Module`
    // keeps the table allocated for as long as the `Module` lives.
    nonisolated(unsafe) let table: UnsafeMutablePointer<CK_FUNCTION_LIST>

    init(_ table: UnsafeMutablePointer<CK_FUNCTION_LIST>) {
        unsafe self.table = unsafe table
    }

    /// Returns the function of a table entry. An entry that the module left empty is an error, not a crash.
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
