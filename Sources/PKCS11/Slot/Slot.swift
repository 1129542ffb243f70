import CP11Kit
public import KeyfobPrimitives

/// A place for a token, as its module numbers it.
///
/// The number holds until the module is initialised again, or SoftHSM's token in it is; keep the token's
/// description instead. All calls block until the module answers; where another call of the module does not return,
/// they fail with `ReturnValue.cantLock` after twenty seconds.
public struct Slot: Sendable, Hashable {
    /// The module that has the slot.
    public let module: Module
    /// The module's number for it. Corresponds to `CK_SLOT_ID`.
    public let id: UInt

    /// Names a slot; whether there is one shows at the first call.
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

    /// What the module says about the slot.
    ///
    /// Corresponds to `C_GetSlotInfo`.
    ///
    /// - Throws: `ReturnValue.slotIDInvalid` when there is no such slot any more.
    public func info() throws(PKCS11Error) -> SlotInfo { try info(until: nil) }

    /// As `info()`, with a deadline as that of `Module.callForSlots`.
    func info(until deadline: Deadline?) throws(PKCS11Error) -> SlotInfo {
        let getSlotInfo = try unsafe functions.entry(functions.table.pointee.C_GetSlotInfo, .getSlotInfo)
        var info = CK_SLOT_INFO()
        try module.callForSlots(.getSlotInfo, until: deadline) { unsafe getSlotInfo(id, &info) }
        return SlotInfo(info)
    }

    /// What the token in the slot says about itself.
    ///
    /// Corresponds to `C_GetTokenInfo`.
    ///
    /// - Throws: `ReturnValue.tokenNotPresent` or `tokenNotRecognized` when there is none to ask,
    ///   `slotIDInvalid` when there is no such slot any more.
    public func tokenInfo() throws(PKCS11Error) -> TokenInfo { try tokenInfo(until: nil) }

    /// As `tokenInfo()`, with a deadline as that of `Module.callForSlots`.
    func tokenInfo(until deadline: Deadline?) throws(PKCS11Error) -> TokenInfo {
        let getTokenInfo = try unsafe functions.entry(functions.table.pointee.C_GetTokenInfo, .getTokenInfo)
        var info = CK_TOKEN_INFO()
        try module.callForSlots(.getTokenInfo, until: deadline) { unsafe getTokenInfo(id, &info) }
        return TokenInfo(info)
    }

    /// The mechanisms that the token lists. That one is listed does not prove that it works.
    ///
    /// Corresponds to `C_GetMechanismList`.
    ///
    /// - Throws: as `tokenInfo()`.
    public func mechanisms() throws(PKCS11Error) -> [MechanismType] {
        let getMechanismList = try unsafe functions.entry(
            functions.table.pointee.C_GetMechanismList, .getMechanismList)
        let numbers = unsafe try module.list(.getMechanismList) { unsafe getMechanismList(id, $0, &$1) }
        return numbers.map { MechanismType(rawValue: $0) }
    }

    /// What the token says about a mechanism.
    ///
    /// Corresponds to `C_GetMechanismInfo`.
    ///
    /// - Throws: `ReturnValue.mechanismInvalid` when the token does not have it; else as `tokenInfo()`.
    public func mechanismInfo(_ type: MechanismType) throws(PKCS11Error) -> MechanismInfo {
        let getMechanismInfo = try unsafe functions.entry(
            functions.table.pointee.C_GetMechanismInfo, .getMechanismInfo)
        // SoftHSM adds its flags to what it finds here.
        var info = CK_MECHANISM_INFO()
        try module.callForSlots(.getMechanismInfo) { unsafe getMechanismInfo(id, type.rawValue, &info) }
        return MechanismInfo(info)
    }

    /// Makes a new, empty token in the slot, without a user PIN.
    ///
    /// > Important: What the token held is destroyed.
    ///
    /// The slot keeps its number until the module is initialised again; with SoftHSM the number then follows the
    /// new serial number.
    ///
    /// Corresponds to `C_InitToken`.
    ///
    /// - Parameters:
    ///   - label: the token's name, at most 32 bytes of UTF-8.
    ///   - securityOfficerPIN: the new one, or for a token in use the present one.
    /// - Throws: `ReturnValue.argumentsBad` for a label that is too long, `sessionExists` while any program has a
    ///   session with the token, `pinIncorrect` or `pinLocked` when the token is in use and the PIN another.
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

    /// Opens a session with the token.
    ///
    /// The session is logged in from the start when another session of this process with the token is.
    ///
    /// Corresponds to `C_OpenSession`.
    ///
    /// - Parameter readWrite: whether objects on the token may be changed. A security officer can log in only while
    ///   no session is open that may not.
    /// - Throws: `ReturnValue.sessionCount` when the token has no room for another, `tokenNotPresent`,
    ///   `slotIDInvalid`, or `deviceError`.
    public func openSession(readWrite: Bool = true) throws(PKCS11Error) -> Session {
        try openSession(readWrite: readWrite, until: nil)
    }

    /// As `openSession(readWrite:)`, with a deadline as that of `Module.callForSlots`.
    func openSession(readWrite: Bool, until deadline: Deadline?) throws(PKCS11Error) -> Session {
        let openSession = try unsafe functions.entry(functions.table.pointee.C_OpenSession, .openSession)
        let flags = CKF_SERIAL_SESSION | (readWrite ? CKF_RW_SESSION : 0)
        var handle = CK_SESSION_HANDLE()
        var generation = 0
        try module.callForSlots(.openSession, until: deadline) {
            generation = module.generation
            return unsafe openSession(id, flags, nil, nil, &handle)
        }
        return Session(slot: self, handle: handle, generation: generation)
    }

    var functions: FunctionList { module.functions }
}
