// Written by Scripts/generate-constants; change the script, not this file.

import CP11Kit
import PKCS11

extension ConstantRow {
    /// Every `CKA_*` of the header and the shim.
    static let attributeTypes: [ConstantRow] = [
        ConstantRow("CKA_CLASS", "CKA_CLASS", AttributeType.objectClass, CKA_CLASS),
        ConstantRow("CKA_TOKEN", "CKA_TOKEN", AttributeType.token, CKA_TOKEN),
        ConstantRow("CKA_PRIVATE", "CKA_PRIVATE", AttributeType.isPrivate, CKA_PRIVATE),
        ConstantRow("CKA_LABEL", "CKA_LABEL", AttributeType.label, CKA_LABEL),
        ConstantRow("CKA_APPLICATION", "CKA_APPLICATION", AttributeType.application, CKA_APPLICATION),
        ConstantRow("CKA_VALUE", "CKA_VALUE", AttributeType.value, CKA_VALUE),
        ConstantRow("CKA_OBJECT_ID", "CKA_OBJECT_ID", AttributeType.objectID, CKA_OBJECT_ID),
        ConstantRow(
            "CKA_CERTIFICATE_TYPE", "CKA_CERTIFICATE_TYPE",
            AttributeType.certificateType, CKA_CERTIFICATE_TYPE),
        ConstantRow("CKA_ISSUER", "CKA_ISSUER", AttributeType.issuer, CKA_ISSUER),
        ConstantRow("CKA_SERIAL_NUMBER", "CKA_SERIAL_NUMBER", AttributeType.serialNumber, CKA_SERIAL_NUMBER),
        ConstantRow("CKA_AC_ISSUER", "CKA_AC_ISSUER", AttributeType.acIssuer, CKA_AC_ISSUER),
        ConstantRow("CKA_OWNER", "CKA_OWNER", AttributeType.owner, CKA_OWNER),
        ConstantRow("CKA_ATTR_TYPES", "CKA_ATTR_TYPES", AttributeType.attrTypes, CKA_ATTR_TYPES),
        ConstantRow("CKA_TRUSTED", "CKA_TRUSTED", AttributeType.trusted, CKA_TRUSTED),
        ConstantRow(
            "CKA_CERTIFICATE_CATEGORY", "CKA_CERTIFICATE_CATEGORY",
            AttributeType.certificateCategory, CKA_CERTIFICATE_CATEGORY),
        ConstantRow(
            "CKA_JAVA_MIDP_SECURITY_DOMAIN", "CKA_JAVA_MIDP_SECURITY_DOMAIN",
            AttributeType.javaMIDPSecurityDomain, CKA_JAVA_MIDP_SECURITY_DOMAIN),
        ConstantRow("CKA_URL", "CKA_URL", AttributeType.url, CKA_URL),
        ConstantRow(
            "CKA_HASH_OF_SUBJECT_PUBLIC_KEY", "CKA_HASH_OF_SUBJECT_PUBLIC_KEY",
            AttributeType.hashOfSubjectPublicKey, CKA_HASH_OF_SUBJECT_PUBLIC_KEY),
        ConstantRow(
            "CKA_HASH_OF_ISSUER_PUBLIC_KEY", "CKA_HASH_OF_ISSUER_PUBLIC_KEY",
            AttributeType.hashOfIssuerPublicKey, CKA_HASH_OF_ISSUER_PUBLIC_KEY),
        ConstantRow(
            "CKA_NAME_HASH_ALGORITHM", "CKA_NAME_HASH_ALGORITHM",
            AttributeType.nameHashAlgorithm, CKA_NAME_HASH_ALGORITHM),
        ConstantRow("CKA_CHECK_VALUE", "CKA_CHECK_VALUE", AttributeType.checkValue, CKA_CHECK_VALUE),
        ConstantRow("CKA_KEY_TYPE", "CKA_KEY_TYPE", AttributeType.keyType, CKA_KEY_TYPE),
        ConstantRow("CKA_SUBJECT", "CKA_SUBJECT", AttributeType.subject, CKA_SUBJECT),
        ConstantRow("CKA_ID", "CKA_ID", AttributeType.id, CKA_ID),
        ConstantRow("CKA_SENSITIVE", "CKA_SENSITIVE", AttributeType.sensitive, CKA_SENSITIVE),
        ConstantRow("CKA_ENCRYPT", "CKA_ENCRYPT", AttributeType.encrypt, CKA_ENCRYPT),
        ConstantRow("CKA_DECRYPT", "CKA_DECRYPT", AttributeType.decrypt, CKA_DECRYPT),
        ConstantRow("CKA_WRAP", "CKA_WRAP", AttributeType.wrap, CKA_WRAP),
        ConstantRow("CKA_UNWRAP", "CKA_UNWRAP", AttributeType.unwrap, CKA_UNWRAP),
        ConstantRow("CKA_SIGN", "CKA_SIGN", AttributeType.sign, CKA_SIGN),
        ConstantRow("CKA_SIGN_RECOVER", "CKA_SIGN_RECOVER", AttributeType.signRecover, CKA_SIGN_RECOVER),
        ConstantRow("CKA_VERIFY", "CKA_VERIFY", AttributeType.verify, CKA_VERIFY),
        ConstantRow("CKA_VERIFY_RECOVER", "CKA_VERIFY_RECOVER", AttributeType.verifyRecover, CKA_VERIFY_RECOVER),
        ConstantRow("CKA_DERIVE", "CKA_DERIVE", AttributeType.derive, CKA_DERIVE),
        ConstantRow("CKA_START_DATE", "CKA_START_DATE", AttributeType.startDate, CKA_START_DATE),
        ConstantRow("CKA_END_DATE", "CKA_END_DATE", AttributeType.endDate, CKA_END_DATE),
        ConstantRow("CKA_MODULUS", "CKA_MODULUS", AttributeType.modulus, CKA_MODULUS),
        ConstantRow("CKA_MODULUS_BITS", "CKA_MODULUS_BITS", AttributeType.modulusBits, CKA_MODULUS_BITS),
        ConstantRow("CKA_PUBLIC_EXPONENT", "CKA_PUBLIC_EXPONENT", AttributeType.publicExponent, CKA_PUBLIC_EXPONENT),
        ConstantRow(
            "CKA_PRIVATE_EXPONENT", "CKA_PRIVATE_EXPONENT",
            AttributeType.privateExponent, CKA_PRIVATE_EXPONENT),
        ConstantRow("CKA_PRIME_1", "CKA_PRIME_1", AttributeType.prime1, CKA_PRIME_1),
        ConstantRow("CKA_PRIME_2", "CKA_PRIME_2", AttributeType.prime2, CKA_PRIME_2),
        ConstantRow("CKA_EXPONENT_1", "CKA_EXPONENT_1", AttributeType.exponent1, CKA_EXPONENT_1),
        ConstantRow("CKA_EXPONENT_2", "CKA_EXPONENT_2", AttributeType.exponent2, CKA_EXPONENT_2),
        ConstantRow("CKA_COEFFICIENT", "CKA_COEFFICIENT", AttributeType.coefficient, CKA_COEFFICIENT),
        ConstantRow("CKA_PUBLIC_KEY_INFO", "CKA_PUBLIC_KEY_INFO", AttributeType.publicKeyInfo, CKA_PUBLIC_KEY_INFO),
        ConstantRow("CKA_PRIME", "CKA_PRIME", AttributeType.prime, CKA_PRIME),
        ConstantRow("CKA_SUBPRIME", "CKA_SUBPRIME", AttributeType.subprime, CKA_SUBPRIME),
        ConstantRow("CKA_BASE", "CKA_BASE", AttributeType.base, CKA_BASE),
        ConstantRow("CKA_PRIME_BITS", "CKA_PRIME_BITS", AttributeType.primeBits, CKA_PRIME_BITS),
        ConstantRow("CKA_SUB_PRIME_BITS", "CKA_SUB_PRIME_BITS", AttributeType.subPrimeBits, CKA_SUB_PRIME_BITS),
        ConstantRow("CKA_VALUE_BITS", "CKA_VALUE_BITS", AttributeType.valueBits, CKA_VALUE_BITS),
        ConstantRow("CKA_VALUE_LEN", "CKA_VALUE_LEN", AttributeType.valueLength, CKA_VALUE_LEN),
        ConstantRow("CKA_EXTRACTABLE", "CKA_EXTRACTABLE", AttributeType.extractable, CKA_EXTRACTABLE),
        ConstantRow("CKA_LOCAL", "CKA_LOCAL", AttributeType.local, CKA_LOCAL),
        ConstantRow(
            "CKA_NEVER_EXTRACTABLE", "CKA_NEVER_EXTRACTABLE",
            AttributeType.neverExtractable, CKA_NEVER_EXTRACTABLE),
        ConstantRow(
            "CKA_ALWAYS_SENSITIVE", "CKA_ALWAYS_SENSITIVE",
            AttributeType.alwaysSensitive, CKA_ALWAYS_SENSITIVE),
        ConstantRow(
            "CKA_KEY_GEN_MECHANISM", "CKA_KEY_GEN_MECHANISM",
            AttributeType.keyGenerationMechanism, CKA_KEY_GEN_MECHANISM),
        ConstantRow("CKA_MODIFIABLE", "CKA_MODIFIABLE", AttributeType.modifiable, CKA_MODIFIABLE),
        ConstantRow("CKA_COPYABLE", "CKA_COPYABLE", AttributeType.copyable, CKA_COPYABLE),
        ConstantRow("CKA_DESTROYABLE", "CKA_DESTROYABLE", AttributeType.destroyable, CKA_DESTROYABLE),
        ConstantRow("CKA_ECDSA_PARAMS", "CKA_EC_PARAMS", AttributeType.ecParameters, CKA_ECDSA_PARAMS),
        ConstantRow("CKA_EC_PARAMS", "CKA_EC_PARAMS", AttributeType.ecParameters, CKA_EC_PARAMS),
        ConstantRow("CKA_EC_POINT", "CKA_EC_POINT", AttributeType.ecPoint, CKA_EC_POINT),
        ConstantRow("CKA_SECONDARY_AUTH", "CKA_SECONDARY_AUTH", AttributeType.secondaryAuth, CKA_SECONDARY_AUTH),
        ConstantRow("CKA_AUTH_PIN_FLAGS", "CKA_AUTH_PIN_FLAGS", AttributeType.authPINFlags, CKA_AUTH_PIN_FLAGS),
        ConstantRow(
            "CKA_ALWAYS_AUTHENTICATE", "CKA_ALWAYS_AUTHENTICATE",
            AttributeType.alwaysAuthenticate, CKA_ALWAYS_AUTHENTICATE),
        ConstantRow(
            "CKA_WRAP_WITH_TRUSTED", "CKA_WRAP_WITH_TRUSTED",
            AttributeType.wrapWithTrusted, CKA_WRAP_WITH_TRUSTED),
        ConstantRow("CKA_OTP_FORMAT", "CKA_OTP_FORMAT", AttributeType.otpFormat, CKA_OTP_FORMAT),
        ConstantRow("CKA_OTP_LENGTH", "CKA_OTP_LENGTH", AttributeType.otpLength, CKA_OTP_LENGTH),
        ConstantRow(
            "CKA_OTP_TIME_INTERVAL", "CKA_OTP_TIME_INTERVAL",
            AttributeType.otpTimeInterval, CKA_OTP_TIME_INTERVAL),
        ConstantRow(
            "CKA_OTP_USER_FRIENDLY_MODE", "CKA_OTP_USER_FRIENDLY_MODE",
            AttributeType.otpUserFriendlyMode, CKA_OTP_USER_FRIENDLY_MODE),
        ConstantRow(
            "CKA_OTP_CHALLENGE_REQUIREMENT", "CKA_OTP_CHALLENGE_REQUIREMENT",
            AttributeType.otpChallengeRequirement, CKA_OTP_CHALLENGE_REQUIREMENT),
        ConstantRow(
            "CKA_OTP_TIME_REQUIREMENT", "CKA_OTP_TIME_REQUIREMENT",
            AttributeType.otpTimeRequirement, CKA_OTP_TIME_REQUIREMENT),
        ConstantRow(
            "CKA_OTP_COUNTER_REQUIREMENT", "CKA_OTP_COUNTER_REQUIREMENT",
            AttributeType.otpCounterRequirement, CKA_OTP_COUNTER_REQUIREMENT),
        ConstantRow(
            "CKA_OTP_PIN_REQUIREMENT", "CKA_OTP_PIN_REQUIREMENT",
            AttributeType.otpPINRequirement, CKA_OTP_PIN_REQUIREMENT),
        ConstantRow(
            "CKA_OTP_USER_IDENTIFIER", "CKA_OTP_USER_IDENTIFIER",
            AttributeType.otpUserIdentifier, CKA_OTP_USER_IDENTIFIER),
        ConstantRow(
            "CKA_OTP_SERVICE_IDENTIFIER", "CKA_OTP_SERVICE_IDENTIFIER",
            AttributeType.otpServiceIdentifier, CKA_OTP_SERVICE_IDENTIFIER),
        ConstantRow("CKA_OTP_SERVICE_LOGO", "CKA_OTP_SERVICE_LOGO", AttributeType.otpServiceLogo, CKA_OTP_SERVICE_LOGO),
        ConstantRow(
            "CKA_OTP_SERVICE_LOGO_TYPE", "CKA_OTP_SERVICE_LOGO_TYPE",
            AttributeType.otpServiceLogoType, CKA_OTP_SERVICE_LOGO_TYPE),
        ConstantRow("CKA_OTP_COUNTER", "CKA_OTP_COUNTER", AttributeType.otpCounter, CKA_OTP_COUNTER),
        ConstantRow("CKA_OTP_TIME", "CKA_OTP_TIME", AttributeType.otpTime, CKA_OTP_TIME),
        ConstantRow(
            "CKA_GOSTR3410_PARAMS", "CKA_GOSTR3410_PARAMS",
            AttributeType.gostr3410Parameters, CKA_GOSTR3410_PARAMS),
        ConstantRow(
            "CKA_GOSTR3411_PARAMS", "CKA_GOSTR3411_PARAMS",
            AttributeType.gostr3411Parameters, CKA_GOSTR3411_PARAMS),
        ConstantRow(
            "CKA_GOST28147_PARAMS", "CKA_GOST28147_PARAMS",
            AttributeType.gost28147Parameters, CKA_GOST28147_PARAMS),
        ConstantRow(
            "CKA_HW_FEATURE_TYPE", "CKA_HW_FEATURE_TYPE",
            AttributeType.hardwareFeatureType, CKA_HW_FEATURE_TYPE),
        ConstantRow("CKA_RESET_ON_INIT", "CKA_RESET_ON_INIT", AttributeType.resetOnInit, CKA_RESET_ON_INIT),
        ConstantRow("CKA_HAS_RESET", "CKA_HAS_RESET", AttributeType.hasReset, CKA_HAS_RESET),
        ConstantRow("CKA_PIXEL_X", "CKA_PIXEL_X", AttributeType.pixelX, CKA_PIXEL_X),
        ConstantRow("CKA_PIXEL_Y", "CKA_PIXEL_Y", AttributeType.pixelY, CKA_PIXEL_Y),
        ConstantRow("CKA_RESOLUTION", "CKA_RESOLUTION", AttributeType.resolution, CKA_RESOLUTION),
        ConstantRow("CKA_CHAR_ROWS", "CKA_CHAR_ROWS", AttributeType.charRows, CKA_CHAR_ROWS),
        ConstantRow("CKA_CHAR_COLUMNS", "CKA_CHAR_COLUMNS", AttributeType.charColumns, CKA_CHAR_COLUMNS),
        ConstantRow("CKA_COLOR", "CKA_COLOR", AttributeType.color, CKA_COLOR),
        ConstantRow("CKA_BITS_PER_PIXEL", "CKA_BITS_PER_PIXEL", AttributeType.bitsPerPixel, CKA_BITS_PER_PIXEL),
        ConstantRow("CKA_CHAR_SETS", "CKA_CHAR_SETS", AttributeType.charSets, CKA_CHAR_SETS),
        ConstantRow(
            "CKA_ENCODING_METHODS", "CKA_ENCODING_METHODS",
            AttributeType.encodingMethods, CKA_ENCODING_METHODS),
        ConstantRow("CKA_MIME_TYPES", "CKA_MIME_TYPES", AttributeType.mimeTypes, CKA_MIME_TYPES),
        ConstantRow("CKA_MECHANISM_TYPE", "CKA_MECHANISM_TYPE", AttributeType.mechanismType, CKA_MECHANISM_TYPE),
        ConstantRow(
            "CKA_REQUIRED_CMS_ATTRIBUTES", "CKA_REQUIRED_CMS_ATTRIBUTES",
            AttributeType.requiredCMSAttributes, CKA_REQUIRED_CMS_ATTRIBUTES),
        ConstantRow(
            "CKA_DEFAULT_CMS_ATTRIBUTES", "CKA_DEFAULT_CMS_ATTRIBUTES",
            AttributeType.defaultCMSAttributes, CKA_DEFAULT_CMS_ATTRIBUTES),
        ConstantRow(
            "CKA_SUPPORTED_CMS_ATTRIBUTES", "CKA_SUPPORTED_CMS_ATTRIBUTES",
            AttributeType.supportedCMSAttributes, CKA_SUPPORTED_CMS_ATTRIBUTES),
        ConstantRow("CKA_WRAP_TEMPLATE", "CKA_WRAP_TEMPLATE", AttributeType.wrapTemplate, CKA_WRAP_TEMPLATE),
        ConstantRow("CKA_UNWRAP_TEMPLATE", "CKA_UNWRAP_TEMPLATE", AttributeType.unwrapTemplate, CKA_UNWRAP_TEMPLATE),
        ConstantRow("CKA_DERIVE_TEMPLATE", "CKA_DERIVE_TEMPLATE", AttributeType.deriveTemplate, CKA_DERIVE_TEMPLATE),
        ConstantRow(
            "CKA_ALLOWED_MECHANISMS", "CKA_ALLOWED_MECHANISMS",
            AttributeType.allowedMechanisms, CKA_ALLOWED_MECHANISMS),
        ConstantRow("CKA_UNIQUE_ID", "CKA_UNIQUE_ID", AttributeType.uniqueID, CKA_UNIQUE_ID),
        ConstantRow("CKA_PROFILE_ID", "CKA_PROFILE_ID", AttributeType.profileID, CKA_PROFILE_ID),
        ConstantRow("CKA_NSS_DB", "CKA_NSS_DB", AttributeType.nssDB, CKA_NSS_DB),
    ]
}
