extension AttributeType {
    /// The number of bytes of a value, if the specification fixes it.
    var fixedSize: Int? {
        switch self {
        case .token, .isPrivate, .trusted, .sensitive, .encrypt, .decrypt, .wrap, .unwrap, .sign, .signRecover,
            .verify, .verifyRecover, .derive, .extractable, .local, .neverExtractable, .alwaysSensitive, .modifiable,
            .copyable, .destroyable, .alwaysAuthenticate, .wrapWithTrusted:
            1
        case .objectClass, .keyType, .certificateType, .certificateCategory, .modulusBits, .valueLength, .valueBits,
            .keyGenerationMechanism, .primeBits, .subPrimeBits, .mechanismType, .profileID:
            8
        case .startDate, .endDate:
            8
        default:
            nil
        }
    }

    /// The buffer size to offer before the size is known: enough for usual values, so that one call suffices.
    var generousSize: Int {
        switch self {
        case .value: 4096
        case .modulus, .publicKeyInfo: 1088
        case .subject, .issuer, .allowedMechanisms, .url: 1024
        case .ecPoint, .ecParameters, .id, .serialNumber, .publicExponent, .checkValue: 256
        default: fixedSize ?? 512
        }
    }
}
