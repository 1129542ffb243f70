// p11-kit's headers, plus the few Cryptoki constants that they lack.
//
// p11-kit 0.24 declares Cryptoki 2.40. The names below are those of the OASIS specification. Each is guarded by
// #ifndef, so that a newer p11-kit may declare it first.
#ifndef KEYFOB_CP11KIT_SHIM_H
#define KEYFOB_CP11KIT_SHIM_H

// Without this, p11-kit/pkcs11.h omits the CK_* spellings of its types.
#define CRYPTOKI_COMPAT 1
#include <p11-kit/pkcs11.h>
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>

// Cryptoki 3.0 names that p11-kit 0.24 does not have.
#ifndef CKR_AEAD_DECRYPT_FAILED
#define CKR_AEAD_DECRYPT_FAILED (0x42UL)
#endif
#ifndef CKR_TOKEN_RESOURCE_EXCEEDED
#define CKR_TOKEN_RESOURCE_EXCEEDED (0x201UL)
#endif
#ifndef CKR_OPERATION_CANCEL_FAILED
#define CKR_OPERATION_CANCEL_FAILED (0x202UL)
#endif
#ifndef CKR_KEY_EXHAUSTED
#define CKR_KEY_EXHAUSTED (0x203UL)
#endif
#ifndef CKO_PROFILE
#define CKO_PROFILE (9UL)
#endif
#ifndef CKK_EC_MONTGOMERY
#define CKK_EC_MONTGOMERY (0x41UL)
#endif
#ifndef CKK_HKDF
#define CKK_HKDF (0x42UL)
#endif
#ifndef CKA_UNIQUE_ID
#define CKA_UNIQUE_ID (4UL)
#endif
#ifndef CKA_PROFILE_ID
#define CKA_PROFILE_ID (0x601UL)
#endif
#ifndef CKM_EC_MONTGOMERY_KEY_PAIR_GEN
#define CKM_EC_MONTGOMERY_KEY_PAIR_GEN (0x1056UL)
#endif
#ifndef CKM_XEDDSA
#define CKM_XEDDSA (0x1058UL)
#endif
#ifndef CKM_AES_KEY_WRAP_KWP
#define CKM_AES_KEY_WRAP_KWP (0x210bUL)
#endif
#ifndef CKM_AES_KEY_WRAP_PKCS7
#define CKM_AES_KEY_WRAP_PKCS7 (0x210cUL)
#endif
#ifndef CKM_HKDF_DERIVE
#define CKM_HKDF_DERIVE (0x402aUL)
#endif
#ifndef CKM_HKDF_DATA
#define CKM_HKDF_DATA (0x402bUL)
#endif
#ifndef CKM_HKDF_KEY_GEN
#define CKM_HKDF_KEY_GEN (0x402cUL)
#endif

// Not in any version of the specification, but NSS requires it to unwrap an elliptic-curve private key.
#ifndef CKA_NSS_DB
#define CKA_NSS_DB (0xd5a0db00UL)
#endif

// Swift does not import a macro that contains a cast.
static const unsigned long keyfob_CKC_OPENPGP = CKC_OPENPGP;

/// The error message of the last p11-kit call on this thread.
///
/// p11-kit.h declares it only for users of its unstable API, though it has been exported under this name since 0.9.
const char *p11_kit_message(void);

#endif
