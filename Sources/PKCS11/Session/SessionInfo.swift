import CP11Kit

/// The kind of user that logs in. Corresponds to `CK_USER_TYPE`.
public struct UserType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the C interface.
    public let rawValue: UInt

    /// Wraps a number, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The officer who initialises the token and sets the user's PIN. Corresponds to `CKU_SO`.
    public static let securityOfficer = UserType(rawValue: CKU_SO)
    /// The user of the keys. Corresponds to `CKU_USER`.
    public static let user = UserType(rawValue: CKU_USER)
    /// The user, for one use of one key. Corresponds to `CKU_CONTEXT_SPECIFIC`.
    public static let contextSpecific = UserType(rawValue: CKU_CONTEXT_SPECIFIC)

    /// The name, or the number in hexadecimal.
    public var description: String {
        switch self {
        case .securityOfficer: "security officer"
        case .user: "user"
        case .contextSpecific: "context specific"
        default: "0x" + String(rawValue, radix: 16)
        }
    }
}

/// Information about a session. Corresponds to `CK_SESSION_INFO`.
public struct SessionInfo: Sendable, Hashable {
    /// The login state, and whether the session may write. Corresponds to `CK_STATE`.
    public struct State: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The number in the C interface.
        public let rawValue: UInt

        /// Wraps a number, known or not.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// No login, read-only. Corresponds to `CKS_RO_PUBLIC_SESSION`.
        public static let readOnlyPublic = State(rawValue: CKS_RO_PUBLIC_SESSION)
        /// User logged in, read-only. Corresponds to `CKS_RO_USER_FUNCTIONS`.
        public static let readOnlyUser = State(rawValue: CKS_RO_USER_FUNCTIONS)
        /// No login, read-write. Corresponds to `CKS_RW_PUBLIC_SESSION`.
        public static let readWritePublic = State(rawValue: CKS_RW_PUBLIC_SESSION)
        /// User logged in, read-write. Corresponds to `CKS_RW_USER_FUNCTIONS`.
        public static let readWriteUser = State(rawValue: CKS_RW_USER_FUNCTIONS)
        /// Security officer logged in, read-write. Corresponds to `CKS_RW_SO_FUNCTIONS`.
        public static let readWriteSecurityOfficer = State(rawValue: CKS_RW_SO_FUNCTIONS)

        /// A description of the state, or its number in hexadecimal.
        public var description: String {
            switch self {
            case .readOnlyPublic: "public, read only"
            case .readOnlyUser: "user, read only"
            case .readWritePublic: "public"
            case .readWriteUser: "user"
            case .readWriteSecurityOfficer: "security officer"
            default: "0x" + String(rawValue, radix: 16)
            }
        }
    }

    /// The slot's number.
    public let slotID: UInt
    /// The login state.
    public let state: State
    /// Whether objects on the token may be changed. Corresponds to `CKF_RW_SESSION`.
    public let isReadWrite: Bool
    /// The device's own number for the last error; 0 if there was none or the device does not report it.
    public let deviceError: UInt

    /// Whether the user is logged in.
    public var isUserLoggedIn: Bool { state == .readOnlyUser || state == .readWriteUser }

    init(_ info: CK_SESSION_INFO) {
        slotID = info.slotID
        state = State(rawValue: info.state)
        isReadWrite = info.flags & CKF_RW_SESSION != 0
        deviceError = info.ulDeviceError
    }
}
