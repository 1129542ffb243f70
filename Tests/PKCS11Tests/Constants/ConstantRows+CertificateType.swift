// Written by Scripts/generate-constants; change the script, not this file.

import CP11Kit
import PKCS11

extension ConstantRow {
    /// Every `CKC_*` of the header and the shim.
    static let certificateTypes: [ConstantRow] = [
        ConstantRow("CKC_X_509", "CKC_X_509", CertificateType.x509, CKC_X_509),
        ConstantRow("CKC_X_509_ATTR_CERT", "CKC_X_509_ATTR_CERT", CertificateType.x509AttrCert, CKC_X_509_ATTR_CERT),
        ConstantRow("CKC_WTLS", "CKC_WTLS", CertificateType.wtls, CKC_WTLS),
        ConstantRow("CKC_OPENPGP", "CKC_OPENPGP", CertificateType.openpgp, keyfob_CKC_OPENPGP),
    ]
}
