// Written by Scripts/generate-constants; change the script, not this file.

import CP11Kit
import PKCS11

extension ConstantRow {
    /// Every `CKO_*` of the header and the shim.
    static let objectClasses: [ConstantRow] = [
        ConstantRow("CKO_DATA", "CKO_DATA", ObjectClass.data, CKO_DATA),
        ConstantRow("CKO_CERTIFICATE", "CKO_CERTIFICATE", ObjectClass.certificate, CKO_CERTIFICATE),
        ConstantRow("CKO_PUBLIC_KEY", "CKO_PUBLIC_KEY", ObjectClass.publicKey, CKO_PUBLIC_KEY),
        ConstantRow("CKO_PRIVATE_KEY", "CKO_PRIVATE_KEY", ObjectClass.privateKey, CKO_PRIVATE_KEY),
        ConstantRow("CKO_SECRET_KEY", "CKO_SECRET_KEY", ObjectClass.secretKey, CKO_SECRET_KEY),
        ConstantRow("CKO_HW_FEATURE", "CKO_HW_FEATURE", ObjectClass.hardwareFeature, CKO_HW_FEATURE),
        ConstantRow(
            "CKO_DOMAIN_PARAMETERS", "CKO_DOMAIN_PARAMETERS",
            ObjectClass.domainParameters, CKO_DOMAIN_PARAMETERS),
        ConstantRow("CKO_MECHANISM", "CKO_MECHANISM", ObjectClass.mechanism, CKO_MECHANISM),
        ConstantRow("CKO_OTP_KEY", "CKO_OTP_KEY", ObjectClass.otpKey, CKO_OTP_KEY),
        ConstantRow("CKO_PROFILE", "CKO_PROFILE", ObjectClass.profile, CKO_PROFILE),
    ]
}
