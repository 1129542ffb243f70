import CP11Kit
public import KeyfobPrimitives

/// A place for a token, with the number that its module gives it.
///
/// The number is valid until the module is initialised again, or until the token in it is initialised (SoftHSM). Keep
/// the token's description instead. All calls block until the module answers. If another call of the module does not
/// return, they fail with `ReturnValue.cantLock` after twenty seconds.
public struct Slot: Sendable, Hashable {
    /// The module that the slot belongs to.
    public let module: Module
    /// The slot's number in the module. Corresponds to `CK_SLOT_ID`.
    public let id: UInt

    /// Creates a reference to a slot. Whether the slot exists shows at the first call.
    public init(module: Module, id: UInt) {
        self.module = module
        self.id = id
    }

    /// Whether both are the same slot of the same module.
    public static func == (left: Slot, right: Slot) -> Bool {
        left.module === right.module && left.id == right.id
    }

    /// Hashes module and number.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(module))
        hasher.combine(id)
    }

    /// Returns information about the slot.
    ///
    /// Corresponds to `C_GetSlotInfo`.
    ///
    /// - Throws: `ReturnValue.slotIDInvalid` if the slot no longer exists.
    public func info() throws(PKCS11Error) -> SlotInfo { try info(until: nil) }

    /// Returns information about the slot, with a deadline as in `Module.callForSlots`.
    func info(until deadline: Deadline?) throws(PKCS11Error) -> SlotInfo {
        let getSlotInfo = try unsafe functions.entry(functions.table.pointee.C_GetSlotInfo, .getSlotInfo)
        var info = CK_SLOT_INFO()
        try module.callForSlots(.getSlotInfo, until: deadline) { unsafe getSlotInfo(id, &info) }
        return SlotInfo(info)
    }

    /// Returns information about the token in the slot.
    ///
    /// Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `ReturnValue.tokenNotPresent` or `tokenNotRecognized` if the slot has no usable token,
    ///   `slotIDInvalid` if the slot no longer exists.
    public func tokenInfo() throws(PKCS11Error) -> TokenInfo { try tokenInfo(until: nil) }

    /// Returns information about the token in the slot, with a deadline as in `Module.callForSlots`.
    func tokenInfo(until deadline: Deadline?) throws(PKCS11Error) -> TokenInfo {
        let getTokenInfo = try unsafe functions.entry(functions.table.pointee.C_GetTokenInfo, .getTokenInfo)
        var info = CK_TOKEN_INFO()
        try module.callForSlots(.getTokenInfo, until: deadline) { unsafe getTokenInfo(id, &info) }
        return TokenInfo(info)
    }

    /// The mechanisms that the token lists. A listed mechanism does not necessarily work.
    ///
    /// Corresponds to `C_GetMechanismList`.
    ///
    /// - Throws: `ReturnValue.tokenNotPresent` or `tokenNotRecognized` if the slot has no usable token,
    ///   `slotIDInvalid` if the slot no longer exists.
    public func mechanisms() throws(PKCS11Error) -> [MechanismType] {
        let getMechanismList = try unsafe functions.entry(
            functions.table.pointee.C_GetMechanismList, .getMechanismList)
        let numbers = unsafe try module.list(.getMechanismList) { unsafe getMechanismList(id, $0, &$1) }
        return numbers.map { MechanismType(rawValue: $0) }
    }

    /// Returns information about a mechanism of the token.
    ///
    /// Corresponds to `C_GetMechanismInfo`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid` if the token does not have the mechanism, `tokenNotPresent` or
    ///   `tokenNotRecognized` if the slot has no usable token, `slotIDInvalid` if the slot no longer exists.
    public func mechanismInfo(_ type: MechanismType) throws(PKCS11Error) -> MechanismInfo {
        let getMechanismInfo = try unsafe functions.entry(
            functions.table.pointee.C_GetMechanismInfo, .getMechanismInfo)
        // SoftHSM adds its flags to the value that it finds here.
        var info = CK_MECHANISM_INFO()
        try module.callForSlots(.getMechanismInfo) { unsafe getMechanismInfo(id, type.rawValue, &info) }
        return MechanismInfo(info)
    }

    /// Creates a new, empty token in the slot, without a user PIN.
    ///
    /// > Important: All objects of a token that was in the slot are destroyed.
    ///
    /// The slot keeps its number until the module is initialised again. SoftHSM then derives the number from the new
    /// serial number.
    ///
    /// Corresponds to `C_InitToken`.
    ///
    /// - Parameters:
    ///   - label: The token's name, at most 32 bytes of UTF-8.
    ///   - securityOfficerPIN: The new PIN; for a token that is already initialised, its present PIN.
    /// - Throws: `ReturnValue.argumentsBad` if the label is too long, `sessionExists` while any program has a session
    ///   with the token, `pinIncorrect` or `pinLocked` if the token is already initialised with another PIN.
    public func initializeToken(label: String, securityOfficerPIN: SecretBytes) throws(PKCS11Error) {
        let initializeToken = try unsafe functions.entry(functions.table.pointee.C_InitToken, .initializeToken)
        var padded = Array(label.utf8)
        guard padded.count <= 32 else {
            throw PKCS11Error(
                function: .initializeToken, returnValue: .argumentsBad, detail: "the label is longer than 32 bytes")
        }
        padded += [UInt8](repeating: 0x20, count: 32 - padded.count)
        try module.callForSlots(.initializeToken) {
            unsafe securityOfficerPIN.withUnsafeBytes { pin in
                unsafe initializeToken(id, pin.mutableBytes, CK_ULONG(pin.count), &padded)
            }
        }
    }

    var functions: FunctionList { module.functions }
}
