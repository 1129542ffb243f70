// p11-kit's own headers, plus the few Cryptoki constants and parameter structures they lack.
//
// p11-kit 0.24 declares Cryptoki 2.40. Names below are those of the OASIS specification; each stands
// behind #ifndef so that a newer p11-kit may declare it first.
#ifndef KEYFOB_CP11KIT_SHIM_H
#define KEYFOB_CP11KIT_SHIM_H

// Without this p11-kit/pkcs11.h leaves out the CK_* spellings of its types.
#define CRYPTOKI_COMPAT 1
#include <p11-kit/pkcs11.h>
#include <p11-kit/p11-kit.h>
#include <p11-kit/uri.h>

#endif
