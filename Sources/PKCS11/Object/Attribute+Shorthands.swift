public import KeyfobPrimitives

/// The most common attributes, as static members.
extension Attribute {
    /// The class of the object. Corresponds to `CKA_CLASS`.
    public static func objectClass(_ value: ObjectClass) -> Attribute { .ulong(.objectClass, value.rawValue) }
    /// The type of the key. Corresponds to `CKA_KEY_TYPE`.
    public static func keyType(_ value: KeyType) -> Attribute { .ulong(.keyType, value.rawValue) }
    /// The type of the certificate. Corresponds to `CKA_CERTIFICATE_TYPE`.
    public static func certificateType(
        _ value: CertificateType
    ) -> Attribute { .ulong(.certificateType, value.rawValue) }
    /// The name for people. Corresponds to `CKA_LABEL`.
    public static func label(_ value: String) -> Attribute { .string(.label, value) }
    /// The application that a data object belongs to. Corresponds to `CKA_APPLICATION`.
    public static func application(_ value: String) -> Attribute { .string(.application, value) }
    /// The identifier that a key and its certificate share. Corresponds to `CKA_ID`.
    public static func id(_ value: [UInt8]) -> Attribute { .bytes(.id, value) }
    /// The content: a certificate in DER, or data. Corresponds to `CKA_VALUE`.
    public static func value(_ value: [UInt8]) -> Attribute { .bytes(.value, value) }
    /// The content of a key or of private data; wiped after use. Corresponds to `CKA_VALUE`.
    public static func secretValue(_ value: SecretBytes) -> Attribute { .secret(.value, value) }
    /// The subject's name in DER. Corresponds to `CKA_SUBJECT`.
    public static func subject(_ value: [UInt8]) -> Attribute { .bytes(.subject, value) }
    /// The issuer's name in DER. Corresponds to `CKA_ISSUER`.
    public static func issuer(_ value: [UInt8]) -> Attribute { .bytes(.issuer, value) }
    /// The certificate's serial number, a DER INTEGER. Corresponds to `CKA_SERIAL_NUMBER`.
    public static func serialNumber(_ value: [UInt8]) -> Attribute { .bytes(.serialNumber, value) }
    /// The curve in DER. Corresponds to `CKA_EC_PARAMS`.
    public static func ecParameters(_ value: [UInt8]) -> Attribute { .bytes(.ecParameters, value) }
    /// The public point, a DER OCTET STRING for most tokens. Corresponds to `CKA_EC_POINT`.
    public static func ecPoint(_ value: [UInt8]) -> Attribute { .bytes(.ecPoint, value) }
    /// The modulus of an RSA key, highest byte first. Corresponds to `CKA_MODULUS`.
    public static func modulus(_ value: [UInt8]) -> Attribute { .bytes(.modulus, value) }
    /// The public exponent of an RSA key, highest byte first. Corresponds to `CKA_PUBLIC_EXPONENT`.
    public static func publicExponent(_ value: [UInt8]) -> Attribute { .bytes(.publicExponent, value) }
    /// The size of an RSA key to be generated, in bits. Corresponds to `CKA_MODULUS_BITS`.
    public static func modulusBits(_ value: UInt) -> Attribute { .ulong(.modulusBits, value) }
    /// The size of a secret key to be created, in bytes. Corresponds to `CKA_VALUE_LEN`.
    public static func valueLength(_ value: UInt) -> Attribute { .ulong(.valueLength, value) }
    /// 0 unspecified, 1 the token's user, 2 an authority, 3 another entity. Corresponds to `CKA_CERTIFICATE_CATEGORY`.
    public static func certificateCategory(_ value: UInt) -> Attribute { .ulong(.certificateCategory, value) }
    /// The only mechanisms the key may be used with. Corresponds to `CKA_ALLOWED_MECHANISMS`.
    public static func allowedMechanisms(
        _ value: [MechanismType]
    ) -> Attribute { .mechanisms(.allowedMechanisms, value) }
    /// Whether the object stays on the token when the session ends. Corresponds to `CKA_TOKEN`.
    public static func token(_ value: Bool) -> Attribute { .bool(.token, value) }
    /// Whether the object is visible only after a login. Corresponds to `CKA_PRIVATE`.
    public static func isPrivate(_ value: Bool) -> Attribute { .bool(.isPrivate, value) }
    /// Whether attributes may be changed later. Corresponds to `CKA_MODIFIABLE`.
    public static func modifiable(_ value: Bool) -> Attribute { .bool(.modifiable, value) }
    /// Whether the key's value is never revealed. Corresponds to `CKA_SENSITIVE`.
    public static func sensitive(_ value: Bool) -> Attribute { .bool(.sensitive, value) }
    /// Whether the key may leave the token, wrapped or in clear. Corresponds to `CKA_EXTRACTABLE`.
    public static func extractable(_ value: Bool) -> Attribute { .bool(.extractable, value) }
    /// Whether the key may encrypt. Corresponds to `CKA_ENCRYPT`.
    public static func encrypt(_ value: Bool) -> Attribute { .bool(.encrypt, value) }
    /// Whether the key may decrypt. Corresponds to `CKA_DECRYPT`.
    public static func decrypt(_ value: Bool) -> Attribute { .bool(.decrypt, value) }
    /// Whether the key may sign. Corresponds to `CKA_SIGN`.
    public static func sign(_ value: Bool) -> Attribute { .bool(.sign, value) }
    /// Whether the key may verify signatures. Corresponds to `CKA_VERIFY`.
    public static func verify(_ value: Bool) -> Attribute { .bool(.verify, value) }
    /// Whether the key may wrap other keys. Corresponds to `CKA_WRAP`.
    public static func wrap(_ value: Bool) -> Attribute { .bool(.wrap, value) }
    /// Whether the key may unwrap other keys. Corresponds to `CKA_UNWRAP`.
    public static func unwrap(_ value: Bool) -> Attribute { .bool(.unwrap, value) }
    /// Whether other keys may be derived from the key. Corresponds to `CKA_DERIVE`.
    public static func derive(_ value: Bool) -> Attribute { .bool(.derive, value) }
    /// Whether the object is trusted; only a security officer can set this. Corresponds to `CKA_TRUSTED`.
    public static func trusted(_ value: Bool) -> Attribute { .bool(.trusted, value) }
    /// Whether each use of the key requires a login of its own. Corresponds to `CKA_ALWAYS_AUTHENTICATE`.
    public static func alwaysAuthenticate(_ value: Bool) -> Attribute { .bool(.alwaysAuthenticate, value) }
}
