// Written by Scripts/generate-constants; change the script, not this file.

/// The type of an object's attribute: `CKA_*`.
public struct AttributeType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the C interface.
    public let rawValue: UInt

    /// Wraps a number, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The specification's spelling, or the number in hexadecimal where there is none.
    public var name: String { Self.names[rawValue] ?? "0x" + String(rawValue, radix: 16) }

    /// The same as `name`.
    public var description: String { name }

    /// Corresponds to `CKA_CLASS`.
    public static let objectClass = AttributeType(rawValue: 0x0)
    /// Whether the object outlives the session. Corresponds to `CKA_TOKEN`.
    public static let token = AttributeType(rawValue: 0x1)
    /// Whether the object is visible only after a login. Corresponds to `CKA_PRIVATE`.
    public static let isPrivate = AttributeType(rawValue: 0x2)
    /// Corresponds to `CKA_LABEL`.
    public static let label = AttributeType(rawValue: 0x3)
    /// Corresponds to `CKA_UNIQUE_ID`.
    public static let uniqueID = AttributeType(rawValue: 0x4)
    /// Corresponds to `CKA_APPLICATION`.
    public static let application = AttributeType(rawValue: 0x10)
    /// Corresponds to `CKA_VALUE`.
    public static let value = AttributeType(rawValue: 0x11)
    /// Corresponds to `CKA_OBJECT_ID`.
    public static let objectID = AttributeType(rawValue: 0x12)
    /// Corresponds to `CKA_CERTIFICATE_TYPE`.
    public static let certificateType = AttributeType(rawValue: 0x80)
    /// Corresponds to `CKA_ISSUER`.
    public static let issuer = AttributeType(rawValue: 0x81)
    /// Corresponds to `CKA_SERIAL_NUMBER`.
    public static let serialNumber = AttributeType(rawValue: 0x82)
    /// Corresponds to `CKA_AC_ISSUER`.
    public static let acIssuer = AttributeType(rawValue: 0x83)
    /// Corresponds to `CKA_OWNER`.
    public static let owner = AttributeType(rawValue: 0x84)
    /// Corresponds to `CKA_ATTR_TYPES`.
    public static let attrTypes = AttributeType(rawValue: 0x85)
    /// Corresponds to `CKA_TRUSTED`.
    public static let trusted = AttributeType(rawValue: 0x86)
    /// Corresponds to `CKA_CERTIFICATE_CATEGORY`.
    public static let certificateCategory = AttributeType(rawValue: 0x87)
    /// Corresponds to `CKA_JAVA_MIDP_SECURITY_DOMAIN`.
    public static let javaMIDPSecurityDomain = AttributeType(rawValue: 0x88)
    /// Corresponds to `CKA_URL`.
    public static let url = AttributeType(rawValue: 0x89)
    /// Corresponds to `CKA_HASH_OF_SUBJECT_PUBLIC_KEY`.
    public static let hashOfSubjectPublicKey = AttributeType(rawValue: 0x8a)
    /// Corresponds to `CKA_HASH_OF_ISSUER_PUBLIC_KEY`.
    public static let hashOfIssuerPublicKey = AttributeType(rawValue: 0x8b)
    /// Corresponds to `CKA_NAME_HASH_ALGORITHM`.
    public static let nameHashAlgorithm = AttributeType(rawValue: 0x8c)
    /// Corresponds to `CKA_CHECK_VALUE`.
    public static let checkValue = AttributeType(rawValue: 0x90)
    /// Corresponds to `CKA_KEY_TYPE`.
    public static let keyType = AttributeType(rawValue: 0x100)
    /// Corresponds to `CKA_SUBJECT`.
    public static let subject = AttributeType(rawValue: 0x101)
    /// The identifier that a private key, its public key and its certificate have in common.
    ///
    /// Corresponds to `CKA_ID`.
    public static let id = AttributeType(rawValue: 0x102)
    /// Corresponds to `CKA_SENSITIVE`.
    public static let sensitive = AttributeType(rawValue: 0x103)
    /// Corresponds to `CKA_ENCRYPT`.
    public static let encrypt = AttributeType(rawValue: 0x104)
    /// Corresponds to `CKA_DECRYPT`.
    public static let decrypt = AttributeType(rawValue: 0x105)
    /// Corresponds to `CKA_WRAP`.
    public static let wrap = AttributeType(rawValue: 0x106)
    /// Corresponds to `CKA_UNWRAP`.
    public static let unwrap = AttributeType(rawValue: 0x107)
    /// Corresponds to `CKA_SIGN`.
    public static let sign = AttributeType(rawValue: 0x108)
    /// Corresponds to `CKA_SIGN_RECOVER`.
    public static let signRecover = AttributeType(rawValue: 0x109)
    /// Corresponds to `CKA_VERIFY`.
    public static let verify = AttributeType(rawValue: 0x10a)
    /// Corresponds to `CKA_VERIFY_RECOVER`.
    public static let verifyRecover = AttributeType(rawValue: 0x10b)
    /// Corresponds to `CKA_DERIVE`.
    public static let derive = AttributeType(rawValue: 0x10c)
    /// Corresponds to `CKA_START_DATE`.
    public static let startDate = AttributeType(rawValue: 0x110)
    /// Corresponds to `CKA_END_DATE`.
    public static let endDate = AttributeType(rawValue: 0x111)
    /// Corresponds to `CKA_MODULUS`.
    public static let modulus = AttributeType(rawValue: 0x120)
    /// Corresponds to `CKA_MODULUS_BITS`.
    public static let modulusBits = AttributeType(rawValue: 0x121)
    /// Corresponds to `CKA_PUBLIC_EXPONENT`.
    public static let publicExponent = AttributeType(rawValue: 0x122)
    /// Corresponds to `CKA_PRIVATE_EXPONENT`.
    public static let privateExponent = AttributeType(rawValue: 0x123)
    /// Corresponds to `CKA_PRIME_1`.
    public static let prime1 = AttributeType(rawValue: 0x124)
    /// Corresponds to `CKA_PRIME_2`.
    public static let prime2 = AttributeType(rawValue: 0x125)
    /// Corresponds to `CKA_EXPONENT_1`.
    public static let exponent1 = AttributeType(rawValue: 0x126)
    /// Corresponds to `CKA_EXPONENT_2`.
    public static let exponent2 = AttributeType(rawValue: 0x127)
    /// Corresponds to `CKA_COEFFICIENT`.
    public static let coefficient = AttributeType(rawValue: 0x128)
    /// Corresponds to `CKA_PUBLIC_KEY_INFO`.
    public static let publicKeyInfo = AttributeType(rawValue: 0x129)
    /// Corresponds to `CKA_PRIME`.
    public static let prime = AttributeType(rawValue: 0x130)
    /// Corresponds to `CKA_SUBPRIME`.
    public static let subprime = AttributeType(rawValue: 0x131)
    /// Corresponds to `CKA_BASE`.
    public static let base = AttributeType(rawValue: 0x132)
    /// Corresponds to `CKA_PRIME_BITS`.
    public static let primeBits = AttributeType(rawValue: 0x133)
    /// Corresponds to `CKA_SUB_PRIME_BITS`.
    public static let subPrimeBits = AttributeType(rawValue: 0x134)
    /// Corresponds to `CKA_VALUE_BITS`.
    public static let valueBits = AttributeType(rawValue: 0x160)
    /// Corresponds to `CKA_VALUE_LEN`.
    public static let valueLength = AttributeType(rawValue: 0x161)
    /// Corresponds to `CKA_EXTRACTABLE`.
    public static let extractable = AttributeType(rawValue: 0x162)
    /// Corresponds to `CKA_LOCAL`.
    public static let local = AttributeType(rawValue: 0x163)
    /// Corresponds to `CKA_NEVER_EXTRACTABLE`.
    public static let neverExtractable = AttributeType(rawValue: 0x164)
    /// Corresponds to `CKA_ALWAYS_SENSITIVE`.
    public static let alwaysSensitive = AttributeType(rawValue: 0x165)
    /// Corresponds to `CKA_KEY_GEN_MECHANISM`.
    public static let keyGenerationMechanism = AttributeType(rawValue: 0x166)
    /// Corresponds to `CKA_MODIFIABLE`.
    public static let modifiable = AttributeType(rawValue: 0x170)
    /// Corresponds to `CKA_COPYABLE`.
    public static let copyable = AttributeType(rawValue: 0x171)
    /// Corresponds to `CKA_DESTROYABLE`.
    public static let destroyable = AttributeType(rawValue: 0x172)
    /// Corresponds to `CKA_EC_PARAMS`.
    public static let ecParameters = AttributeType(rawValue: 0x180)
    /// The public point of an elliptic-curve key; see `ECPoint` for its two encodings.
    ///
    /// Corresponds to `CKA_EC_POINT`.
    public static let ecPoint = AttributeType(rawValue: 0x181)
    /// Corresponds to `CKA_SECONDARY_AUTH`.
    public static let secondaryAuth = AttributeType(rawValue: 0x200)
    /// Corresponds to `CKA_AUTH_PIN_FLAGS`.
    public static let authPINFlags = AttributeType(rawValue: 0x201)
    /// Corresponds to `CKA_ALWAYS_AUTHENTICATE`.
    public static let alwaysAuthenticate = AttributeType(rawValue: 0x202)
    /// Corresponds to `CKA_WRAP_WITH_TRUSTED`.
    public static let wrapWithTrusted = AttributeType(rawValue: 0x210)
    /// Corresponds to `CKA_OTP_FORMAT`.
    public static let otpFormat = AttributeType(rawValue: 0x220)
    /// Corresponds to `CKA_OTP_LENGTH`.
    public static let otpLength = AttributeType(rawValue: 0x221)
    /// Corresponds to `CKA_OTP_TIME_INTERVAL`.
    public static let otpTimeInterval = AttributeType(rawValue: 0x222)
    /// Corresponds to `CKA_OTP_USER_FRIENDLY_MODE`.
    public static let otpUserFriendlyMode = AttributeType(rawValue: 0x223)
    /// Corresponds to `CKA_OTP_CHALLENGE_REQUIREMENT`.
    public static let otpChallengeRequirement = AttributeType(rawValue: 0x224)
    /// Corresponds to `CKA_OTP_TIME_REQUIREMENT`.
    public static let otpTimeRequirement = AttributeType(rawValue: 0x225)
    /// Corresponds to `CKA_OTP_COUNTER_REQUIREMENT`.
    public static let otpCounterRequirement = AttributeType(rawValue: 0x226)
    /// Corresponds to `CKA_OTP_PIN_REQUIREMENT`.
    public static let otpPINRequirement = AttributeType(rawValue: 0x227)
    /// Corresponds to `CKA_OTP_USER_IDENTIFIER`.
    public static let otpUserIdentifier = AttributeType(rawValue: 0x22a)
    /// Corresponds to `CKA_OTP_SERVICE_IDENTIFIER`.
    public static let otpServiceIdentifier = AttributeType(rawValue: 0x22b)
    /// Corresponds to `CKA_OTP_SERVICE_LOGO`.
    public static let otpServiceLogo = AttributeType(rawValue: 0x22c)
    /// Corresponds to `CKA_OTP_SERVICE_LOGO_TYPE`.
    public static let otpServiceLogoType = AttributeType(rawValue: 0x22d)
    /// Corresponds to `CKA_OTP_COUNTER`.
    public static let otpCounter = AttributeType(rawValue: 0x22e)
    /// Corresponds to `CKA_OTP_TIME`.
    public static let otpTime = AttributeType(rawValue: 0x22f)
    /// Corresponds to `CKA_GOSTR3410_PARAMS`.
    public static let gostr3410Parameters = AttributeType(rawValue: 0x250)
    /// Corresponds to `CKA_GOSTR3411_PARAMS`.
    public static let gostr3411Parameters = AttributeType(rawValue: 0x251)
    /// Corresponds to `CKA_GOST28147_PARAMS`.
    public static let gost28147Parameters = AttributeType(rawValue: 0x252)
    /// Corresponds to `CKA_HW_FEATURE_TYPE`.
    public static let hardwareFeatureType = AttributeType(rawValue: 0x300)
    /// Corresponds to `CKA_RESET_ON_INIT`.
    public static let resetOnInit = AttributeType(rawValue: 0x301)
    /// Corresponds to `CKA_HAS_RESET`.
    public static let hasReset = AttributeType(rawValue: 0x302)
    /// Corresponds to `CKA_PIXEL_X`.
    public static let pixelX = AttributeType(rawValue: 0x400)
    /// Corresponds to `CKA_PIXEL_Y`.
    public static let pixelY = AttributeType(rawValue: 0x401)
    /// Corresponds to `CKA_RESOLUTION`.
    public static let resolution = AttributeType(rawValue: 0x402)
    /// Corresponds to `CKA_CHAR_ROWS`.
    public static let charRows = AttributeType(rawValue: 0x403)
    /// Corresponds to `CKA_CHAR_COLUMNS`.
    public static let charColumns = AttributeType(rawValue: 0x404)
    /// Corresponds to `CKA_COLOR`.
    public static let color = AttributeType(rawValue: 0x405)
    /// Corresponds to `CKA_BITS_PER_PIXEL`.
    public static let bitsPerPixel = AttributeType(rawValue: 0x406)
    /// Corresponds to `CKA_CHAR_SETS`.
    public static let charSets = AttributeType(rawValue: 0x480)
    /// Corresponds to `CKA_ENCODING_METHODS`.
    public static let encodingMethods = AttributeType(rawValue: 0x481)
    /// Corresponds to `CKA_MIME_TYPES`.
    public static let mimeTypes = AttributeType(rawValue: 0x482)
    /// Corresponds to `CKA_MECHANISM_TYPE`.
    public static let mechanismType = AttributeType(rawValue: 0x500)
    /// Corresponds to `CKA_REQUIRED_CMS_ATTRIBUTES`.
    public static let requiredCMSAttributes = AttributeType(rawValue: 0x501)
    /// Corresponds to `CKA_DEFAULT_CMS_ATTRIBUTES`.
    public static let defaultCMSAttributes = AttributeType(rawValue: 0x502)
    /// Corresponds to `CKA_SUPPORTED_CMS_ATTRIBUTES`.
    public static let supportedCMSAttributes = AttributeType(rawValue: 0x503)
    /// Corresponds to `CKA_PROFILE_ID`.
    public static let profileID = AttributeType(rawValue: 0x601)
    /// Corresponds to `CKA_WRAP_TEMPLATE`.
    public static let wrapTemplate = AttributeType(rawValue: 0x40000211)
    /// Corresponds to `CKA_UNWRAP_TEMPLATE`.
    public static let unwrapTemplate = AttributeType(rawValue: 0x40000212)
    /// Corresponds to `CKA_DERIVE_TEMPLATE`.
    public static let deriveTemplate = AttributeType(rawValue: 0x40000213)
    /// Corresponds to `CKA_ALLOWED_MECHANISMS`.
    public static let allowedMechanisms = AttributeType(rawValue: 0x40000600)
    /// The public point which NSS wants beside an elliptic-curve private key that it unwraps.
    ///
    /// Corresponds to `CKA_NSS_DB`.
    public static let nssDB = AttributeType(rawValue: 0xd5a0db00)

    /// The specification's spellings, for messages.
    static let names: [UInt: String] = [
        0x0: "CKA_CLASS",
        0x1: "CKA_TOKEN",
        0x2: "CKA_PRIVATE",
        0x3: "CKA_LABEL",
        0x4: "CKA_UNIQUE_ID",
        0x10: "CKA_APPLICATION",
        0x11: "CKA_VALUE",
        0x12: "CKA_OBJECT_ID",
        0x80: "CKA_CERTIFICATE_TYPE",
        0x81: "CKA_ISSUER",
        0x82: "CKA_SERIAL_NUMBER",
        0x83: "CKA_AC_ISSUER",
        0x84: "CKA_OWNER",
        0x85: "CKA_ATTR_TYPES",
        0x86: "CKA_TRUSTED",
        0x87: "CKA_CERTIFICATE_CATEGORY",
        0x88: "CKA_JAVA_MIDP_SECURITY_DOMAIN",
        0x89: "CKA_URL",
        0x8a: "CKA_HASH_OF_SUBJECT_PUBLIC_KEY",
        0x8b: "CKA_HASH_OF_ISSUER_PUBLIC_KEY",
        0x8c: "CKA_NAME_HASH_ALGORITHM",
        0x90: "CKA_CHECK_VALUE",
        0x100: "CKA_KEY_TYPE",
        0x101: "CKA_SUBJECT",
        0x102: "CKA_ID",
        0x103: "CKA_SENSITIVE",
        0x104: "CKA_ENCRYPT",
        0x105: "CKA_DECRYPT",
        0x106: "CKA_WRAP",
        0x107: "CKA_UNWRAP",
        0x108: "CKA_SIGN",
        0x109: "CKA_SIGN_RECOVER",
        0x10a: "CKA_VERIFY",
        0x10b: "CKA_VERIFY_RECOVER",
        0x10c: "CKA_DERIVE",
        0x110: "CKA_START_DATE",
        0x111: "CKA_END_DATE",
        0x120: "CKA_MODULUS",
        0x121: "CKA_MODULUS_BITS",
        0x122: "CKA_PUBLIC_EXPONENT",
        0x123: "CKA_PRIVATE_EXPONENT",
        0x124: "CKA_PRIME_1",
        0x125: "CKA_PRIME_2",
        0x126: "CKA_EXPONENT_1",
        0x127: "CKA_EXPONENT_2",
        0x128: "CKA_COEFFICIENT",
        0x129: "CKA_PUBLIC_KEY_INFO",
        0x130: "CKA_PRIME",
        0x131: "CKA_SUBPRIME",
        0x132: "CKA_BASE",
        0x133: "CKA_PRIME_BITS",
        0x134: "CKA_SUB_PRIME_BITS",
        0x160: "CKA_VALUE_BITS",
        0x161: "CKA_VALUE_LEN",
        0x162: "CKA_EXTRACTABLE",
        0x163: "CKA_LOCAL",
        0x164: "CKA_NEVER_EXTRACTABLE",
        0x165: "CKA_ALWAYS_SENSITIVE",
        0x166: "CKA_KEY_GEN_MECHANISM",
        0x170: "CKA_MODIFIABLE",
        0x171: "CKA_COPYABLE",
        0x172: "CKA_DESTROYABLE",
        0x180: "CKA_EC_PARAMS",
        0x181: "CKA_EC_POINT",
        0x200: "CKA_SECONDARY_AUTH",
        0x201: "CKA_AUTH_PIN_FLAGS",
        0x202: "CKA_ALWAYS_AUTHENTICATE",
        0x210: "CKA_WRAP_WITH_TRUSTED",
        0x220: "CKA_OTP_FORMAT",
        0x221: "CKA_OTP_LENGTH",
        0x222: "CKA_OTP_TIME_INTERVAL",
        0x223: "CKA_OTP_USER_FRIENDLY_MODE",
        0x224: "CKA_OTP_CHALLENGE_REQUIREMENT",
        0x225: "CKA_OTP_TIME_REQUIREMENT",
        0x226: "CKA_OTP_COUNTER_REQUIREMENT",
        0x227: "CKA_OTP_PIN_REQUIREMENT",
        0x22a: "CKA_OTP_USER_IDENTIFIER",
        0x22b: "CKA_OTP_SERVICE_IDENTIFIER",
        0x22c: "CKA_OTP_SERVICE_LOGO",
        0x22d: "CKA_OTP_SERVICE_LOGO_TYPE",
        0x22e: "CKA_OTP_COUNTER",
        0x22f: "CKA_OTP_TIME",
        0x250: "CKA_GOSTR3410_PARAMS",
        0x251: "CKA_GOSTR3411_PARAMS",
        0x252: "CKA_GOST28147_PARAMS",
        0x300: "CKA_HW_FEATURE_TYPE",
        0x301: "CKA_RESET_ON_INIT",
        0x302: "CKA_HAS_RESET",
        0x400: "CKA_PIXEL_X",
        0x401: "CKA_PIXEL_Y",
        0x402: "CKA_RESOLUTION",
        0x403: "CKA_CHAR_ROWS",
        0x404: "CKA_CHAR_COLUMNS",
        0x405: "CKA_COLOR",
        0x406: "CKA_BITS_PER_PIXEL",
        0x480: "CKA_CHAR_SETS",
        0x481: "CKA_ENCODING_METHODS",
        0x482: "CKA_MIME_TYPES",
        0x500: "CKA_MECHANISM_TYPE",
        0x501: "CKA_REQUIRED_CMS_ATTRIBUTES",
        0x502: "CKA_DEFAULT_CMS_ATTRIBUTES",
        0x503: "CKA_SUPPORTED_CMS_ATTRIBUTES",
        0x601: "CKA_PROFILE_ID",
        0x40000211: "CKA_WRAP_TEMPLATE",
        0x40000212: "CKA_UNWRAP_TEMPLATE",
        0x40000213: "CKA_DERIVE_TEMPLATE",
        0x40000600: "CKA_ALLOWED_MECHANISMS",
        0xd5a0db00: "CKA_NSS_DB",
    ]
}
